/* event_record.h: what one call of a recorder says, copied into one block. Immutable once it is queued. */
#ifndef KI_CONTROLLER_EVENT_RECORD_H
#define KI_CONTROLLER_EVENT_RECORD_H

#include <kinformer/events.h>

#include "src/base/string_view.h"

enum {
    KI_EVENT_RECORD_BYTES_MAX = 64 << 10 /* of a record with all its strings */
};

/* An object that an Event names: an ObjectReference without fieldPath. Strings are never NULL; "" where the object has none. */
typedef struct ki_event_reference {
    const char *api_version, *kind, *namespace_name, *name, *uid, *resource_version;
} ki_event_reference;

typedef struct ki_event_record {
    struct ki_event_record *next; /* in the queue */
    ki_event_reference regarding;
    ki_event_reference related; /* where has_related */
    bool has_related;
    const char *type; /* static */
    const char *reason, *action, *message;
    const char *annotations; /* a JSON map; "": none */
    int64_t wall_ns;         /* when it was recorded */
    int64_t name_ns;         /* that, or a little later: no two records of a recorder have the same */
} ki_event_record;

/* Copies what `given` says. Messages, reasons and actions are cut to their limits; what is not UTF-8 in them becomes U+FFFD.
 * Ownership: `*ret_record` is the caller's, freed with ki_free. Threads: any.
 * Errors: KI_ERR_INVALID (no object, no reason, another type, annotations that are no map of strings), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_event_record_new(const ki_allocator *allocator, const ki_record *given, int64_t wall_ns,
                              ki_event_record **ret_record);

/* Copies whole UTF-8 characters of `text` while they fit into `limit` bytes, U+FFFD in place of each byte that is part of none. Returns
 * the bytes written; writes no closing zero. */
size_t ki_event_text(char *out, size_t limit, ki_str text);

#endif
