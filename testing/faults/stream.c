/* stream.c: see stream.h. */
#include "testing/faults/stream.h"

#include "src/base/memory.h"
#include "testing/faults/texts.h"

#include <string.h>

enum {
    SHUFFLED_MAX = 4096 /* initial events that are shuffled together */
};

kt_fault_stream *kt_fault_stream_new(const ki_allocator *allocator, kt_injection *injection) {
    kt_fault_stream *faults = ki_alloc_zero(allocator, sizeof *faults);
    if (!faults) {
        kt_injection_free(injection, allocator);
        return NULL;
    }
    faults->allocator = allocator;
    faults->injection = *injection;
    injection->error_frame = NULL;
    ki_buffer_init(&faults->raw, allocator, 0);
    ki_buffer_init(&faults->held, allocator, 0);
    return faults;
}

void kt_fault_stream_free(kt_fault_stream *faults) {
    kt_injection_free(&faults->injection, faults->allocator);
    ki_buffer_free(&faults->raw);
    ki_buffer_free(&faults->held);
    ki_free(faults->allocator, faults);
}

static bool is_type(ki_str frame, const char *type) {
    static const char head[] = "{\"type\":\"";
    size_t size = strlen(type);
    return frame.size > sizeof head + size && memcmp(frame.data + sizeof head - 1, type, size) == 0;
}

static ki_str next_frame(ki_str all, size_t *at) {
    const char *end = memchr(all.data + *at, '\n', all.size - *at);
    size_t size = end ? (size_t)(end - all.data) + 1 - *at : all.size - *at;
    ki_str frame = { all.data + *at, size };
    *at += size;
    return frame;
}

/* Returns the text after `field` up to the next quote; data is NULL if there is none. */
static ki_str value_of(ki_str frame, const char *field) {
    const char *at = memmem(frame.data, frame.size, field, strlen(field));
    if (!at)
        return (ki_str){ NULL, 0 };
    at += strlen(field);
    const char *end = memchr(at, '"', frame.size - (size_t)(at - frame.data));
    return (ki_str){ at, end ? (size_t)(end - at) : 0 };
}

static void append_ahead(ki_str frame, ki_buffer *out) {
    ki_str version = value_of(frame, "\"resourceVersion\":\""), kind = value_of(frame, "\"kind\":\"");
    ki_str api = value_of(frame, "\"apiVersion\":\"");
    ki_buffer_printf(out,
                     "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",\"metadata\":{"
                     "\"resourceVersion\":\"%.*s\",\"creationTimestamp\":null}}}\n",
                     (int)kind.size, kind.data, (int)api.size, api.data, (int)version.size, version.data);
}

static void append_huge(ki_str frame, int64_t bytes, ki_buffer *out) {
    static const char field[] = "\"metadata\":{";
    const char *at = memmem(frame.data, frame.size, field, sizeof field - 1);
    if (!at) {
        ki_buffer_append_view(out, frame);
        return;
    }
    size_t head = (size_t)(at - frame.data) + sizeof field - 1;
    ki_buffer_append(out, frame.data, head);
    ki_buffer_append_string(out, "\"selfLink\":\"");
    if (ki_buffer_reserve(out, (size_t)bytes) == KI_OK) {
        memset(out->data + out->size, 'x', (size_t)bytes);
        out->size += (size_t)bytes;
    }
    ki_buffer_append_string(out, "\",");
    ki_buffer_append(out, frame.data + head, frame.size - head);
}

