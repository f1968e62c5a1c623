/* watch.h: a watch is a cursor: through the objects of its first state, then through its storage's history. Each one is on its
 * storage's list until it is freed. Under the cluster's guard. */
#ifndef KT_WATCH_H
#define KT_WATCH_H

#include "testing/list_options.h"
#include "testing/selector.h"
#include "testing/storage.h"

/* Answers with a watch. Takes the selector over. */
ki_status kt_watch_open(kt_call *call, const kt_list_options *options, kt_selector *selector);
void kt_watch_free(kt_watch *watch);

/* How many watches of the storage are open. */
size_t kt_watch_count(const kt_storage *storage);
/* Something new is in the storage's history: wakes who has not been woken since it last had nothing to read. */
void kt_watch_notify(kt_storage *storage);
void kt_watch_close_all(kt_storage *storage);
/* Ends them without what they still had to show. */
void kt_watch_end_all(kt_storage *storage);

#endif
