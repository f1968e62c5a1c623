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

static void answer(sim_connection *connection, int status, int retry_after_s, const char *body) {
    connection->status = status;
    connection->retry_after_s = retry_after_s;
    sim_connection_append(connection, body);
    sim_connection_end(connection, KI_OK);
}

static void status_text(char text[TEXT_MAX], int code, const char *reason, const char *message, const char *details) {
    snprintf(text, TEXT_MAX,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"%s\","
             "\"reason\":\"%s\"%s,\"code\":%d}",
             message, reason, details, code);
}

static void answer_status(sim_connection *connection, int code, int retry_after_s, const char *reason,
                          const char *message, const char *details) {
    char text[TEXT_MAX];
    status_text(text, code, reason, message, details);
    answer(connection, code, retry_after_s, text);
}

/* In both of its shapes, and where it can be also as an event. */
static void too_large(sim_connection *connection, uint64_t detail) {
    static const char message[] = "Too large resource version: 5000000000, current: 1";
    static const char causes[] =
        ",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"x\"}]}";
    bool old_shape = detail & 1, as_event = connection->is_watch && (detail & 2);
    if (!as_event) {
        answer_status(connection, old_shape ? 500 : 504, -1, old_shape ? "" : "Timeout",
                      old_shape ? message : "Timeout: it is too new", old_shape ? "" : causes);
        return;
    }
    char status[TEXT_MAX], text[TEXT_MAX + 64];
    status_text(status, 504, "Timeout", old_shape ? message : "Timeout", old_shape ? "" : causes);
    snprintf(text, sizeof text, "{\"type\":\"ERROR\",\"object\":%s}\n", status);
    answer(connection, 200, -1, text);
}

static void garbage(sim_connection *connection, uint64_t detail) {
    answer(connection, 200, -1, kt_fault_garbage((size_t)detail));
}

/* The watch begins some events earlier. */
static void repeat(sim_connection *connection, uint64_t detail) {
    const sim_truth *truth = &connection->world->truth;
    size_t at = truth->log_count, back = 2 + (size_t)(detail % 8);
    while (at > 0 && truth->writes[truth->log[at - 1]].revision > connection->revision)
        at--;
    if (at <= back)
        return;
    uint64_t revision = truth->writes[truth->log[at - back]].revision;
    const char *version = strstr(connection->target, "resourceVersion=");
    if (!version || revision >= connection->revision)
        return;
    char *target = sim_alloc(strlen(connection->target) + 32);
    version += strlen("resourceVersion=");
    sprintf(target, "%.*s%" PRIu64 "%s", (int)(version - connection->target), connection->target, revision,
            version + strspn(version, "0123456789"));
    free(connection->target);
    connection->target = target;
    SIM_TRACE(connection->world, "connection %llu: repeats from %" PRIu64, (unsigned long long)connection->number,
              revision);
}

static bool answer_continuation(sim_connection *connection) {
    uint64_t detail;
    sim_line *line = connection->line;
    if (sim_network_hits(connection->world, SIM_TOKEN_EXPIRES, &detail)) {
        for (unsigned writes = 0; writes < 12; writes++) /* much has happened since the first page */
            sim_workload_write(connection->world);
        answer_status(connection, 410, -1, "Expired", "The provided continue parameter is too old", "");
        return true;
    }
    if (!strstr(connection->target, "continue=sim-empty") || !line->saved_page)
        return false;
    answer(connection, 200, -1, line->saved_page);
    free(line->saved_page);
    line->saved_page = NULL;
    return true;
}

static void bookmark_text(char text[TEXT_MAX], uint64_t revision) {
    snprintf(text, TEXT_MAX,
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"resourceVersion\":\"%" PRIu64 "\"}}}\n",
             revision);
}

/* Without a word, or after a bookmark: then the watch was not a short one, and it is the loop that has to be noticed. */
static void close_at_once(sim_connection *connection, uint64_t detail) {
    char text[TEXT_MAX] = "";
    if (detail & 1 && connection->revision)
        bookmark_text(text, connection->revision);
    answer(connection, 200, -1, text);
}

/* The server's own response is silence, and for a streaming list an error. */
static bool answer_future(sim_connection *connection) {
    const sim_world *world = connection->world;
    if (world->plan.future == SIM_FUTURE_IS_TOO_LARGE) {
        too_large(connection, connection->number);
        return true;
    }
    if (world->plan.future == SIM_FUTURE_IS_SILENT || connection->is_stream)
        return false;
    char text[TEXT_MAX];
    bookmark_text(text, kt_cluster_revision(world->servers[connection->server].cluster));
    connection->status = 200;
    connection->retry_after_s = -1;
    sim_connection_append(connection, text);
    return true;
}

static bool answer_watch(sim_connection *connection) {
    uint64_t detail;
    sim_world *world = connection->world;
    if (sim_network_hits(world, SIM_CLOSE_AT_ONCE, &detail)) {
        close_at_once(connection, detail);
        return true;
    }
    /* The restored server never had this revision. */
    if (connection->revision > kt_cluster_revision(world->servers[0].cluster) && answer_future(connection))
        return true;
    if (connection->is_stream) {
        connection->is_unordered = sim_network_hits(world, SIM_UNORDERED, &detail);
        connection->has_no_end = sim_network_hits(world, SIM_NO_END, &detail);
    } else if (connection->revision && sim_network_hits(world, SIM_REPEATED, &detail)) {
        repeat(connection, detail);
    }
    return false;
}

bool sim_answer(sim_connection *connection) {
    static const struct {
        int code;
        const char *reason;
    } failures[] = { { 500, "InternalError" }, { 502, "" }, { 503, "ServiceUnavailable" }, { 504, "Timeout" } };
    sim_world *world = connection->world;
    uint64_t detail;
    if (sim_network_hits(world, SIM_REFUSE, &detail)) {
        sim_connection_end(connection, KI_ERR_CONNECT);
    } else if (sim_network_hits(world, SIM_ANSWER_429, &detail)) {
        answer_status(connection, 429, (int)(detail % 20), "TooManyRequests", "later", "");
    } else if (sim_network_hits(world, SIM_ANSWER_5XX, &detail)) {
        unsigned which = (unsigned)(detail % 4);
        answer_status(connection, failures[which].code, detail >> 8 & 1 ? (int)(detail >> 16 & 7) : -1,
                      failures[which].reason, "it is not well", "");
    } else if (sim_network_hits(world, SIM_ANSWER_DENIED, &detail)) {
        bool known = detail & 1;
        answer_status(connection, known ? 403 : 401, -1, known ? "Forbidden" : "Unauthorized", "no", "");
    } else if (sim_network_hits(world, SIM_TYPE_GONE, &detail)) {
        bool is_discovery = !strstr(connection->target, "configmaps");
        if (is_discovery)
            answer(connection, 200, -1, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[]}");
        else
            answer(connection, 404, -1, "404 page not found\n");
    } else if (connection->is_continuation) {
        return answer_continuation(connection);
    } else if (sim_network_hits(world, SIM_ANSWER_410, &detail)) {
        answer_status(connection, 410, -1, detail & 1 ? "Expired" : "Gone", "too old resource version", "");
    } else if (sim_network_hits(world, SIM_ANSWER_TOO_LARGE, &detail)) {
        too_large(connection, detail);
    } else if (sim_network_hits(world, SIM_ANSWER_GARBAGE, &detail)) {
        garbage(connection, detail);
    } else {
        return connection->is_watch && answer_watch(connection);
    }
    return true;
}
