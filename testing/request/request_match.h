/* request_match.h: selects requests by a line such as "verb=create,resource=deployments.apps,name=web". Faults select
 * the requests that they apply to in this way, tests the requests that they ask for. Any thread. */
#ifndef KT_REQUEST_REQUEST_MATCH_H
#define KT_REQUEST_REQUEST_MATCH_H

#include "testing/request/call.h"
#include "testing/values/spec.h"

/* The fields of a line, for kt_spec_parse. */
#define KT_MATCH_FIELDS "verb", "resource", "namespace", "name", "path", "user-agent"

enum {
    KT_RESOURCE_TEXT_SIZE = 256
};

/* What a line is compared with. */
typedef struct kt_request_facts {
    ki_str verb;     /* "list", "watch", … (kt_call_describe) */
    ki_str resource; /* "pods", "deployments.apps/status"; data NULL: the path of no resource */
    ki_str ns;
    ki_str name;
    ki_str path; /* without the query */
    ki_str user_agent;
} kt_request_facts;

/* Space for the texts that a call does not have itself. */
typedef struct kt_facts_space {
    char verb[KT_VERB_SIZE];
    char resource[KT_RESOURCE_TEXT_SIZE];
} kt_facts_space;

/* Returns the facts of a call. Ownership: borrowed from the call and `space`. */
kt_request_facts kt_request_facts_of(const kt_call *call, kt_facts_space *space);
/* Returns true if every field of the line matches. */
bool kt_request_matches(const kt_spec *spec, const kt_request_facts *facts);

#endif
