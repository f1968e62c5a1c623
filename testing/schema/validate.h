/* validate.h: what names, labels and whole objects must look like, with the server's words for what is wrong. */
#ifndef KT_SCHEMA_VALIDATE_H
#define KT_SCHEMA_VALIDATE_H

#include "testing/values/causes.h"

#include "src/object/resource_table.h"

#include <yyjson.h>

/* The garbage collector's finalizers (metav1.FinalizerDeleteDependents, FinalizerOrphanDependents). */
#define KT_FINALIZER_FOREGROUND "foregroundDeletion"
#define KT_FINALIZER_ORPHAN "orphan"

/* NULL where it is fine, else static text. */
const char *kt_validate_label_value(ki_str value);
const char *kt_validate_qualified_name(ki_str key);
const char *kt_validate_dns_label(ki_str name);
/* A name of an object of this resource; `is_prefix`: of a generateName. */
const char *kt_validate_name(const ki_resource *resource, ki_str name, bool is_prefix);
/* Adds what is wrong with `meta`'s name, generateName (unless `is_update`), labels and annotations. */
void kt_validate_meta(kt_causes *causes, const ki_resource *resource, yyjson_val *meta, bool is_update);
/* Adds what is wrong with the annotations' size, the owner references and the finalizers. `old_meta` is the old state's, NULL of a new object:
 * an object that is being deleted gets no further finalizers. */
void kt_validate_meta_refs(kt_causes *causes, yyjson_val *old_meta, yyjson_val *meta);

#endif
