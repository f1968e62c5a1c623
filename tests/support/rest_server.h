/* rest_server.h: the test server's REST layer in a test: a request in one line, the response as text, a clock that
 * the test sets. */
#ifndef TESTS_REST_SERVER_H
#define TESTS_REST_SERVER_H

#include "testing/request/watch.h"
#include "testing/rest/rest.h"

#include <kinformer/allocator.h>

typedef struct rest_server {
    kt_cluster *cluster;
    int64_t now_ms;
    kt_response response; /* the last response; the next request frees it */
    bool responded;
    ki_buffer text; /* the body of the last response, or of the last read of a watch */
} rest_server;

void rest_server_start(rest_server *server, const kt_cluster_options *options);
void rest_server_stop(rest_server *server);

/* Sends a request and returns the status. server->text has the body. */
int rest_request(rest_server *server, const kt_request *request);
/* Does the same. `type` and `body` may be NULL. */
int rest_send(rest_server *server, const char *method, const char *target, const char *type, const char *body);
/* Does the same with a body that can have zero bytes. */
int rest_send_bytes(rest_server *server, const char *method, const char *target, const char *type, ki_str body);
int rest_get(rest_server *server, const char *target);
int rest_get_as(rest_server *server, const char *target, const char *accept);
int rest_post(rest_server *server, const char *target, const char *body);
/* Returns true if the last text contains `part`; otherwise prints the text. */
bool rest_has(const rest_server *server, const char *part);

/* Opens a watch. Ownership: the caller frees the response. */
kt_watch *rest_watch_open(rest_server *server, const char *target, kt_response *ret_response);
/* Reads all available frames into server->text. */
kt_watch_state rest_watch_read(rest_server *server, kt_watch *watch);

#endif
