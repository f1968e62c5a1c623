/* tamper.c: changes of a server's response on its way: events in another order, objects that cannot be used, pages without
 * objects, an end that never comes. */
#include "sim/world.h"

#include "src/base/error.h"
#include "testing/faults/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_INITIAL = 256
};

/* --- events --------------------------------------------------------------------------------------------------------------- */

static ki_str next_frame(const ki_buffer *frames, size_t *at) {
    const char *begin = frames->data + *at;
    const char *end = memchr(begin, '\n', frames->size - *at);
    size_t size = end ? (size_t)(end - begin) + 1 : frames->size - *at;
    *at += size;
    return (ki_str){ begin, size };
}

static bool frame_is(ki_str frame, const char *type) {
    static const char begin[] = "{\"type\":\"";
    size_t size = strlen(type);
    return frame.size > sizeof begin + size && strncmp(frame.data + sizeof begin - 1, type, size) == 0;
}

static bool frame_has(ki_str frame, const char *text) {
    return memmem(frame.data, frame.size, text, strlen(text)) != NULL;
}

/* The key of the object in a frame or item: told by the write that made it. */
static bool read_key(const sim_world *world, ki_str text, uint32_t *ret_key) {
    static const char field[] = "\"n\":\"";
    const char *at = memmem(text.data, text.size, field, sizeof field - 1);
    uint64_t n = at ? strtoull(at + sizeof field - 1, NULL, 10) : 0;
    if (!n || n >= world->truth.write_count)
        return false;
    *ret_key = world->truth.writes[n].key;
    return true;
}

static void poison(sim_world *world, ki_str text) {
    uint32_t key;
    if (read_key(world, text, &key))
        world->truth.keys[key].is_poisoned = true;
}

/* The event with bytes that are no JSON: its key and its version are still there to be seen. */
static bool append_damaged(sim_exchange *exchange, ki_str frame) {
    static const char field[] = "\"data\":";
    const char *at = memmem(frame.data, frame.size, field, sizeof field - 1);
    if (!at)
        return false;
    size_t head = (size_t)(at - frame.data) + sizeof field - 1;
    ki_buffer_append(&exchange->out, frame.data, head);
    ki_buffer_append_string(&exchange->out, ",,");
    ki_buffer_append(&exchange->out, frame.data + head, frame.size - head);
    return true;
}

/* An event whose object cannot be used. In place of every other one stands something that is no event of this object: nobody can know of that. */
static void append_bad(sim_exchange *exchange, ki_str frame) {
    uint32_t key;
    poison(exchange->world, frame);
    SIM_TRACE(exchange->world, "connection %llu: a bad event in place of %.*s", (unsigned long long)exchange->number,
              (int)frame.size, frame.data);
    if (exchange->number % 2 && append_damaged(exchange, frame))
        return;
    if (read_key(exchange->world, frame, &key))
        exchange->world->truth.keys[key].is_unknowable = true;
    ki_buffer_append_string(&exchange->out, kt_fault_bad_event((size_t)exchange->number / 2));
}

static void append_huge(sim_exchange *exchange, ki_str frame) {
    static const char field[] = "\"t\":\"";
    const char *at = memmem(frame.data, frame.size, field, sizeof field - 1);
    if (!at) {
        ki_buffer_append(&exchange->out, frame.data, frame.size);
        return;
    }
    size_t head = (size_t)(at - frame.data) + sizeof field - 1;
    poison(exchange->world, frame);
    ki_buffer_append(&exchange->out, frame.data, head);
    for (unsigned i = 0; i < SIM_OBJECT_LIMIT / 16 + 4; i++)
        ki_buffer_append(&exchange->out, "0123456789abcdef", 16);
    ki_buffer_append(&exchange->out, frame.data + head, frame.size - head);
}

