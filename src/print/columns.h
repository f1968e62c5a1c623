/* columns.h: the columns of a resource, and how a cell is made: shared by the public ki_columns and the embedded server's tables.
 * All is immutable once made. */
#ifndef KI_PRINT_COLUMNS_H
#define KI_PRINT_COLUMNS_H

#include <kinformer-print/columns.h>

#include "src/base/buffer.h"
#include "src/print/cells.h"

/* Of a custom resource; `given` is its additionalPrinterColumns, or NULL; its strings must outlive the result.
 * Errors: KI_ERR_NO_MEMORY. */
ki_status ki_columns_of_definition(yyjson_val *given, const ki_allocator *allocator, ki_columns **ret_columns,
                                   ki_error *err);
/* The built-in ones of a resource, up to one without a name; the server's plain ones (name, created at) where it has no others. */
const ki_cell *ki_columns_find(const ki_resource *resource);

/* A row as a Table has it: ["web-1",1,null]. */
ki_status ki_columns_append_row(const ki_columns *columns, yyjson_val *root, int64_t now_ms, ki_buffer *out,
                                ki_error *err);
ki_status ki_cells_append_row(const ki_cell *cells, yyjson_val *root, int64_t now_ms, ki_buffer *out);

#endif
