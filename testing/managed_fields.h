/* managed_fields.h: metadata.managedFields: one entry for each manager, operation and subresource, with the fields that it set. */
#ifndef KT_MANAGED_FIELDS_H
#define KT_MANAGED_FIELDS_H

#include "testing/write.h"

/* Writes the array after a change from `old_root` (NULL: a new object) to `root` to `out`. `previous` is the array
 * before the change, or NULL. */
ki_status kt_managed_fields_write(const kt_write *write, yyjson_val *previous, yyjson_val *old_root, yyjson_val *root,
                                  ki_buffer *out);
/* The fieldsV1 that an earlier apply of this manager left, or NULL. */
yyjson_val *kt_managed_fields_applied(yyjson_val *root, ki_str manager);

#endif
