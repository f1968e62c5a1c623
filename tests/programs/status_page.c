/* status_page.c: serves the status page of a program with 15 minutes behind it, which take a second: on a cluster in
 * memory, with a clock of its own. For the tests of the page in a browser, and to look at it.
 *
 * usage: status_page PORT INFORMERS [blocked] [failing] [lost] [busy]
 *     blocked: an informer may not list. failing: one cannot watch any more. lost: its Lease was lost. busy: it has
 *     controllers.
 *
 * Prints the URL, then runs until its standard input ends; a minute of its clock takes ten seconds. */
#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-status/server.h>
#include <kinformer/kinformer.h>

#include "src/base/memory.h"
#include "src/engine/engine.h"
#include "src/factory/factory.h"
#include "testing/memory/adapter.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TURNS_MAX = 1000000,
    PAST_S = 15 * 60 + 20,
    FAILS_AFTER_S = 300,
    LOST_AFTER_S = 540,
    STUCK_AFTER_S = 780,
    INFORMERS_MAX = 1000,
    WORKERS = 2,   /* of each controller */
    STEP_MS = 100, /* of real time */
    SPEED = 6
};

#define WALL_START INT64_C(1780000000000000000)
#define LEASE "sample-controller"

static const char *const namespaces[] = { "shop",     "shop-staging", "billing",  "search",    "media",
                                          "accounts", "mail",         "tools",    "warehouse", "reports",
                                          "checkout", "recommend",    "stock",    "fraud",     "web",
                                          "partners", "archive",      "identity", "pricing",   "labs" };
static const char *const resources[] = { "pods",    "services",    "configmaps",     "deployments", "jobs",
                                         "secrets", "replicasets", "endpointslices", "ingresses",   "cronjobs" };

enum {
    NAMESPACES = sizeof namespaces / sizeof *namespaces,
    RESOURCES = sizeof resources / sizeof *resources
};

typedef struct program {
    _Atomic int64_t now; /* nanoseconds; the server's thread reads it, too */
    ki_engine *engine;
    kt_cluster *cluster;
    kt_memory_adapter *adapter;
    ki_transport *transport;
    ki_factory *factory;
    ki_elector *elector;
    ki_controller *controllers[2];
    bool is_poisoned; /* one key fails always: `poison` */
    char poison[128];
    ki_reconcile *deferred[2 * WORKERS];
    size_t deferred_count;
    bool is_stuck;
    size_t informers;
    bool is_blocked, is_failing, is_lost, is_busy;
    int second;
    unsigned random;
} program;

static program self = { .now = KI_SECONDS(1000), .random = 1 };

static int64_t now(void *user) {
    (void)user;
    return atomic_load(&self.now);
}

static int64_t wall_now(void *user) {
    return WALL_START + now(user);
}

static unsigned draw(unsigned below) {
    self.random = self.random * 1103515245u + 12345u;
    return (self.random >> 16) % below;
}

/* --- the server of the cluster ------------------------------------------------------------------------------------ */

static void refuse(kt_memory_call *call, int status, const char *body) {
    const ki_response_head head = { .status = status, .retry_after_ms = -1, .content_type = "application/json" };
    if (kt_memory_call_head(call, &head) && kt_memory_call_data(call, body, strlen(body)))
        kt_memory_call_end(call, NULL);
}

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    const kt_memory_server *server = user;
    if (self.is_blocked && strstr(request->target, "/billing/configmaps"))
        refuse(
            call, 403,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"
            "\"message\":\"configmaps is forbidden: User \\\"robot\\\" cannot list <configmaps>\"}");
    else if (self.is_failing && self.second > FAILS_AFTER_S && strstr(request->target, "/shop/services"))
        refuse(call, 503,
               "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"ServiceUnavailable\","
               "\"code\":503,\"message\":\"apiserver is shutting down\"}");
    else
        server->serve(call, request, server->user);
}

static void abandoned(kt_memory_call *call, void *user) {
    const kt_memory_server *server = user;
    if (kt_memory_call_user(call))
        server->abandoned(call, server->user);
}

