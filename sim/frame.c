/* frame.c: see frame.h. Events are lines: there is no line break within one. */
#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

static bool has(const char *frame, size_t size, const char *text) {
    return memmem(frame, size, text, strlen(text)) != NULL;
}

static bool begins(const char *frame, size_t size, const char *text) {
    return size > strlen(text) && memcmp(frame, text, strlen(text)) == 0;
}

/* A deletion may have the version of the last state. */
static bool is_word(const sim_connection *connection, const char *frame, size_t size) {
    static const char field[] = "\"resourceVersion\":\"";
    const char *at = memmem(frame, size, field, sizeof field - 1);
    return !at || begins(frame, size, "{\"type\":\"DELETED\"") ||
           strtoull(at + sizeof field - 1, NULL, 10) >= connection->revision;
}

static void arrived(sim_connection *connection, const char *frame, size_t size) {
    sim_arrivals *arrivals = &connection->arrivals;
    sim_world *world = connection->world;
    if (begins(frame, size, "{\"type\":\"ERROR\""))
        arrivals->is_over = true;
    if (arrivals->is_over)
        return;
    bool is_bookmark = begins(frame, size, "{\"type\":\"BOOKMARK\"");
    if (!arrivals->is_past_initial) {
        arrivals->is_past_initial = is_bookmark && has(frame, size, "k8s.io/initial-events-end");
        if (arrivals->is_past_initial)
            sim_line_hear_word(connection);
        return;
    }
    arrivals->frames++;
    bool is_bad =
        !is_bookmark && (!has(frame, size, "\"n\":\"") || has(frame, size, "\"data\":,,") || size > SIM_OBJECT_LIMIT);
    if (is_bad)
        arrivals->has_bad = connection->line->has_bad = true;
    else if (is_word(connection, frame, size))
        sim_line_hear_word(connection);
    if (!arrivals->has_bad)
        connection->line->has_bad = false;
    if (!is_bad && connection->informer < world->client.informer_count)
        sim_witness_told(&world->client.informers[connection->informer].witness);
}

/* At its last brace: a line break follows, unless the connection ends just there. */
static bool ends_at(const ki_buffer *out, size_t at) {
    if (out->data[at] != '}')
        return false;
    return at + 1 < out->size ? out->data[at + 1] == '\n'
                              : at > 1 && out->data[at - 1] == '}' && out->data[at - 2] == '}';
}

void sim_frames_arrived(sim_connection *connection, size_t from, size_t end) {
    sim_arrivals *arrivals = &connection->arrivals;
    const char *data = connection->out.data;
    if (!connection->is_watch && end > 2)
        arrivals->is_whole = memcmp(data + end - 3, "]}\n", 3) == 0;
    if (!connection->is_watch || connection->is_audit || connection->status != 200)
        return;
    for (size_t at = from; at < end; at++) {
        if (data[at] == '\n')
            arrivals->begin = at + 1;
        else if (ends_at(&connection->out, at))
            arrived(connection, data + arrivals->begin, at + 1 - arrivals->begin);
    }
}
