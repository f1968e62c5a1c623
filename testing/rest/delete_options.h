/* delete_options.h: the DeleteOptions of a request, from its body or its query parameters. Called by delete.c and for evictions. */
#ifndef KT_REST_DELETE_OPTIONS_H
#define KT_REST_DELETE_OPTIONS_H

#include "testing/cluster/write.h"
#include "testing/request/call.h"

#include <yyjson.h>

/* Reads the options of a DELETE into `write`. Without a body the query parameters count, as in the real server. `ret_doc` gets the body's
 * document, or NULL; the caller frees it. Errors: answered with 400, 415 or 422. */
ki_status kt_delete_options_read(kt_call *call, kt_write *write, yyjson_doc **ret_doc);
/* Takes dryRun, propagationPolicy and orphanDependents from `options`, which may be NULL; 422 where they are not valid. */
ki_status kt_delete_options_take(kt_call *call, yyjson_val *options, kt_write *write);

#endif
