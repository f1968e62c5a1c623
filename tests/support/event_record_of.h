/* event_record_of.h: event records for tests, in one call. One thread; a failure ends the test. */
#ifndef TESTS_SUPPORT_EVENT_RECORD_OF_H
#define TESTS_SUPPORT_EVENT_RECORD_OF_H

#include "src/controller/event_record.h"

/* Returns a record of a Warning or Normal event of Foo `name` in namespace shop, at `wall_ns`. Ownership: the caller
 * frees it with ki_free and malloc's allocator. */
ki_event_record *event_record_of(const char *name, const char *type, const char *reason, const char *message,
                                 int64_t wall_ns);

#endif
