/* page.h: the objects that a list or the deletion of a collection selects: the snapshot and the page of it. */
#ifndef KT_REST_PAGE_H
#define KT_REST_PAGE_H

#include "testing/request/list_options.h"
#include "testing/request/selector.h"

typedef struct kt_page {
    kt_snapshot *snapshot; /* an owned reference; keeps the objects */
    kt_object **objects;
    size_t count;
    int64_t remaining; /* remainingItemCount; -1: none */
    bool more;         /* the response has a continue token */
} kt_page;

/* Selects the request's page, or responds with an error. `ret_page` is to be freed in both cases. */
ki_status kt_page_select(kt_call *call, const kt_list_options *options, const kt_selector *selector, kt_page *ret_page);
/* Responds with the page's objects, and with a continue token if there are more. */
ki_status kt_page_respond(kt_call *call, const kt_page *page);
void kt_page_free(kt_call *call, kt_page *page);

#endif
