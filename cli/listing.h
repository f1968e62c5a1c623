/* listing.h: what get shows: the caches of a session that has synced, as a table or in a format of -o. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include <kinformer-print/columns.h>

#include "printer.h"
#include "session.h"

/* All objects, on stdout; `columns`: each target's, of tables. Nothing is printed on failure but rows of a table that were shown before. `*ret_count`: how many there are. */
ki_status listing_print(const session *s, printer *p, ki_columns *const *columns, size_t *ret_count, ki_error *err);

#endif
