/* selector.h: label and field selectors: parsed once for a request, asked for each object. */
#ifndef KT_REQUEST_SELECTOR_H
#define KT_REQUEST_SELECTOR_H

#include "testing/request/call.h"

typedef struct kt_selector kt_selector; /* NULL selects everything */

/* `labelSelector` and `fieldSelector` of the call, and its namespace and name where the path has them. Bad ones are answered with 400. */
ki_status kt_selector_parse(kt_call *call, kt_selector **ret_selector);
/* The name that a list's or watch's fieldSelector asks for with metadata.name=NAME, as authorization reads it; data NULL where it asks for none. */
ki_str kt_selector_name(const kt_call *call);
void kt_selector_free(kt_selector *selector);
bool kt_selector_matches(const kt_selector *selector, const kt_object *obj);
/* Does it ask for more than a namespace? (Then a list cannot say how much remains.) */
bool kt_selector_is_filter(const kt_selector *selector);

#endif
