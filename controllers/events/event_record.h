/* event_record.h: one recorded event, copied into one block of memory. Immutable once it is queued. */
#ifndef KI_EVENTS_EVENT_RECORD_H
#define KI_EVENTS_EVENT_RECORD_H

#include <kinformer-controllers/events.h>

#include "src/base/string_view.h"

enum {
    KI_EVENT_RECORD_BYTES_MAX = 64 << 10 /* of a record with all its strings */
};

/* An object that an Event names: an ObjectReference without fieldPath. Strings are never NULL; "" if the object has
 * none. */
typedef struct ki_event_reference {
    const char *api_version, *kind, *namespace_name, *name, *uid, *resource_version;
} ki_event_reference;

typedef struct ki_event_record {
    struct ki_event_record *next; /* in the queue */
    ki_event_reference regarding;
    ki_event_reference related; /* valid if has_related */
    bool has_related;
    const char *type; /* static string */
    const char *reason, *action, *message;
    const char *annotations; /* a JSON map; "": none */
    int64_t wall_ns;         /* when the event was recorded */
    int64_t name_ns;         /* `wall_ns` or a little later: unique among a recorder's records */
} ki_event_record;

/* Checks and copies `given`. Cuts messages, reasons and actions to their limits; replaces bytes that are not UTF-8 by
 * U+FFFD.
 * Ownership: *ret_record is owned by the caller, who frees it with ki_free. Threads: any.
 * Errors: KI_ERR_INVALID (no object, no reason, an unknown type, annotations that are no map of strings), KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
ki_status ki_event_record_new(const ki_allocator *allocator, const ki_record *given, int64_t wall_ns,
                              ki_event_record **ret_record);

/* Copies whole UTF-8 characters of `text` while they fit into `limit` bytes; writes U+FFFD for each byte that is not
 * part of a character. Returns the number of bytes written; writes no closing zero. */
size_t ki_event_text(char *out, size_t limit, ki_str text);

#endif
