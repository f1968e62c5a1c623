/* call.h: one request in the REST layer: its parsed target, its user, and the response under construction.
 *
 * Functions of the REST layer return KI_OK (continue), KT_RESPONDED or KI_ERR_NO_MEMORY. */
#ifndef KT_REQUEST_CALL_H
#define KT_REQUEST_CALL_H

#include "testing/cluster/storage.h"
#include "testing/faults/fault.h"
#include "testing/request/request.h"
#include "testing/values/spec.h"

/* The form of objects in the response, from the Accept header. */
typedef enum kt_form {
    KT_FORM_OBJECT,
    KT_FORM_TABLE,
    KT_FORM_METADATA
} kt_form;

enum {
    KT_SEGMENTS_MAX = 12,
    KT_PARAMS_MAX = 64
};

typedef struct kt_param {
    ki_str name;
    ki_str value;
} kt_param;

typedef struct kt_call {
    kt_cluster *cluster;
    const ki_allocator *allocator;
    const kt_request *request;
    int64_t now_ms;
    kt_response *response;

    char *text;  /* the decoded path and query; all following strings point into it */
    ki_str path; /* the whole path */
    ki_str segments[KT_SEGMENTS_MAX];
    size_t segment_count;
    kt_param params[KT_PARAMS_MAX];
    size_t param_count;

    kt_storage *storage; /* the resource of the path; NULL: none */
    const ki_resource *resource;
    ki_str ns;
    ki_str name;
    ki_str subresource;

    ki_buffer decoded;      /* a YAML or protobuf body as JSON */
    ki_buffer equal_keys;   /* of an apply's body: a line for each that does not count */
    kt_user user;           /* the authenticated or impersonated user */
    char service_group[96]; /* buffer for a group name of the user */
    kt_injection injection; /* the faults to inject */

    kt_form form;
    const char *form_version; /* version of meta.k8s.io: "v1" */
} kt_call;

/* Parses the target: path, query and resource. */
ki_status kt_call_parse(kt_call *call);
void kt_call_free(kt_call *call);

enum {
    KT_VERB_SIZE = 24
};
/* Describes the request for authorization. The verb can point into `small`. */
void kt_call_describe(const kt_call *call, char small[KT_VERB_SIZE], kt_attributes *ret_wanted);
/* Returns true for a watch. */
bool kt_call_is_watch(const kt_call *call);
/* Returns the first value of a query parameter, as the real server does; data is NULL if there is none. */
ki_str kt_call_param(const kt_call *call, const char *name);
/* Returns a boolean parameter; false if it is absent. As in the real server, all values but "0" and "false" are
 * true. */
bool kt_call_param_bool(const kt_call *call, const char *name);
/* Reads dryRun. Responds 422 for values other than "All". */
ki_status kt_call_dry_run(kt_call *call, bool *ret_dry_run);
/* Returns the field manager: fieldManager, otherwise the user agent up to its slash. */
ki_str kt_call_manager(const kt_call *call);
/* Selects the form by the Accept header. Responds 406 if no accepted type is available. */
ki_status kt_call_negotiate(kt_call *call, bool may_be_table);

/* Converts a complete JSON response to YAML if the Accept header prefers it. */
ki_status kt_call_write_yaml(kt_call *call);

/* Completes the response: with the JSON in its body, or with an object in the selected form. Returns KT_RESPONDED. */
ki_status kt_call_done(kt_call *call, int code);
ki_status kt_call_done_object(kt_call *call, int code, kt_object *obj);

/* ---- selecting requests by a line such as "verb=create,resource=deployments.apps,name=web" ----
 * Faults select the requests that they apply to in this way, tests the requests that they ask for. */

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