static void append_bookmark(sim_exchange *exchange, ki_str of) {
    static const char field[] = "\"resourceVersion\":\"";
    const char *at = memmem(of.data, of.size, field, sizeof field - 1);
    if (at)
        ki_buffer_printf(&exchange->out,
                         "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":"
                         "{\"resourceVersion\":\"%llu\",\"creationTimestamp\":null}}}\n",
                         strtoull(at + sizeof field - 1, NULL, 10));
}

/* An event after the initial ones. */
static void append_event(sim_exchange *exchange, ki_str frame) {
    bool is_change = frame_is(frame, "ADDED") || frame_is(frame, "MODIFIED");
    if (exchange->lose_next && (is_change || frame_is(frame, "DELETED"))) {
        uint32_t key;
        exchange->lose_next = false;
        if (read_key(exchange->world, frame, &key))
            exchange->world->truth.keys[key].is_unknowable = true;
        SIM_TRACE(exchange->world, "connection %llu: loses %.*s", (unsigned long long)exchange->number, (int)frame.size,
                  frame.data);
        return;
    }
    if (exchange->bookmark_before_next && (is_change || frame_is(frame, "DELETED"))) {
        uint32_t key;
        exchange->bookmark_before_next = false;
        if (read_key(exchange->world, frame, &key))
            exchange->overtaken_key = key + 1;
        append_bookmark(exchange, frame);
    }
    if (exchange->damage_next && is_change) {
        exchange->damage_next = false;
        append_bad(exchange, frame);
        return;
    }
    if (exchange->enlarge_next && is_change) {
        exchange->enlarge_next = false;
        append_huge(exchange, frame);
        return;
    }
    ki_buffer_append(&exchange->out, frame.data, frame.size);
}

static void append_shuffled(sim_exchange *exchange) {
    ki_str frames[MOST_INITIAL];
    size_t count = 0;
    for (size_t at = 0; at < exchange->held_events.size && count < MOST_INITIAL;)
        frames[count++] = next_frame(&exchange->held_events, &at);
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)sim_below(&exchange->world->network.random, i);
        ki_str frame = frames[other];
        frames[other] = frames[i - 1];
        frames[i - 1] = frame;
    }
    for (size_t i = 0; i < count; i++)
        ki_buffer_append(&exchange->out, frames[i].data, frames[i].size);
    ki_buffer_reset(&exchange->held_events, 0);
}

/* A state that is over, as an event. */
static void append_state(sim_exchange *exchange, const char *type, const sim_write *write, uint64_t n,
                         uint64_t revision) {
    ki_buffer_printf(&exchange->out,
                     "{\"type\":\"%s\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
                     "\"cm-%u\",\"namespace\":\"ns%u\",\"uid\":\"%s\",\"resourceVersion\":\"%llu\",\"labels\":{"
                     "\"app\":\"%c\"}},\"data\":{\"n\":\"%llu\"}}}\n",
                     type, (unsigned)(write->key % SIM_NAME_MAX), sim_key_ns(write->key), write->uid,
                     (unsigned long long)revision, (char)('a' + write->label), (unsigned long long)n);
}

/* Is it in every selection of this namespace, or of all? */
static bool is_asked_for(const sim_exchange *exchange, const sim_write *write) {
    char path[32];
    snprintf(path, sizeof path, "/namespaces/ns%u/", sim_key_ns(write->key));
    return write->label == 0 && (!strstr(exchange->target, "/namespaces/") || strstr(exchange->target, path));
}

/* Changes among the initial events: states that objects had before, and objects that are gone. */
static void append_past(sim_exchange *exchange) {
    const sim_truth *truth = &exchange->world->truth;
    for (size_t i = 0; i < truth->log_count; i++) {
        const sim_write *write = &truth->writes[truth->log[i]], *after = NULL;
        uint64_t next = 0;
        for (size_t k = i + 1; k < truth->log_count && !after; k++) {
            next = truth->log[k];
            after = truth->writes[next].key == write->key ? &truth->writes[next] : NULL;
        }
        if (!after || write->is_delete || !is_asked_for(exchange, write) || truth->keys[write->key].is_poisoned ||
            !sim_chance(&exchange->world->network.random, 20))
            continue;
        if (after->is_delete && !truth->keys[write->key].n) {
            append_state(exchange, "ADDED", write, truth->log[i], write->revision);
            append_state(exchange, "DELETED", write, truth->log[i], after->revision);
        } else if (truth->keys[write->key].n == next && after->label == write->label) {
            append_state(exchange, "ADDED", write, truth->log[i], write->revision);
        }
    }
}

