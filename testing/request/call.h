/* call.h: one request on its way through the REST layer: what it asks for, taken apart, and the response that is being made.
 *
 * Functions of the REST layer return KI_OK (go on), KI_ERR_HTTP (the response is complete, an error Status or not: stop)
 * or KI_ERR_NO_MEMORY. */
#ifndef KT_REQUEST_CALL_H
#define KT_REQUEST_CALL_H

#include "testing/cluster/storage.h"
#include "testing/faults/fault.h"
#include "testing/request/request.h"

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

    char *text;  /* the decoded path and query; what follows points into it */
    ki_str path; /* all of it */
    ki_str segments[KT_SEGMENTS_MAX];
    size_t segment_count;
    kt_param params[KT_PARAMS_MAX];
    size_t param_count;

    kt_storage *storage; /* of a resource's path */
    const ki_resource *resource;
    ki_str ns;
    ki_str name;
    ki_str subresource;

    ki_buffer decoded;      /* a protobuf body as JSON */
    kt_user user;           /* who it is from, or in whose name */
    char service_group[96]; /* what one of the user's groups may point to */
    kt_strike strike;       /* the faults that it meets */

    kt_form form;
    const char *form_version; /* of meta.k8s.io: "v1" */
} kt_call;

/* Takes the target apart. */
ki_status kt_call_parse(kt_call *call);
void kt_call_free(kt_call *call);

/* What it asks for, as authorization sees it: the verb may be put into `small`. */
enum {
    KT_VERB_SIZE = 24
};
void kt_call_describe(const kt_call *call, char small[KT_VERB_SIZE], kt_attributes *ret_wanted);
/* Is it a watch? Authorization and the handlers ask the same. */
bool kt_call_is_watch(const kt_call *call);
/* The value of a query parameter, the first of those with its name, as the real server reads them; data NULL where there is none. */
ki_str kt_call_param(const kt_call *call, const char *name);
/* "true", "1", …: as the server reads a boolean; false without the parameter. */
bool kt_call_param_bool(const kt_call *call, const char *name);
/* dryRun=All; anything else but nothing is refused. */
ki_status kt_call_dry_run(kt_call *call, bool *ret_dry_run);
/* Who writes: fieldManager, else the user agent up to its slash. */
ki_str kt_call_manager(const kt_call *call);
/* The Accept header of a request for objects: which form, or 406. */
ki_status kt_call_negotiate(kt_call *call, bool may_be_table);

/* The response is this JSON, already in its body, or this object in the form that was asked for. */
ki_status kt_call_done(kt_call *call, int status);
ki_status kt_call_done_object(kt_call *call, int status, kt_object *obj);

#endif
