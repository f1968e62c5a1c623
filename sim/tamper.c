/* tamper.c: changes a server's response as the faults of the exchange require: events in another order, unusable
 * objects, empty pages, initial events without an end. */
#include "sim/world.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/faults/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INITIAL_EVENTS_MAX = 256
};

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Returns the frame at `*at`, with its line break, and moves `*at` behind it. */
static ki_str next_frame(const ki_buffer *frames, size_t *at) {
    const char *begin = frames->data + *at;
    const char *end = memchr(begin, '\n', frames->size - *at);
    size_t size = end ? (size_t)(end - begin) + 1 : frames->size - *at;
    *at += size;
    return (ki_str){ begin, size };
}

/* Returns true if the frame is an event of this type. */
static bool frame_is(ki_str frame, const char *type) {
    static const char begin[] = "{\"type\":\"";
    size_t size = strlen(type);
    return frame.size > sizeof begin + size && strncmp(frame.data + sizeof begin - 1, type, size) == 0;
}

static bool frame_has(ki_str frame, const char *text) {
    return memmem(frame.data, frame.size, text, strlen(text)) != NULL;
}

/* Finds the key of the object in a frame or item by the number of the write in it. Returns false if there is none. */
static bool read_key(const sim_world *world, ki_str text, uint32_t *ret_key) {
    static const char field[] = "\"n\":\"";
    const char *at = memmem(text.data, text.size, field, sizeof field - 1);
    uint64_t n = at ? strtoull(at + sizeof field - 1, NULL, 10) : 0;
    if (!n || n >= world->truth.write_count)
        return false;
    *ret_key = world->truth.writes[n].key;
    return true;
}

/* Excludes the object from the checks: a state of it was made unusable. */
static void poison_object(sim_world *world, ki_str text) {
    uint32_t key;
    if (read_key(world, text, &key))
        world->truth.keys[key].is_poisoned = true;
}

/* Appends the event with bytes that are no JSON. Its key and version stay readable. Returns false if it has no data. */
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

/* Appends the event with an unusable object; in every other exchange an invalid event without a key, whose loss no
 * client can detect. */
static void append_bad_event(sim_exchange *exchange, ki_str frame) {
    uint32_t key;
    poison_object(exchange->world, frame);
    SIM_TRACE(exchange->world, "request %llu: a bad event in place of %.*s", (unsigned long long)exchange->number,
              (int)frame.size, frame.data);
    if (exchange->number % 2 && append_damaged(exchange, frame))
        return;
    if (read_key(exchange->world, frame, &key))
        exchange->world->truth.keys[key].has_undetectable_loss = true;
    ki_buffer_append_string(&exchange->out, kt_fault_bad_event((size_t)exchange->number / 2));
}

/* Appends the event with an object above the limit of the informer. */
static void append_huge_event(sim_exchange *exchange, ki_str frame) {
    static const char field[] = "\"t\":\"";
    const char *at = memmem(frame.data, frame.size, field, sizeof field - 1);
    if (!at) {
        ki_buffer_append(&exchange->out, frame.data, frame.size);
        return;
    }
    size_t head = (size_t)(at - frame.data) + sizeof field - 1;
    poison_object(exchange->world, frame);
    ki_buffer_append(&exchange->out, frame.data, head);
    for (unsigned i = 0; i < SIM_OBJECT_LIMIT / 16 + 4; i++)
        ki_buffer_append(&exchange->out, "0123456789abcdef", 16);
    ki_buffer_append(&exchange->out, frame.data + head, frame.size - head);
}

/* Appends a bookmark with the version of an event. */
static void append_bookmark(sim_exchange *exchange, ki_str event) {
    static const char field[] = "\"resourceVersion\":\"";
    const char *at = memmem(event.data, event.size, field, sizeof field - 1);
    if (at)
        ki_buffer_printf(&exchange->out,
                         "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":"
                         "{\"resourceVersion\":\"%llu\",\"creationTimestamp\":null}}}\n",
                         strtoull(at + sizeof field - 1, NULL, 10));
}

