/* event_record_of.h: records for tests, from a few words. On one thread; anything that fails ends the test. */
#ifndef TESTS_SUPPORT_EVENT_RECORD_OF_H
#define TESTS_SUPPORT_EVENT_RECORD_OF_H

#include "src/controller/event_record.h"

/* A Warning or Normal about the Foo `name` of namespace shop, at `wall_ns`. Freed with ki_free and malloc's allocator. */
ki_event_record *event_record_of(const char *name, const char *type, const char *reason, const char *message,
                                 int64_t wall_ns);

#endif
