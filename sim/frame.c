/* frame.c: see frame.h. Each event is one line. */
#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

static bool contains(const char *frame, size_t size, const char *text) {
    return memmem(frame, size, text, strlen(text)) != NULL;
}

static bool starts_with(const char *frame, size_t size, const char *text) {
    return size > strlen(text) && memcmp(frame, text, strlen(text)) == 0;
}

/* Returns the version of an event's object; UINT64_MAX: it has none. */
static uint64_t version_of(const char *frame, size_t size) {
    static const char field[] = "\"resourceVersion\":\"";
    const char *at = memmem(frame, size, field, sizeof field - 1);
    return at ? strtoull(at + sizeof field - 1, NULL, 10) : UINT64_MAX;
}

/* The client has read a complete event. One that it drops, because it repeats a known state, shows nothing of the
 * server: witness.c knows which. */
static void note_arrival(sim_exchange *exchange, bool is_bookmark) {
    if (exchange->informer >= exchange->world->client.informer_count)
        return;
    exchange->event_at = exchange->reading_at;
    if (is_bookmark)
        sim_witness_note_current(&exchange->world->client.informers[exchange->informer].witness, exchange->reading_at);
}

static void on_frame(sim_exchange *exchange, const char *frame, size_t size) {
    sim_arrivals *arrivals = &exchange->arrivals;
    if (starts_with(frame, size, "{\"type\":\"ERROR\""))
        arrivals->has_error_event = true;
    if (arrivals->has_error_event)
        return;
    bool is_bookmark = starts_with(frame, size, "{\"type\":\"BOOKMARK\"");
    if (!arrivals->is_past_initial) {
        arrivals->is_past_initial = is_bookmark && contains(frame, size, "k8s.io/initial-events-end");
        if (arrivals->is_past_initial) {
            sim_requester_note_event(exchange, true);
            note_arrival(exchange, true);
        }
        return;
    }
    arrivals->events++;
    uint64_t version = version_of(frame, size);
    bool is_new = is_bookmark || version > exchange->revision;
    bool is_unreadable = !is_bookmark && (!contains(frame, size, "\"n\":\"") || contains(frame, size, "\"data\":,,") ||
                                          size > SIM_OBJECT_LIMIT);
    if (is_unreadable)
        arrivals->has_unreadable = exchange->requester->has_unreadable = true;
    else if (version >= exchange->revision)
        sim_requester_note_event(exchange, is_new);
    if (!arrivals->has_unreadable && is_new)
        exchange->requester->has_unreadable = false;
    if (!is_unreadable)
        note_arrival(exchange, is_bookmark);
}

/* Returns true at the last brace of a frame. The line break after it may be missing if the response ends there. */
static bool is_frame_end(const ki_buffer *out, size_t at) {
    if (out->data[at] != '}')
        return false;
    return at + 1 < out->size ? out->data[at + 1] == '\n'
                              : at > 1 && out->data[at - 1] == '}' && out->data[at - 2] == '}';
}

void sim_frames_delivered(sim_exchange *exchange, size_t from, size_t end) {
    sim_arrivals *arrivals = &exchange->arrivals;
    const char *data = exchange->out.data;
    if (!exchange->is_watch && end > 2)
        arrivals->is_complete = memcmp(data + end - 3, "]}\n", 3) == 0;
    if (!exchange->is_watch || exchange->is_beside || exchange->status != 200)
        return;
    for (size_t at = from; at < end; at++) {
        if (data[at] == '\n')
            arrivals->frame_begin = at + 1;
        else if (is_frame_end(&exchange->out, at))
            on_frame(exchange, data + arrivals->frame_begin, at + 1 - arrivals->frame_begin);
    }
}
