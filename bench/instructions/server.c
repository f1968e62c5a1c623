/* server.c: the embedded server: a change of a ConfigMap of 8 KB, read by each of ten watches. */
#include "bench/instructions/paths.h"

#include "src/base/buffer.h"
#include "testing/request/watch.h"
#include "testing/rest/rest.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    NOW_MS = 1780000000,
    WATCHES = 10,
    CHANGES = 20,     /* of a round */
    TEXT_SIZE = 8000, /* bytes of a ConfigMap's value */
    HISTORY = 1000    /* events that the server keeps */
};

static kt_cluster *cluster;
static kt_response watches[WATCHES];
static ki_buffer out;

static void respond(const char *method, const char *target, ki_str body, kt_response *ret_response) {
    const kt_request request = { .method = method,
                                 .target = target,
                                 .content_type = "application/json",
                                 .user_agent = "instructions/1.0",
                                 .is_local = true,
                                 .body = body };
    need(!kt_rest_handle(cluster, &request, NOW_MS, ret_response), "request");
    need(ret_response->status < 300, "the server did not accept a request");
}

static void read_watches(void) {
    for (unsigned i = 0; i < WATCHES; i++) {
        kt_watch_state state = KT_WATCH_MORE;
        while (state == KT_WATCH_MORE) {
            ki_buffer_reset(&out, SIZE_MAX);
            need(!kt_watch_read(watches[i].watch, NOW_MS, &out, CHUNK, NULL, &state), "watch");
        }
    }
}

/* Creates or changes the ConfigMap `number`. */
static void write_map(const char *method, const char *target, unsigned number, unsigned version) {
    static char body[TEXT_SIZE + 200], text[TEXT_SIZE + 1];
    kt_response response;
    memset(text, 'a' + (int)(version % 26), TEXT_SIZE);
    snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"map-%u\"},\"data\":{\"version\":\"%u\",\"text\":\"%s\"}}",
             number, version, text);
    respond(method, target, ki_str_of(body), &response);
    kt_response_free(&response);
}

static void begin(void) {
    ki_buffer_init(&out, &fixed_memory, 0);
    need(!kt_cluster_new(&fixed_memory, &(kt_cluster_options){ .seed = 1, .compact_after = HISTORY }, &cluster, NULL),
         "cluster");
    for (unsigned i = 0; i < CHANGES; i++)
        write_map("POST", "/api/v1/namespaces/default/configmaps", i, 0);
    for (unsigned i = 0; i < WATCHES; i++) {
        respond("GET", "/api/v1/configmaps?watch=true", KI_STR(""), &watches[i]);
        need(watches[i].watch != NULL, "no watch");
    }
}

static void make_changes(void) {
    static unsigned version;
    char target[80];
    version++;
    for (unsigned i = 0; i < CHANGES; i++) {
        snprintf(target, sizeof target, "/api/v1/namespaces/default/configmaps/map-%u", i);
        write_map("PUT", target, i, version);
    }
}

static void end(void) {
    for (unsigned i = 0; i < WATCHES; i++)
        kt_response_free(&watches[i]);
    kt_cluster_free(cluster);
    ki_buffer_free(&out);
}

const path path_server_watches = { "server-watch-event", CHANGES *WATCHES, 3, begin, make_changes, read_watches, end };
