/* fetch.h: the objects that a program asks for beside an informer's cache (ki_informer_get_or_fetch): one request for
 * all who ask for a key, and results that are remembered for a while. One for each informer of an API server. */
#ifndef KI_FACTORY_FETCH_H
#define KI_FACTORY_FETCH_H

#include <kinformer/fetch.h>

#include "src/cache/informer/shared_informer.h"

typedef struct ki_fetcher ki_fetcher;

/* Makes the fetcher of an informer, which then has it. Borrows the client. Any thread; before the informer's start. */
ki_status ki_fetcher_new(ki_informer *informer, ki_client *client, ki_fetcher **ret_fetcher, ki_error *err);
/* Frees a fetcher that has ended, and whose requests have. NULL is accepted. */
void ki_fetcher_free(ki_fetcher *fetcher);
/* Ends all waits with KI_ERR_CANCELLED: its informer was removed. The loop calls the handlers. Any thread. NULL is
 * accepted. */
void ki_fetcher_close(ki_fetcher *fetcher);
/* The same, and calls the handlers. Loop. NULL is accepted. */
void ki_fetcher_end(ki_fetcher *fetcher);

#endif
