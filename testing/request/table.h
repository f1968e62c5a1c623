/* table.h: the columns of a resource and the cells of an object, which kubectl get shows. */
#ifndef KT_REQUEST_TABLE_H
#define KT_REQUEST_TABLE_H

#include "src/base/buffer.h"
#include "testing/cluster/object.h"

ki_status kt_table_append_columns(const ki_resource_info *info, ki_buffer *out);
ki_status kt_table_append_cells(const ki_resource_info *info, const kt_object *obj, int64_t now_ms, ki_buffer *out);

#endif
