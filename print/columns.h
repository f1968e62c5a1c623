/* columns.h: a resource's columns and cells, for the public ki_columns and the embedded server's Tables. Immutable once
 * made. */
#ifndef KI_PRINT_COLUMNS_H
#define KI_PRINT_COLUMNS_H

#include <kinformer-print/columns.h>

#include "print/cells.h"
#include "src/base/buffer.h"

/* Makes the columns of a custom resource. `given` is its additionalPrinterColumns, or NULL; its strings must outlive
 * the result. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_columns_of_definition(yyjson_val *given, const ki_allocator *allocator, ki_columns **ret_columns,
                                   ki_error *err);
/* Returns the columns of a built-in resource, ended by a column without a name. A resource without its own columns has
 * the server's default ones (Name, Created At). */
const ki_cell *ki_columns_find(const ki_resource *resource);

/* Appends a row as in a Table: ["web-1",1,null]. */
ki_status ki_columns_append_row(const ki_columns *columns, yyjson_val *root, int64_t now_ms, ki_buffer *out,
                                ki_error *err);
ki_status ki_cells_append_row(const ki_cell *cells, yyjson_val *root, int64_t now_ms, ki_buffer *out);

#endif