static void put(const ki_resource *resource, const char *json) {
    ki_error err = KI_ERROR_INIT;
    if (kt_cluster_put_json(self.cluster, resource, (ki_str){ json, strlen(json) },
                            kt_memory_adapter_now_ms(self.adapter), NULL, &err))
        fprintf(stderr, "status_page: %s\n", ki_error_message(&err));
}

static void put_object(const char *resource, const char *namespace_name, unsigned number) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"%s\",\"annotations\":{\"second\":\"%d\"}}}", resource,
             number, namespace_name, self.second);
    put(ki_resource_find(resource), json);
}

static void fill(void) {
    for (size_t i = 0; i < NAMESPACES; i++)
        for (size_t j = 0; j < RESOURCES; j++)
            for (unsigned n = draw(40); n > 0; n--)
                put_object(resources[j], namespaces[i], n);
}

/* Some changes in each second: a wave, and bursts. */
static void change(void) {
    int wave = 12 + (self.second / 30 % 10) * 3 + (self.second % 240 < 15 ? 60 : 0);
    for (int i = 0; i < wave; i++)
        put_object(resources[draw(RESOURCES)], namespaces[draw(draw(NAMESPACES) + 1)], draw(40));
}

/* Another process holds the Lease, and renews it. */
static void hold_lease(void) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"" LEASE "\",\"namespace\":\"default\"},\"spec\":{\"holderIdentity\":"
             "\"node-7_b41c\",\"leaseDurationSeconds\":15,\"leaseTransitions\":1,\"renewTime\":"
             "\"2026-01-02T03:%02d:%02d.000000Z\"}}",
             self.second / 60 % 60, self.second % 60);
    put(KI_LEASES, json);
}

/* --- the program -------------------------------------------------------------------------------------------------- */

/* A reconcile takes until finish_some; one of them for good. */
static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)user;
    if (self.is_poisoned && !self.poison[0])
        snprintf(self.poison, sizeof self.poison, "%s", key);
    if (strcmp(self.poison, key) == 0)
        return ki_error_set(err, KI_ERR_INVALID, "the spec has no image");
    if (!self.is_poisoned && draw(12) == 0)
        return ki_error_set(err, KI_ERR_INVALID, "no");
    ki_reconcile_defer(call);
    if (self.second > STUCK_AFTER_S && !self.is_stuck && !self.is_poisoned)
        self.is_stuck = true;
    else
        self.deferred[self.deferred_count++] = call;
    return KI_OK;
}

static void finish_some(void) {
    size_t count = self.second % 3 ? self.deferred_count : 0;
    for (size_t i = 0; i < count; i++)
        ki_reconcile_finish(self.deferred[i], NULL);
    memmove(self.deferred, self.deferred + count, (self.deferred_count - count) * sizeof *self.deferred);
    self.deferred_count -= count;
}

static ki_status add_controllers(ki_error *err) {
    static const struct {
        const char *name, *resource;
    } rows[] = { { "deployment", "deployments" }, { "website", "pods" } };
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < 2; i++) {
        status = ki_controller_new(
            self.factory, &KI_CONTROLLER_OPTIONS(.name = rows[i].name, .reconcile = reconcile, .workers = WORKERS),
            &self.controllers[i], err);
        if (!status)
            status = ki_controller_for(
                self.controllers[i], ki_resource_find(rows[i].resource),
                &KI_CONTROLLER_WATCH(.informer_options = &KI_INFORMER_OPTIONS(.namespace_name = namespaces[0])), NULL,
                err);
    }
    return status;
}

static ki_status add_informers(ki_error *err) {
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < self.informers; i++) {
        size_t round = i / (NAMESPACES * RESOURCES);
        char selector[32] = "";
        if (round)
            snprintf(selector, sizeof selector, "app!=a%zu", round);
        const ki_resource *resource = ki_resource_find(resources[i % RESOURCES]);
        const char *namespace_name = self.informers == 1 ? "" : namespaces[i / RESOURCES % NAMESPACES];
        ki_informer *informer;
        status = ki_factory_informer(self.factory, resource,
                                     &KI_INFORMER_OPTIONS(.namespace_name = namespace_name, .label_selector = selector),
                                     &informer, err);
    }
    return status;
}

