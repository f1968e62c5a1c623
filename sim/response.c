/* answer.c: what a request gets when a fault is waiting for it: a response that the server's own model would not send now. */
#include "sim/workload.h"
#include "sim/world.h"

#include "testing/faults/texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 512
};

static void answer(sim_exchange *exchange, int status, int retry_after_s, const char *body) {
    exchange->status = status;
    exchange->retry_after_s = retry_after_s;
    sim_exchange_append(exchange, body);
    sim_exchange_end(exchange, KI_OK);
}

static void status_text(char text[TEXT_MAX], int code, const char *reason, const char *message, const char *details) {
    snprintf(text, TEXT_MAX,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"%s\","
             "\"reason\":\"%s\"%s,\"code\":%d}",
             message, reason, details, code);
}

static void answer_status(sim_exchange *exchange, int code, int retry_after_s, const char *reason, const char *message,
                          const char *details) {
    char text[TEXT_MAX];
    status_text(text, code, reason, message, details);
    answer(exchange, code, retry_after_s, text);
}

/* In both of its shapes, and where it can be also as an event. */
static void too_large(sim_exchange *exchange, uint64_t detail) {
    static const char message[] = "Too large resource version: 5000000000, current: 1";
    static const char causes[] =
        ",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"x\"}]}";
    bool old_shape = detail & 1, as_event = exchange->is_watch && (detail & 2);
    if (!as_event) {
        answer_status(exchange, old_shape ? 500 : 504, -1, old_shape ? "" : "Timeout",
                      old_shape ? message : "Timeout: it is too new", old_shape ? "" : causes);
        return;
    }
    char status[TEXT_MAX], text[TEXT_MAX + 64];
    status_text(status, 504, "Timeout", old_shape ? message : "Timeout", old_shape ? "" : causes);
    snprintf(text, sizeof text, "{\"type\":\"ERROR\",\"object\":%s}\n", status);
    answer(exchange, 200, -1, text);
}

static void garbage(sim_exchange *exchange, uint64_t detail) {
    answer(exchange, 200, -1, kt_fault_garbage((size_t)detail));
}

/* The watch begins some events earlier. */
static void repeat(sim_exchange *exchange, uint64_t detail) {
    const sim_truth *truth = &exchange->world->truth;
    size_t at = truth->log_count, back = 2 + (size_t)(detail % 8);
    while (at > 0 && truth->writes[truth->log[at - 1]].revision > exchange->revision)
        at--;
    if (at <= back)
        return;
    uint64_t revision = truth->writes[truth->log[at - back]].revision;
    const char *version = strstr(exchange->target, "resourceVersion=");
    if (!version || revision >= exchange->revision)
        return;
    char *target = sim_alloc(strlen(exchange->target) + 32);
    version += strlen("resourceVersion=");
    sprintf(target, "%.*s%" PRIu64 "%s", (int)(version - exchange->target), exchange->target, revision,
            version + strspn(version, "0123456789"));
    free(exchange->target);
    exchange->target = target;
    SIM_TRACE(exchange->world, "connection %llu: repeats from %" PRIu64, (unsigned long long)exchange->number,
              revision);
}

static bool answer_continuation(sim_exchange *exchange) {
    uint64_t detail;
    sim_requester *requester = exchange->requester;
    if (sim_network_take_fault(exchange->world, SIM_TOKEN_EXPIRES, &detail)) {
        for (unsigned writes = 0; writes < 12; writes++) /* much has happened since the first page */
            sim_workload_write(exchange->world);
        answer_status(exchange, 410, -1, "Expired", "The provided continue parameter is too old", "");
        return true;
    }
    if (!strstr(exchange->target, "continue=sim-empty") || !requester->saved_page)
        return false;
    answer(exchange, 200, -1, requester->saved_page);
    free(requester->saved_page);
    requester->saved_page = NULL;
    return true;
}

static void bookmark_text(char text[TEXT_MAX], uint64_t revision) {
    snprintf(text, TEXT_MAX,
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"resourceVersion\":\"%" PRIu64 "\"}}}\n",
             revision);
}

