/* watch.h: a watch is a cursor: through the objects of its first state, then through its storage's history. A watch
 * is among its storage's watchers until it is freed. Under the cluster's guard. */
#ifndef KT_REQUEST_WATCH_H
#define KT_REQUEST_WATCH_H

#include "testing/cluster/storage.h"
#include "testing/request/list_options.h"
#include "testing/request/selector.h"

/* Answers with a watch. Takes the selector over. */
ki_status kt_watch_open(kt_call *call, const kt_list_options *options, kt_selector *selector);
void kt_watch_free(kt_watch *watch);

#endif
