/* validate.h: checks names, labels and metadata, with the real server's messages. */
#ifndef KT_VALIDATION_VALIDATE_H
#define KT_VALIDATION_VALIDATE_H

#include "testing/values/causes.h"

#include "src/object/resource_table.h"

#include <yyjson.h>

/* The garbage collector's finalizers (metav1.FinalizerDeleteDependents, FinalizerOrphanDependents). */
#define KT_FINALIZER_FOREGROUND "foregroundDeletion"
#define KT_FINALIZER_ORPHAN "orphan"

/* Returns a static error message; NULL if the value is valid. */
const char *kt_validate_dns_label(ki_str name);
const char *kt_validate_rfc1035_label(ki_str name); /* begins with a letter */
const char *kt_validate_segment(ki_str name);       /* of a path */
const char *kt_validate_wildcard(ki_str name);      /* "*.example.com" */
/* Returns what `check` returns for the text in lower case. */
const char *kt_validate_in_lower_case(ki_str text, const char *(*check)(ki_str text));
/* Adds the problems of name and generateName (of a new object), labels, annotations, owner references, finalizers, and
 * fields that cannot change. `old_meta` is NULL for a new object. An object that is being deleted cannot get new
 * finalizers. `warnings` gets the new finalizers of a custom resource that have no domain; NULL: a built-in type, which
 * does not allow them. */
void kt_validate_meta(kt_causes *causes, const ki_resource *resource, yyjson_val *old_meta, yyjson_val *meta,
                      ki_buffer *warnings);

#endif
