/* delete_options.h: the DeleteOptions of a request, from its body or its query parameters. Called by delete.c and
 * for evictions. */
#ifndef KT_REST_DELETE_OPTIONS_H
#define KT_REST_DELETE_OPTIONS_H

#include "testing/cluster/write.h"
#include "testing/request/call.h"

#include <yyjson.h>

/* Reads the options of a DELETE into `write`. Reads the query parameters only without a body, as the real server
 * does. `ret_doc` gets the body's document or NULL. Responds 400, 415 or 422 for invalid options.
 * Ownership: the caller frees `*ret_doc`. */
ki_status kt_delete_options_read(kt_call *call, kt_write *write, yyjson_doc **ret_doc);
/* Reads dryRun, propagationPolicy and orphanDependents from `options`, which may be NULL. Responds 422 for invalid
 * values. */
ki_status kt_delete_options_take(kt_call *call, yyjson_val *options, kt_write *write);
/* Responds 409 if the object does not meet the preconditions in `options`, which may be NULL. */
ki_status kt_delete_options_check(kt_call *call, const kt_object *obj, yyjson_val *options);

#endif
