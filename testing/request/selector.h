/* selector.h: label and field selectors. Parsed once for a request, then matched with each object. */
#ifndef KT_REQUEST_SELECTOR_H
#define KT_REQUEST_SELECTOR_H

#include "testing/request/call.h"

typedef struct kt_selector kt_selector; /* NULL selects everything */

/* Parses labelSelector and fieldSelector of the call and adds its namespace. Responds 400 for an invalid selector. */
ki_status kt_selector_parse(kt_call *call, kt_selector **ret_selector);
/* Returns NAME of a fieldSelector with metadata.name=NAME, for authorization; data is NULL if there is none. */
ki_str kt_selector_name(const kt_call *call);
void kt_selector_free(kt_selector *selector);
bool kt_selector_matches(const kt_selector *selector, const kt_object *obj);
/* Returns true if it has requirements besides the namespace. The length of such a list is not known in advance. */
bool kt_selector_is_filter(const kt_selector *selector);

#endif
