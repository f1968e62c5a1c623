/* readiness.c: see readiness.h. */
#include "src/readiness/readiness.h"

#include "src/base/error.h"
#include "src/base/openmetrics.h"
#include "src/engine/engine.h"
#include "src/readiness/text.h"

#include <string.h>

static void append(ki_buffer *out, const char *text) {
    ki_buffer_append_string(out, text);
}

/* "[+]informer pods in shop: watching, synced, 0.3 s old, 2,000 objects" */
static void append_informer(const ki_informer_row *row, ki_buffer *out) {
    const ki_health *health = &row->health;
    bool is_ready = row->is_synced && health->state != KI_STATE_STOPPED;
    ki_buffer_printf(out, "[%c]informer ", is_ready ? '+' : '-');
    ki_text_line(out, row->name);
    ki_buffer_printf(out, ": %s, %s", ki_state_name(health->state), row->is_synced ? "synced" : "not synced");
    if (health->staleness_ms >= 0) {
        append(out, ", ");
        ki_text_duration(out, (double)health->staleness_ms / 1000);
        append(out, " old");
    }
    append(out, ", ");
    ki_text_count(out, row->objects);
    append(out, row->objects > 1 || row->objects < 1 ? " objects" : " object");
    if (health->message[0]) {
        append(out, ": ");
        ki_text_line(out, health->message);
    }
    append(out, "\n");
}

/* "[+]queue foo: 12 queued, longest running 0.0 s, 3 retries"; a warning, which does not make the program unready:
 * "[!]queue foo: …, 3 retries, 1 failing: shop/a failed 13 times: …" */
static void append_queue(const ki_queue_row *row, ki_buffer *out) {
    const ki_controller_failure *failure = &row->failure;
    ki_buffer_printf(out, "[%c]queue ", ki_picture_is_failing(row) ? '!' : '+');
    ki_text_line(out, row->name);
    append(out, ": ");
    ki_text_count(out, row->depth);
    append(out, " queued, longest running ");
    ki_text_duration(out, row->longest_s);
    append(out, ", ");
    ki_text_count(out, row->retries);
    append(out, " retries");
    if (row->failing > 0) {
        append(out, ", ");
        ki_text_count(out, row->failing);
        append(out, " failing");
    }
    if (failure->key[0]) {
        append(out, ": ");
        ki_text_line(out, failure->key);
        ki_buffer_printf(out, " failed %d %s: ", failure->failures, failure->failures == 1 ? "time" : "times");
        ki_text_line(out, ki_error_message(&failure->cause));
    }
    append(out, "\n");
}

/* "[+]lease sample-controller: this process waits, node-1_3f leads" */
static void append_elector(const ki_elector_row *row, ki_buffer *out) {
    append(out, "[+]lease ");
    ki_text_line(out, row->name);
    append(out, row->leads ? ": this process leads, as " : ": this process waits, ");
    ki_text_line(out, row->leader[0] ? row->leader : "nobody");
    append(out, row->leads ? "\n" : " leads\n");
}

bool ki_readiness_write(const ki_picture *picture, bool verbose, ki_buffer *out) {
    bool is_ready = ki_picture_unready(picture) == 0;
    if (is_ready && !verbose) {
        append(out, "ok\n");
        return true;
    }
    for (size_t i = 0; i < picture->informer_count; i++)
        append_informer(&picture->informers[i], out);
    for (size_t i = 0; i < picture->queue_count; i++)
        append_queue(&picture->queues[i], out);
    for (size_t i = 0; i < picture->elector_count; i++)
        append_elector(&picture->electors[i], out);
    append(out, is_ready ? "readyz check passed\n" : "readyz check failed\n");
    return is_ready;
}

/* --- for a program that has no status server ---------------------------------------------------------------------- */

enum {
    TEXT_MAX = 16 << 20 /* bytes */
};

static ki_status copy(const ki_allocator *allocator, const ki_buffer *from, char **ret_text) {
    char *text = from->failed ? NULL : ki_metrics_text_new(allocator, from->size + 1);
    if (!text)
        return from->failed ? from->failed : KI_ERR_NO_MEMORY;
    memcpy(text, from->data, from->size);
    text[from->size] = '\0';
    *ret_text = text;
    return KI_OK;
}

ki_status ki_factory_readiness_text(ki_factory *factory, bool *ret_is_ready, char **ret_text, ki_error *err) {
    if (!factory || !ret_is_ready)
        return ki_error_missing(err, "ki_factory_readiness_text");
    ki_engine *engine = ki_factory_engine(factory);
    if (ki_engine_check_process(engine, err))
        return KI_ERR_STATE;
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_picture picture;
    ki_buffer out;
    ki_buffer_init(&out, allocator, TEXT_MAX);
    ki_status status = ki_picture_take(&picture, allocator, true, factory, NULL, NULL);
    bool is_ready = !status && ki_readiness_write(&picture, true, &out);
    if (!status && ret_text)
        status = copy(allocator, &out, ret_text);
    ki_picture_free(&picture);
    ki_buffer_free(&out);
    if (status)
        return ki_error_set(err, status, "the readiness of the informers: %s", ki_status_name(status));
    *ret_is_ready = is_ready;
    return KI_OK;
}
