/* watch.h: a watch: a cursor through the first objects and then through its storage's history. The storage lists the
 * watch until it is freed. The caller holds the cluster. */
#ifndef KT_REQUEST_WATCH_H
#define KT_REQUEST_WATCH_H

#include "testing/cluster/storage.h"
#include "testing/request/list_options.h"
#include "testing/request/selector.h"

/* Responds with a watch. Takes ownership of the selector. Errors: KT_RESPONDED (the response is complete: call.h),
 * KI_ERR_NO_MEMORY. */
ki_status kt_watch_open(kt_call *call, const kt_list_options *options, kt_selector *selector);
void kt_watch_free(kt_watch *watch);

#endif
