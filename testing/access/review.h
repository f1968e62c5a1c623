/* review.h: reviews: SelfSubjectReview, SubjectAccessReview and the like, TokenReview. A create responds with the
 * result and stores nothing. */
#ifndef KT_ACCESS_REVIEW_H
#define KT_ACCESS_REVIEW_H

#include "testing/request/call.h"

/* Returns true if the call's resource is a review. */
bool kt_review_is(const kt_call *call);
/* Responds to the review. */
ki_status kt_review(kt_call *call);

#endif
