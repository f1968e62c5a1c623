/* review.h: reviews: SelfSubjectReview, SubjectAccessReview and the like, TokenReview. A create responds with the
 * result and stores nothing. */
#ifndef KT_ACCESS_REVIEW_H
#define KT_ACCESS_REVIEW_H

#include "testing/request/call.h"

/* Responds to a review: a resource of authentication.k8s.io or authorization.k8s.io. */
ki_status kt_review(kt_call *call);

#endif
