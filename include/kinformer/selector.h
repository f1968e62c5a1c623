/* selector.h: label and field selectors, parsed once and compared with any number of objects in the program.
 *
 * Labels: "app=web,tier in (a, b),zone notin (x),!canary,gpus>1", with the API server's meaning and messages. Fields:
 * "spec.nodeName=n1,status.phase!=Running". A field is any path of ki_object_field, also those by which the server
 * cannot select; a path with "[*]" holds if any of its values is equal. A missing or null field has the value "";
 * numbers and booleans are compared by their JSON text. ',', '=' and '\\' in a value need a '\\' before them.
 *
 * What an object has lost (ki_keep) is unknown, and not missing: a selector that reads it matches neither with "=" nor
 * with "!=" or "!". Without its content an object has metadata.name, metadata.namespace and, if ki_keep says so, its
 * labels for a label selector. Registrations and ki_lister_list refuse such a selector with KI_ERR_INVALID. */
#ifndef KINFORMER_SELECTOR_H
#define KINFORMER_SELECTOR_H

#include <kinformer/object.h>

KI_BEGIN_DECLS

typedef struct ki_selector ki_selector;

/* Parses selectors; NULL or "" selects all objects. The selector is immutable.
 * Ownership: the caller frees the selector with ki_selector_free. Threads: any. Blocks: no.
 * Errors: KI_ERR_PARSE (the message shows the place), KI_ERR_LIMIT (more than 64 KiB), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_selector_new(const char *label_selector, const char *field_selector,
                                               ki_selector **ret_selector, ki_error *err);
/* Frees a selector. NULL is accepted. */
KI_API void ki_selector_free(ki_selector *selector);

/* Returns true if the object has the labels and fields. A NULL selector selects all objects. Does not allocate; a
 * selector of fields scans the object's JSON. False for an object that has lost what the selector reads (see above).
 * Threads: any. Blocks: no. */
KI_API bool ki_object_matches(const ki_object *obj, const ki_selector *selector);

KI_END_DECLS

#endif
