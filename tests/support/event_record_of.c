/* event_record_of.c: see event_record_of.h. */
#include "tests/support/event_record_of.h"

#include "src/base/memory.h"
#include "tests/support/make_object.h"

#include <stdio.h>
#include <stdlib.h>

ki_event_record *event_record_of(const char *name, const char *type, const char *reason, const char *message,
                                 int64_t wall_ns) {
    char json[1024];
    ki_event_record *record = NULL;
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\","
             "\"uid\":\"uid-%s\",\"resourceVersion\":\"7\"}}",
             name, name);
    ki_object *obj = make_object_from_json(json);
    const ki_record given = KI_RECORD(.obj = obj, .type = type, .reason = reason, .message = message);
    if (ki_event_record_new(&ki_allocator_default, &given, wall_ns, &record))
        abort();
    ki_object_unref(obj);
    record->name_ns = wall_ns;
    return record;
}
