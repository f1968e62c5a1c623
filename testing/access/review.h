/* review.h: SelfSubjectReview, SubjectAccessReview and the like, TokenReview: created objects that are answered and
 * not stored. */
#ifndef KT_ACCESS_REVIEW_H
#define KT_ACCESS_REVIEW_H

#include "testing/request/call.h"

/* Returns true if the call's resource is a review. */
bool kt_review_is(const kt_call *call);
/* Responds to the review. */
ki_status kt_review(kt_call *call);

#endif
