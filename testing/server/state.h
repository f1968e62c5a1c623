/* state.h: the struct of an embedded server, for this room. */
#ifndef KT_SERVER_STATE_H
#define KT_SERVER_STATE_H

#include <kinformer-testing/server.h>

#include "testing/http/front.h"
#include "testing/load/load.h"

enum {
    KT_ADMIN_TOKEN_SIZE = 64
};

struct ki_testing_server {
    /* ---- constant ---- */
    ki_allocator allocator;
    kt_cluster *cluster; /* under the lock of the streams */
    kt_front *front;
    kt_streams *streams;
    char token[KT_ADMIN_TOKEN_SIZE]; /* "": none */
    ki_mutex restarting;             /* one restart at a time; taken before the lock of the streams; guards `tls` */
    bool has_mutex;
    kt_tls *tls; /* NULL: plain HTTP */

    /* ---- under the lock of the streams ---- */
    kt_load *load; /* NULL: none */
    int64_t churn;
    int64_t churn_due_ns; /* due time of the next change */
    ki_testing_load done;
    bool stopping;
    ki_cond churn_changed;
    bool has_cond;
    ki_thread churn_thread;
};

/* Returns KI_ERR_INVALID for a server that is NULL. */
ki_status kt_no_server(ki_error *err);
/* Prepares TLS, RBAC and the admin token, before the front starts. */
ki_status kt_server_prepare_access(ki_testing_server *server, const ki_testing_server_options *options, ki_error *err);
/* Appends the kubeconfig. */
ki_status kt_server_append_kubeconfig(const ki_testing_server *server, ki_buffer *out);

#endif
