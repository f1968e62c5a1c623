/* world.h: the embedded server, and informers with threads, each behind its own proxy, over real sockets. Each
 * informer's handler replays its notifications. After a fault, the replay, the informer's cache and the server must
 * be equal, and the informer must have made few requests. ConfigMaps only. One server at a time. Functions run on
 * the test's thread and fail the test. */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    WORLD_PATIENCE_MS = 60000, /* only a broken test reaches it */
    WORLDS = 24,
    WORLD_OBJECTS = 64, /* most objects at any time */
    WORLD_KEY_MAX = 64,
    WORLD_VERSION_MAX = 24
};

#define UMLAUTS \
    "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80" /* characters of two, three and four bytes; every object has them */

/* ---- responses in place of the real one (proxy_response) ---- */

#define WORLD_STATUS(code, reason) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"no\",\"reason\":" \
    "\"" reason "\",\"code\":" code "}"

#define WORLD_RESPONSE(status_line, body) \
    "HTTP/1.1 " status_line "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" body

/* "Too large resource version", as current and as old servers send it. */
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

/* The notifications of a handler. */
typedef struct told_changes {
    size_t adds, updates, deletes;
} told_changes;

/* One informer, its proxy, and its handler's notifications. */
typedef struct world {
    proxy *proxy;
    ki_engine *engine; /* if the informer has its own time; otherwise NULL */
    ki_factory *factory;
    ki_informer *informer;
    size_t requests_before; /* before the fault */
    size_t errors_before;   /* before it was put out of reach */
    int64_t out_since;      /* of CLOCK_MONOTONIC: when it was put out of reach */
    _Atomic int64_t skipped_ns;

    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t news;
    told objects[WORLD_OBJECTS];
    size_t count;
    told_changes changes;
    size_t errors; /* calls of the error handler */
    ki_error last_error;
    ki_state state;
    char words[KI_HEALTH_MESSAGE_MAX]; /* of its last state "blocked" */
    bool unknown_delete;
    bool may_go_back;
    bool is_stuck;       /* the handler returns from no call */
    char violation[256]; /* the first notification that contradicts earlier ones */
} world;

/* NULL: all zeros. */
typedef struct world_plan {
    ki_informer_options informer; /* size 0: none */
    bool no_streaming_list;
    bool has_own_time; /* for world_skip */
    bool may_go_back;  /* a restore from a backup follows: versions can go back */
} world_plan;

extern ki_testing_server *world_server;
extern world worlds[WORLDS];
extern size_t world_count;

/* ---- start and end ---- */

/* Starts a server with some objects and creates informers without starting them. */
void worlds_open(size_t count, const world_plan *plan);
void world_start(world *self);
/* Does the same, starts the informers and waits until they watch. */
void worlds_start(size_t count, const world_plan *plan);
/* Asserts, after the fault, that every informer reaches the server's state, follows further changes, and has made
 * few requests. */
void worlds_assert_all_recover(size_t requests_at_most);
int worlds_close(void **state);
#define WORLD_TEST(name) TEST_WITH(NULL, worlds_close, name)

/* ---- changes ---- */

void world_put(const char *name, unsigned round);
void world_patch(const char *name, unsigned round);
void world_drop(const char *name);
/* Makes changes of each kind: updates, creates, deletes, recreates. The last one, zz-marker, is new in each round. */
void world_churn(void);
/* Adds a fault to the server. */
void world_fault(const char *line);
/* Asserts that each fault was injected. */
void world_assert_faults_injected(void);

/* ---- the network and time ---- */

/* Cuts the connections and closes the port. */
void world_put_out_of_reach(world *self, proxy_fault how);
/* Advances this informer's time. */
void world_skip(world *self, int64_t ms);
/* Advances the time repeatedly until `holds`, which runs under the lock. Bytes in flight can postpone deadlines. */
void world_skip_until(world *self, int64_t step_ms, bool (*holds)(const world *self));

/* ---- state and waits ---- */

void world_read_expected(void);
/* Returns the server's objects of the last world_read_expected. */
size_t world_expected(told *ret_objects);
void world_wait_until(world *self, bool (*holds)(const world *self));
void world_wait_for_replay(world *self);
void world_wait_for_errors(world *self, size_t least);
/* Waits until an informer that was put out of reach reports this error. It has reported no more errors since than its
 * backoff allows for the time that has passed. */
void world_wait_for_error_code(world *self, ki_status code);
/* Waits until it has noticed that its server is unreachable. */
void world_wait_out_of_reach(world *self);
void world_wait_for_words(world *self, const char *words);
size_t world_errors(world *self);
told_changes world_changes(world *self);
bool world_has_unknown_delete(world *self);
void world_assert_copy_is_the_servers(world *self);
void world_assert_few_requests(world *self, size_t at_most);
/* Returns the number of requests since the fault whose target contains `text`. */
size_t world_requests_with(world *self, const char *text);
/* Makes the handler return from no call, or return again. */
void world_stick(world *self, bool is_stuck);

#endif