/* Appends an event, changed, lost or after its bookmark if a fault requires it. */
static void append_event(sim_exchange *exchange, ki_str frame) {
    bool is_change = frame_is(frame, "ADDED") || frame_is(frame, "MODIFIED");
    if (exchange->lose_next && (is_change || frame_is(frame, "DELETED"))) {
        uint32_t key;
        exchange->lose_next = false;
        if (read_key(exchange->world, frame, &key))
            exchange->world->truth.keys[key].has_undetectable_loss = true;
        SIM_TRACE(exchange->world, "request %llu: loses %.*s", (unsigned long long)exchange->number, (int)frame.size,
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
        append_bad_event(exchange, frame);
        return;
    }
    if (exchange->enlarge_next && is_change) {
        exchange->enlarge_next = false;
        append_huge_event(exchange, frame);
        return;
    }
    ki_buffer_append(&exchange->out, frame.data, frame.size);
}

/* Appends the held events in random order. */
static void append_shuffled(sim_exchange *exchange) {
    ki_str frames[INITIAL_EVENTS_MAX];
    size_t count = 0;
    for (size_t at = 0; at < exchange->held_events.size && count < INITIAL_EVENTS_MAX;)
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

/* Appends an event with an old state. */
static void append_state(sim_exchange *exchange, const char *type, const sim_write *write, uint64_t n,
                         uint64_t revision) {
    ki_buffer_printf(&exchange->out,
                     "{\"type\":\"%s\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
                     "\"cm-%u\",\"namespace\":\"ns%u\",\"uid\":\"%s\",\"resourceVersion\":\"%llu\",\"labels\":{"
                     "\"app\":\"%c\"},\"annotations\":{\"n\":\"%llu\"}},\"data\":{}}}\n",
                     type, (unsigned)(write->key % SIM_NAME_MAX), sim_key_ns(write->key), write->uid,
                     (unsigned long long)revision, (char)('a' + write->label), (unsigned long long)n);
}

/* Returns true if every selector selects the state and the request covers its namespace. */
static bool is_selected(const sim_exchange *exchange, const sim_write *write) {
    char path[32];
    snprintf(path, sizeof path, "/namespaces/ns%u/", sim_key_ns(write->key));
    return write->label == 0 && (!strstr(exchange->target, "/namespaces/") || strstr(exchange->target, path));
}

void sim_tamper_reappear(sim_exchange *exchange, uint64_t detail) {
    sim_truth *truth = &exchange->world->truth;
    for (uint32_t i = 0; i < SIM_KEYS; i++) {
        uint32_t key = (uint32_t)((detail + i) % SIM_KEYS);
        uint64_t n = truth->keys[key].n;
        char *object = n && is_selected(exchange, &truth->writes[n]) ? sim_exchange_object(exchange, key) : NULL;
        char state[32]; /* of a server that does not lag */
        snprintf(state, sizeof state, "\"n\":\"%llu\"", (unsigned long long)n);
        if (object && !truth->keys[key].is_poisoned && strstr(object, state)) {
            SIM_TRACE(exchange->world, "request %llu: %s leaves and comes back", (unsigned long long)exchange->number,
                      sim_key_text(key));
            truth->keys[key].may_reappear = exchange->has_older_events = true;
            ki_buffer text;
            ki_buffer_init(&text, &ki_allocator_default, 0);
            ki_buffer_printf(&text, "{\"type\":\"DELETED\",\"object\":%s}\n{\"type\":\"ADDED\",\"object\":%s}\n",
                             object, object);
            sim_exchange_append(exchange, text.data);
            ki_buffer_free(&text);
            free(object);
            return;
        }
        free(object);
    }
}

/* Adds changes to the initial events: old states of objects, and adds and deletes of deleted objects. */
static void append_old_states(sim_exchange *exchange) {
    const sim_truth *truth = &exchange->world->truth;
    for (size_t i = 0; i < truth->log_count; i++) {
        const sim_write *write = &truth->writes[truth->log[i]], *next_write = NULL;
        uint64_t next_n = 0;
        for (size_t k = i + 1; k < truth->log_count && !next_write; k++) {
            next_n = truth->log[k];
            next_write = truth->writes[next_n].key == write->key ? &truth->writes[next_n] : NULL;
        }
        if (!next_write || write->is_delete || !is_selected(exchange, write) || truth->keys[write->key].is_poisoned ||
            !sim_chance(&exchange->world->network.random, 20))
            continue;
        if (next_write->is_delete && !truth->keys[write->key].n) {
            append_state(exchange, "ADDED", write, truth->log[i], write->revision);
            append_state(exchange, "DELETED", write, truth->log[i], next_write->revision);
        } else if (truth->keys[write->key].n == next_n && next_write->label == write->label) {
            append_state(exchange, "ADDED", write, truth->log[i], write->revision);
        }
    }
}

/* Appends or holds an initial event. At their end, appends the held ones. */
static void append_initial_event(sim_exchange *exchange, ki_str frame) {
    if (frame_has(frame, "k8s.io/initial-events-end")) {
        if (exchange->shuffles_initial &&
            exchange->world->servers[exchange->server].applied == exchange->world->truth.log_count)
            append_old_states(exchange);
        append_shuffled(exchange);
        if (exchange->omits_end)
            return;
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
            append_initial_event(exchange, frame);
        else
            append_event(exchange, frame);
    }
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Gives one item another kind than that of its list. */
static void damage_item(sim_exchange *exchange, uint64_t detail) {
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
        poison_object(exchange->world, (ki_str){ at, out->size - head });
        ki_buffer damaged;
        ki_buffer_init(&damaged, out->allocator, 0);
        ki_buffer_append(&damaged, out->data, head - 1);
        ki_buffer_append(&damaged, kind, sizeof kind - 1);
        ki_buffer_append(&damaged, out->data + head, out->size - head);
        ki_buffer_free(out);
        *out = damaged;
        return;
    }
}

/* Replaces the page by an empty one with a continue token. The client gets the page for that token. */
static void send_empty_page(sim_exchange *exchange) {
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

/* Takes the version of a list away. */
static void remove_version(const sim_exchange *exchange) {
    static const char field[] = "\"resourceVersion\":\"";
    const ki_buffer *out = &exchange->out;
    char *at = out->size ? memmem(out->data, out->size, field, sizeof field - 1) : NULL;
    if (at && memmem(out->data, (size_t)(at - out->data), "\"items\":", 8) == NULL)
        memcpy(at, "\"resourceversion", sizeof field - 4);
}

void sim_tamper_list(sim_exchange *exchange) {
    uint64_t detail;
    sim_world *world = exchange->world;
    if (exchange->status != 200)
        return;
    if (!exchange->is_version_check && sim_network_take_fault(world, SIM_BAD_ITEM, &detail))
        damage_item(exchange, detail);
    if (exchange->is_paged && sim_network_take_fault(world, SIM_EMPTY_PAGE, &detail))
        send_empty_page(exchange);
    if (world->plan.no_list_versions)
        remove_version(exchange);
}
