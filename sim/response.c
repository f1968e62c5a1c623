/* response.c: responds in place of the server if a fault is pending for the request. network.c calls it when the
 * request reaches the server. */
#include "sim/workload.h"
#include "sim/world.h"

#include "src/base/memory.h"
#include "testing/faults/texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 512
};

/* Sends a whole response. */
static void respond(sim_exchange *exchange, int status, int retry_after_s, const char *body) {
    exchange->status = status;
    exchange->retry_after_s = retry_after_s;
    sim_exchange_append(exchange, body);
    sim_exchange_end(exchange, KI_OK);
}

/* Formats a Status of failure. `details` is empty or begins with a comma. */
static void status_text(char text[TEXT_MAX], int code, const char *reason, const char *message, const char *details) {
    snprintf(text, TEXT_MAX,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"%s\","
             "\"reason\":\"%s\"%s,\"code\":%d}",
             message, reason, details, code);
}

static void respond_with_status(sim_exchange *exchange, int code, int retry_after_s, const char *reason,
                                const char *message, const char *details) {
    char text[TEXT_MAX];
    status_text(text, code, reason, message, details);
    respond(exchange, code, retry_after_s, text);
}

/* Responds that the resource version is too large: with an older or a newer Status, as the response or as an ERROR
 * event. */
static void respond_too_large(sim_exchange *exchange, uint64_t detail) {
    static const char message[] = "Too large resource version: 5000000000, current: 1";
    static const char causes[] =
        ",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"x\"}]}";
    bool old_shape = detail & 1, as_event = exchange->is_watch && (detail & 2);
    if (!as_event) {
        respond_with_status(exchange, old_shape ? 500 : 504, -1, old_shape ? "" : "Timeout",
                            old_shape ? message : "Timeout: it is too new", old_shape ? "" : causes);
        return;
    }
    char status[TEXT_MAX], text[TEXT_MAX + 64];
    status_text(status, 504, "Timeout", old_shape ? message : "Timeout", old_shape ? "" : causes);
    snprintf(text, sizeof text, "{\"type\":\"ERROR\",\"object\":%s}\n", status);
    respond(exchange, 200, -1, text);
}

static void respond_garbage(sim_exchange *exchange, uint64_t detail) {
    respond(exchange, 200, -1, kt_fault_garbage((size_t)detail));
}

/* Moves the version that the watch starts from back by some writes: the server repeats events. The server itself
 * responds. */
static void repeat_events(sim_exchange *exchange, uint64_t detail) {
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
    exchange->has_older_events = true;
    SIM_TRACE(exchange->world, "request %llu: repeats events from version %" PRIu64,
              (unsigned long long)exchange->number, revision);
}

/* Responds to the request for a further page. Returns false if the server must respond. */
static bool respond_to_continuation(sim_exchange *exchange) {
    uint64_t detail;
    sim_requester *requester = exchange->requester;
    if (sim_network_take_fault(exchange->world, SIM_TOKEN_EXPIRES, &detail)) {
        for (unsigned writes = 0; writes < 12; writes++) /* the client must see a newer list */
            sim_workload_write(exchange->world);
        respond_with_status(exchange, 410, -1, "Expired", "The provided continue parameter is too old", "");
        return true;
    }
    if (!strstr(exchange->target, "continue=sim-empty") || !requester->saved_page)
        return false;
    respond(exchange, 200, -1, requester->saved_page);
    free(requester->saved_page);
    requester->saved_page = NULL;
    return true;
}

/* Formats a bookmark event. */
static void bookmark_text(char text[TEXT_MAX], uint64_t revision) {
    snprintf(text, TEXT_MAX,
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"resourceVersion\":\"%" PRIu64 "\"}}}\n",
             revision);
}

/* Ends the watch at once: without an event (a short watch), or after a bookmark. */
static void respond_with_end(sim_exchange *exchange, uint64_t detail) {
    char text[TEXT_MAX] = "";
    if (detail & 1 && exchange->revision)
        bookmark_text(text, exchange->revision);
    respond(exchange, 200, -1, text);
}

