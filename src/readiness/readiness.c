/* readiness.c: see readiness.h. */
#include "src/readiness/readiness.h"

#include "src/readiness/text.h"

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