static ki_status set_up(ki_error *err) {
    static kt_memory_server behind;
    const ki_clock clock = { .now = now, .wall_now = wall_now };
    const kt_cluster_options options = { .seed = 1, .start_ms = WALL_START / 1000000 };
    ki_status status = ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock, .seed = 1), &self.engine, err);
    if (!status)
        status = kt_cluster_new(&ki_allocator_default, &options, &self.cluster, err);
    if (!status)
        status = kt_memory_adapter_new(self.engine, self.cluster, options.start_ms, &self.adapter, err);
    if (status)
        return status;
    behind = *kt_memory_adapter_server(self.adapter);
    const kt_memory_server server = { serve, abandoned, &behind };
    status = kt_memory_transport_new(self.engine, &server, &self.transport, err);
    if (!status)
        status = ki_factory_new_on(NULL, self.transport,
                                   &KI_FACTORY_OPTIONS(.engine = self.engine, .requests_per_second = -1), &self.factory,
                                   err);
    if (!status && (self.is_lost || self.is_busy))
        status = ki_elector_new(
            self.factory, &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = LEASE, .identity = "node-3_77aa"),
            &self.elector, err);
    if (!status && self.is_busy)
        status = add_controllers(err);
    return status ? status : add_informers(err);
}

static void settle(void) {
    for (int turn = 0; turn < TURNS_MAX; turn++)
        if (ki_engine_step(self.engine, 0, NULL) || ki_engine_timeout(self.engine) != 0)
            return;
}

static void advance(int64_t ms) {
    int64_t end = self.now + KI_MILLISECONDS(ms);
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        settle();
        int64_t timeout = ki_engine_timeout(self.engine);
        if (timeout < 0 || KI_MILLISECONDS(timeout) > end - self.now)
            break;
        self.now += KI_MILLISECONDS(timeout);
    }
    self.now = end;
    settle();
}

static void live_a_second(void) {
    self.second++;
    change();
    finish_some();
    if (self.is_lost && self.second > LOST_AFTER_S && self.second % 2 == 0)
        hold_lease();
    advance(1000);
}

static void run_until_input_ends(void) {
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char bytes[64];
    for (int step = 0; poll(&input, 1, STEP_MS) == 0 || read(STDIN_FILENO, bytes, sizeof bytes) > 0; step++)
        if (step % (10 / SPEED + 1) == 0)
            live_a_second();
}

static void tear_down(void) {
    for (size_t i = 0; i < 2; i++)
        ki_controller_free(self.controllers[i]);
    ki_elector_free(self.elector);
    ki_factory_free(self.factory);
    ki_transport_free(self.transport);
    kt_memory_adapter_free(self.adapter);
    kt_cluster_free(self.cluster);
    ki_engine_free(self.engine);
}

int main(int argc, char **argv) {
    ki_error err = KI_ERROR_INIT;
    ki_status_server *server = NULL;
    if (argc < 3)
        return 2;
    self.informers = strtoul(argv[2], NULL, 10);
    if (self.informers > INFORMERS_MAX)
        return 2;
    for (int i = 3; i < argc; i++) {
        self.is_blocked |= strcmp(argv[i], "blocked") == 0;
        self.is_failing |= strcmp(argv[i], "failing") == 0;
        self.is_lost |= strcmp(argv[i], "lost") == 0;
        self.is_busy |= strcmp(argv[i], "busy") == 0;
        self.is_poisoned |= strcmp(argv[i], "poisoned") == 0;
    }
    const ki_status_server_options options =
        KI_STATUS_SERVER_OPTIONS(.address = argv[1], .title = "sample-controller", .version = "v1.2.3");
    if (set_up(&err) || ki_status_server_new(self.factory, &options, &server, &err)) {
        fprintf(stderr, "status_page: %s\n", ki_error_message(&err));
        return 1;
    }
    fill();
    if (ki_factory_start(self.factory, &err))
        return 1;
    while (self.second < PAST_S)
        live_a_second();
    printf("%s\n", ki_status_server_url(server));
    fflush(stdout);
    run_until_input_ends();
    ki_status_server_free(server);
    /* A reconcile that was deferred for good would keep the controllers: the process ends with them. */
    if (!self.is_busy)
        tear_down();
    return 0;
}