static void append_shuffled(kt_fault_stream *faults, ki_buffer *out) {
    const ki_str all = { faults->held.data, faults->held.size };
    ki_str *frames = ki_alloc_array(faults->allocator, SHUFFLED_MAX, sizeof *frames);
    for (size_t at = 0; at < all.size;) {
        size_t count = 0;
        while (frames && at < all.size && count < SHUFFLED_MAX)
            frames[count++] = next_frame(all, &at);
        if (!frames) { /* out of memory: keep the order */
            ki_buffer_append_view(out, all);
            break;
        }
        uint64_t state = faults->injection.random;
        for (size_t i = count; i > 1; i--) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t other = (size_t)(state >> 33) % i;
            ki_str frame = frames[other];
            frames[other] = frames[i - 1];
            frames[i - 1] = frame;
        }
        for (size_t i = 0; i < count; i++)
            ki_buffer_append_view(out, frames[i]);
    }
    ki_free(faults->allocator, frames);
    ki_buffer_reset(&faults->held, 0);
}

static void end_with(kt_fault_stream *faults, const char *frame, ki_buffer *out) {
    if (frame)
        ki_buffer_append_string(out, frame);
    faults->ended = true;
}

static void append_bookmark(kt_fault_stream *faults, ki_str frame, ki_buffer *out) {
    const kt_injection *injection = &faults->injection;
    bool last = memmem(frame.data, frame.size, "k8s.io/initial-events-end", 25) != NULL;
    if (last) {
        append_shuffled(faults, out);
        faults->initial_over = true;
        if (injection->no_end)
            return;
    } else if (injection->no_bookmark) {
        return;
    }
    ki_buffer_append_view(out, frame);
}

static void append_frame(kt_fault_stream *faults, ki_str frame, ki_buffer *out) {
    const kt_injection *injection = &faults->injection;
    if (is_type(frame, "BOOKMARK")) {
        append_bookmark(faults, frame, out);
        return;
    }
    if (is_type(frame, "ERROR")) {
        ki_buffer_append_view(out, frame);
        return;
    }
    int64_t n = ++faults->events;
    if (n == injection->end_at || n == injection->error_at) {
        end_with(faults, n == injection->error_at ? injection->error_frame : NULL, out);
        return;
    }
    if (injection->shuffle && !faults->initial_over && is_type(frame, "ADDED")) {
        ki_buffer_append_view(&faults->held, frame);
        if (faults->held.failed)
            out->failed = faults->held.failed;
        return;
    }
    if (n == injection->lose)
        return;
    if (n == injection->ahead)
        append_ahead(frame, out);
    if (n == injection->bad)
        ki_buffer_append_string(out, kt_fault_bad_event((size_t)injection->bad_which));
    else if (n == injection->huge)
        append_huge(frame, injection->huge_bytes, out);
    else
        ki_buffer_append_view(out, frame);
    for (int64_t i = 0; n == injection->again.at && i < injection->again.times; i++)
        ki_buffer_append_view(out, frame);
}

/* Reads one block of frames and injects the faults. */
static ki_status read_block(kt_response *response, int64_t now_ms, ki_buffer *out, size_t max,
                            kt_watch_state *ret_state) {
    kt_fault_stream *faults = response->faults;
    *ret_state = KT_WATCH_ENDED;
    if (!faults->ended && faults->injection.end_at == 0)
        faults->ended = true;
    if (!faults->ended && faults->injection.error_at == 0)
        end_with(faults, faults->injection.error_frame, out);
    if (faults->ended)
        return out->failed;
    ki_buffer_reset(&faults->raw, 1 << 20);
    ki_status status = kt_watch_read(response->watch, now_ms, &faults->raw, max, NULL, ret_state);
    const ki_str all = { faults->raw.data, faults->raw.size };
    for (size_t at = 0; at < all.size && !faults->ended;)
        append_frame(faults, next_frame(all, &at), out);
    if (faults->ended)
        *ret_state = KT_WATCH_ENDED;
    return status ? status : out->failed;
}

ki_status kt_fault_read(kt_response *response, int64_t now_ms, ki_buffer *out, size_t max, kt_watch_state *ret_state) {
    size_t start = out->size;
    ki_status status;
    do
        status = read_block(response, now_ms, out, max, ret_state);
    while (!status && *ret_state == KT_WATCH_MORE && out->size == start);
    return status;
}