/* Responds to a watch from a version that the server has not reached. Otherwise the server responds: with silence, to a
 * streaming list with an error. */
static bool respond_to_future_watch(sim_exchange *exchange) {
    const sim_world *world = exchange->world;
    if (world->plan.future_watch == SIM_FUTURE_TOO_LARGE) {
        respond_too_large(exchange, exchange->number);
        return true;
    }
    if (world->plan.future_watch == SIM_FUTURE_SILENT || exchange->is_streaming_list)
        return false;
    char text[TEXT_MAX];
    bookmark_text(text, kt_cluster_revision(world->servers[exchange->server].cluster));
    exchange->status = 200;
    exchange->retry_after_s = -1;
    sim_exchange_append(exchange, text);
    return true;
}

/* Closes a streaming list after one of its initial events, or before the first. */
static void close_stream(sim_exchange *exchange, uint64_t detail) {
    char *object = sim_exchange_object(exchange, (uint32_t)(detail % SIM_KEYS));
    ki_buffer text;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    if (object)
        ki_buffer_printf(&text, "{\"type\":\"ADDED\",\"object\":%s}\n", object);
    respond(exchange, 200, -1, object ? text.data : "");
    ki_buffer_free(&text);
    free(object);
}

/* Responds to a watch or streaming list. Returns false if the server must respond, perhaps with changes by tamper.c. */
static bool respond_to_watch(sim_exchange *exchange) {
    uint64_t detail;
    sim_world *world = exchange->world;
    if (sim_network_take_fault(world, SIM_CLOSE_AT_ONCE, &detail)) {
        respond_with_end(exchange, detail);
        return true;
    }
    /* The cluster was restored to an older version. */
    if (exchange->revision > kt_cluster_revision(world->servers[0].cluster) && respond_to_future_watch(exchange))
        return true;
    if (exchange->is_streaming_list && !world->plan.no_streaming_list &&
        sim_network_take_fault(world, SIM_STREAM_CLOSES, &detail)) {
        close_stream(exchange, detail);
        return true;
    }
    if (exchange->is_streaming_list) {
        exchange->shuffles_initial = sim_network_take_fault(world, SIM_UNORDERED, &detail);
        exchange->omits_end = sim_network_take_fault(world, SIM_NO_END, &detail);
    } else if (exchange->revision && sim_network_take_fault(world, SIM_REPEATED, &detail)) {
        repeat_events(exchange, detail);
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
        respond_with_status(exchange, 429, (int)(detail % 20), "TooManyRequests", "later", "");
    } else if (sim_network_take_fault(world, SIM_RESPONSE_5XX, &detail)) {
        unsigned which = (unsigned)(detail % 4);
        respond_with_status(exchange, failures[which].code, detail >> 8 & 1 ? (int)(detail >> 16 & 7) : -1,
                            failures[which].reason, "it is not well", "");
    } else if (sim_network_take_fault(world, SIM_RESPONSE_DENIED, &detail)) {
        bool is_forbidden = detail & 1;
        respond_with_status(exchange, is_forbidden ? 403 : 401, -1, is_forbidden ? "Forbidden" : "Unauthorized", "no",
                            "");
    } else if (sim_network_take_fault(world, SIM_TYPE_GONE, &detail)) {
        bool is_discovery = !strstr(exchange->target, "configmaps");
        if (is_discovery)
            respond(exchange, 200, -1, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[]}");
        else
            respond(exchange, 404, -1, "404 page not found\n");
    } else if (exchange->is_continuation) {
        return respond_to_continuation(exchange);
    } else if (sim_network_take_fault(world, SIM_RESPONSE_410, &detail)) {
        respond_with_status(exchange, 410, -1, detail & 1 ? "Expired" : "Gone", "too old resource version", "");
    } else if (sim_network_take_fault(world, SIM_RESPONSE_TOO_LARGE, &detail)) {
        respond_too_large(exchange, detail);
    } else if (sim_network_take_fault(world, SIM_RESPONSE_GARBAGE, &detail)) {
        respond_garbage(exchange, detail);
    } else {
        return exchange->is_watch && respond_to_watch(exchange);
    }
    return true;
}
