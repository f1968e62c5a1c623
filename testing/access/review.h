/* review.h: questions that are asked by creating an object which is not kept: who am I, may I, whose token is this. */
#ifndef KT_ACCESS_REVIEW_H
#define KT_ACCESS_REVIEW_H

#include "testing/request/call.h"

/* Is the call's resource such a question? */
bool kt_review_is(const kt_call *call);
ki_status kt_review(kt_call *call);

#endif
