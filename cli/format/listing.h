/* listing.h: the output of get: the caches of a synced session, as a table or in a format of -o. */
#ifndef CLI_FORMAT_LISTING_H
#define CLI_FORMAT_LISTING_H

#include <kinformer-print/columns.h>

#include "cli/session/session.h"
#include "printer.h"

/* Lists the objects of a target that has synced, sorted by namespace and name. The caller frees the list. */
ki_status listing_read(const target *t, ki_object_list *ret_list, ki_error *err);
/* Prints all objects on stdout. `columns`: those of each target, for tables. On failure, a part of
 * them can have been printed. `*ret_count`: the number of objects. */
ki_status listing_print(const session *s, printer *p, ki_columns *const *columns, size_t *ret_count, ki_error *err);
/* Prints an object of the session's only target after listing_print, or instead of it: as a row of its table, or in the
 * format of -o. `event` is ADDED, MODIFIED or DELETED. */
ki_status listing_print_change(const session *s, printer *p, ki_columns *const *columns, const char *event,
                               const ki_object *obj, ki_error *err);

#endif
