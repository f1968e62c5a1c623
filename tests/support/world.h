/* world.h: the embedded server, and informers with threads that reach it through a proxy each, over real sockets. Each informer's handler
 * replays what it is told; after a fault that replay, the informer's copy and the server must be the same, and few requests must have
 * been made. For ConfigMaps. One server at a time; functions are for the test's thread, and fail the test. */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "tests/support/proxy.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    WORLD_PATIENCE_MS = 60000, /* only what is broken reaches it */
    WORLDS = 24,
    WORLD_OBJECTS = 64, /* at most, at any time */
    WORLD_KEY_MAX = 64,
    WORLD_VERSION_MAX = 24
};

#define UMLAUTS "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80" /* of two, three and four bytes; in each object */

/* ---- what a server may answer in place of the true one (proxy_answer) ---- */

#define WORLD_STATUS(code, reason) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"no\",\"reason\":" \
    "\"" reason "\",\"code\":" code "}"

#define WORLD_ANSWER(status_line, body) \
    "HTTP/1.1 " status_line "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" body

/* The version is too large: as servers say it, and as old ones do. */
#define WORLD_TOO_LARGE \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":" \
    "\"Too large resource version: 99, current: 9\",\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":" \
    "\"ResourceVersionTooLarge\",\"message\":\"Too large resource version\"}]},\"code\":504}"
#define WORLD_TOO_LARGE_OLD \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":" \
    "\"Timeout: Too large resource version: 99, current: 9\",\"reason\":\"Timeout\",\"code\":504}"

typedef struct told {
    char key[WORLD_KEY_MAX], uid[WORLD_KEY_MAX], version[WORLD_VERSION_MAX];
} told;

/* How many changes a handler was told. */
typedef struct told_changes {
    size_t adds, updates, deletes;
} told_changes;

/* One informer, its proxy, and what its handler was told. */
typedef struct world {
    proxy *proxy;
    ki_engine *engine; /* where it has its own time, else NULL */
    ki_factory *factory;
    ki_informer *informer;
    size_t requests_before; /* the fault */
    _Atomic int64_t skipped_ns;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t news;
    told objects[WORLD_OBJECTS];
    size_t count;
    told_changes changes;
    size_t errors; /* told to the error handler */
    ki_error last_error;
    ki_state state;
    char words[KI_HEALTH_MESSAGE_MAX]; /* of its last state "blocked" */
    bool unknown_delete;
    bool may_go_back;
    bool is_stuck;       /* its handler returns from no call */
    char violation[256]; /* the first change that did not follow from the ones before */
} world;

/* NULL stands for all zeros. */
typedef struct world_plan {
    ki_informer_options informer; /* size 0: none */
    bool has_own_time;            /* world_skip */
    bool may_go_back;             /* the server will be restored from a backup: versions may be older ones */
} world_plan;

extern ki_testing_server *world_server;
extern world worlds[WORLDS];
extern size_t world_count;

/* ---- from begin to end ---- */

/* A server with some objects, and informers that are about to start. */
void worlds_open(size_t count, const world_plan *plan);
void world_start(world *self);
/* …that watch. */
void worlds_start(size_t count, const world_plan *plan);
/* After the fault: everyone comes to what the server has, follows it on, and has not asked too often. */
void worlds_assert_all_recover(size_t requests_at_most);
int worlds_close(void **state);

/* ---- changes ---- */

void world_put(const char *name, unsigned round);
void world_patch(const char *name, unsigned round);
void world_drop(const char *name);
/* Of each kind: changed, made, deleted, deleted and made again under its name; a last one, zz-marker, that is new in each round. */
void world_churn(void);
/* A fault of the server's, from now on. */
void world_fault(const char *line);
/* Each of the faults has struck. */
void world_assert_faults_struck(void);

/* ---- the network and time ---- */

/* Cut off, and nobody listens any more. */
void world_put_out_of_reach(world *self, proxy_strike how);
/* So much later for this informer. */
void world_skip(world *self, int64_t ms);
/* Again and again, until `holds`, which is asked under the lock: what is on its way puts deadlines off. */
void world_skip_until(world *self, int64_t step_ms, bool (*holds)(const world *self));

/* ---- what is, or comes ---- */

void world_read_expected(void);
/* What the server has, as read last. */
size_t world_expected(told *ret_objects);
void world_wait_until(world *self, bool (*holds)(const world *self));
void world_wait_for_replay(world *self);
void world_wait_for_errors(world *self, size_t least);
/* After one to three errors. */
void world_wait_for_error_code(world *self, ki_status code);
/* Nobody answers it any more, and it has noticed. */
void world_wait_out_of_reach(world *self);
void world_wait_for_words(world *self, const char *words);
size_t world_errors(world *self);
told_changes world_changes(world *self);
bool world_has_unknown_delete(world *self);
void world_assert_copy_is_the_servers(world *self);
void world_assert_few_requests(world *self, size_t at_most);
/* Requests since the fault whose target has this text. */
size_t world_requests_with(world *self, const char *text);
/* Its handler returns from no call, or from them again. */
void world_stick(world *self, bool is_stuck);

#endif