/* Without a word, or after a bookmark: then the watch was not a short one, and it is the loop that has to be noticed. */
static void close_at_once(sim_exchange *exchange, uint64_t detail) {
    char text[TEXT_MAX] = "";
    if (detail & 1 && exchange->revision)
        bookmark_text(text, exchange->revision);
    answer(exchange, 200, -1, text);
}

/* The server's own response is silence, and for a streaming list an error. */
static bool answer_future(sim_exchange *exchange) {
    const sim_world *world = exchange->world;
    if (world->plan.future == SIM_FUTURE_IS_TOO_LARGE) {
        too_large(exchange, exchange->number);
        return true;
    }
    if (world->plan.future == SIM_FUTURE_IS_SILENT || exchange->is_streaming_list)
        return false;
    char text[TEXT_MAX];
    bookmark_text(text, kt_cluster_revision(world->servers[exchange->server].cluster));
    exchange->status = 200;
    exchange->retry_after_s = -1;
    sim_exchange_append(exchange, text);
    return true;
}

static bool answer_watch(sim_exchange *exchange) {
    uint64_t detail;
    sim_world *world = exchange->world;
    if (sim_network_take_fault(world, SIM_CLOSE_AT_ONCE, &detail)) {
        close_at_once(exchange, detail);
        return true;
    }
    /* The restored server never had this revision. */
    if (exchange->revision > kt_cluster_revision(world->servers[0].cluster) && answer_future(exchange))
        return true;
    if (exchange->is_streaming_list) {
        exchange->shuffles_initial = sim_network_take_fault(world, SIM_UNORDERED, &detail);
        exchange->omits_end = sim_network_take_fault(world, SIM_NO_END, &detail);
    } else if (exchange->revision && sim_network_take_fault(world, SIM_REPEATED, &detail)) {
        repeat(exchange, detail);
    }
    return false;
}

bool sim_respond(sim_exchange *exchange) {
    static const struct {
        int code;
        const char *reason;
    } failures[] = { { 500, "InternalError" }, { 502, "" }, { 503, "ServiceUnavailable" }, { 504, "Timeout" } };
    sim_world *world = exchange->world;
    uint64_t detail;
    if (sim_network_take_fault(world, SIM_REFUSE, &detail)) {
        sim_exchange_end(exchange, KI_ERR_CONNECT);
    } else if (sim_network_take_fault(world, SIM_RESPONSE_429, &detail)) {
        answer_status(exchange, 429, (int)(detail % 20), "TooManyRequests", "later", "");
    } else if (sim_network_take_fault(world, SIM_RESPONSE_5XX, &detail)) {
        unsigned which = (unsigned)(detail % 4);
        answer_status(exchange, failures[which].code, detail >> 8 & 1 ? (int)(detail >> 16 & 7) : -1,
                      failures[which].reason, "it is not well", "");
    } else if (sim_network_take_fault(world, SIM_RESPONSE_DENIED, &detail)) {
        bool known = detail & 1;
        answer_status(exchange, known ? 403 : 401, -1, known ? "Forbidden" : "Unauthorized", "no", "");
    } else if (sim_network_take_fault(world, SIM_TYPE_GONE, &detail)) {
        bool is_discovery = !strstr(exchange->target, "configmaps");
        if (is_discovery)
            answer(exchange, 200, -1, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[]}");
        else
            answer(exchange, 404, -1, "404 page not found\n");
    } else if (exchange->is_continuation) {
        return answer_continuation(exchange);
    } else if (sim_network_take_fault(world, SIM_RESPONSE_410, &detail)) {
        answer_status(exchange, 410, -1, detail & 1 ? "Expired" : "Gone", "too old resource version", "");
    } else if (sim_network_take_fault(world, SIM_RESPONSE_TOO_LARGE, &detail)) {
        too_large(exchange, detail);
    } else if (sim_network_take_fault(world, SIM_RESPONSE_GARBAGE, &detail)) {
        garbage(exchange, detail);
    } else {
        return exchange->is_watch && answer_watch(exchange);
    }
    return true;
}