static void append_initial(sim_exchange *exchange, ki_str frame) {
    if (frame_has(frame, "k8s.io/initial-events-end")) {
        if (exchange->shuffles_initial &&
            exchange->world->servers[exchange->server].applied == exchange->world->truth.log_count)
            append_past(exchange);
        append_shuffled(exchange);
        if (exchange->omits_end)
            return; /* and never comes */
        exchange->in_initial_events = false;
        ki_buffer_append(&exchange->out, frame.data, frame.size);
        return;
    }
    if (!exchange->shuffles_initial || !frame_is(frame, "ADDED")) {
        append_event(exchange, frame);
        return;
    }
    ki_buffer_append(&exchange->held_events, frame.data, frame.size);
}

void sim_tamper_frames(sim_exchange *exchange, ki_buffer *frames) {
    exchange->status = 200;
    for (size_t at = 0; at < frames->size;) {
        ki_str frame = next_frame(frames, &at);
        if (exchange->in_initial_events)
            append_initial(exchange, frame);
        else
            append_event(exchange, frame);
    }
}

/* --- lists ---------------------------------------------------------------------------------------------------------------- */

/* One item is of another kind than its list. */
static void spoil_item(sim_exchange *exchange, uint64_t detail) {
    static const char kind[] = "{\"kind\":\"Se\",", field[] = "{\"metadata\":{\"name\":";
    ki_buffer *out = &exchange->out;
    char *items = memmem(out->data, out->size, "\"items\":[", 9);
    if (!items)
        return;
    size_t skip = (size_t)(detail % 4);
    for (char *at = items; (at = memmem(at, out->size - (size_t)(at - out->data), field, sizeof field - 1)); at++) {
        if (skip-- > 0)
            continue;
        size_t head = (size_t)(at - out->data) + 1;
        poison(exchange->world, (ki_str){ at, out->size - head });
        ki_buffer spoiled;
        ki_buffer_init(&spoiled, out->allocator, 0);
        ki_buffer_append(&spoiled, out->data, head - 1);
        ki_buffer_append(&spoiled, kind, sizeof kind - 1);
        ki_buffer_append(&spoiled, out->data + head, out->size - head);
        ki_buffer_free(out);
        *out = spoiled;
        return;
    }
}

/* The page is sent on the next request; this one gets none of its objects, but a token. */
static void empty_page(sim_exchange *exchange) {
    static const char field[] = "\"resourceVersion\":\"";
    ki_buffer *out = &exchange->out;
    const char *at = out->size ? memmem(out->data, out->size, field, sizeof field - 1) : NULL;
    if (!at || exchange->requester->saved_page)
        return;
    unsigned long long revision = strtoull(at + sizeof field - 1, NULL, 10);
    exchange->requester->saved_page = sim_strdup(out->data);
    ki_buffer_reset(out, SIZE_MAX);
    ki_buffer_printf(out,
                     "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%llu\","
                     "\"continue\":\"sim-empty\"},\"items\":[]}",
                     revision);
}

void sim_tamper_list(sim_exchange *exchange) {
    uint64_t detail;
    sim_world *world = exchange->world;
    if (exchange->status != 200)
        return;
    if (!exchange->is_version_check && sim_network_take_fault(world, SIM_BAD_ITEM, &detail))
        spoil_item(exchange, detail);
    if (exchange->is_paged && sim_network_take_fault(world, SIM_EMPTY_PAGE, &detail))
        empty_page(exchange);
}
