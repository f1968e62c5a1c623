/* page.c: see page.h. What the script replaces has an id: the verdict, and `live`. Tables have roles, because narrow
 * windows show their rows as blocks, which are no rows to a screen reader otherwise. */
#include "status/page.h"

#include "src/readiness/text.h"
#include "status/chart.h"

#include <kinformer/version.h>

#include <stdio.h>
#include <string.h>

#define LONG_RUN_S 60 /* a key that is processed for longer is marked */

enum {
    DESCRIPTION_SIZE = 192,
    OLD_MS = 120000 /* a healthy watch brings a bookmark about once a minute */
};

static void append(ki_buffer *out, const char *html) {
    ki_buffer_append_string(out, html);
}

/* --- the head ----------------------------------------------------------------------------------------------------- */

typedef struct concern_style {
    const char *class_name, *mark;
} concern_style;

static const concern_style styles[] = {
    [KI_CONCERN_BLOCKED] = { "bad", "✖" },   [KI_CONCERN_FAILING] = { "bad", "!" },
    [KI_CONCERN_UNSYNCED] = { "wait", "…" }, [KI_CONCERN_WARNED] = { "warn", "!" },
    [KI_CONCERN_NONE] = { "ok", "✔" },
};

static size_t count_concern(const ki_picture *picture, ki_concern concern) {
    size_t count = 0;
    for (size_t i = 0; i < picture->informer_count; i++)
        count += picture->informers[i].concern == concern;
    return count;
}

static size_t count_failing(const ki_picture *picture) {
    size_t count = 0;
    for (size_t i = 0; i < picture->queue_count; i++)
        count += ki_picture_is_failing(&picture->queues[i]);
    return count;
}

static size_t count_troubled(const ki_picture *picture) {
    return count_concern(picture, KI_CONCERN_BLOCKED) + count_concern(picture, KI_CONCERN_FAILING) +
           count_failing(picture);
}

static void append_informers(ki_buffer *out, size_t count) {
    ki_text_count(out, (double)count);
    append(out, count == 1 ? " informer" : " informers");
}

/* "Ready: 30 informers have synced; 1 blocked, 1 backing off, 1 controller failing" */
static void append_verdict(const ki_page *page, ki_buffer *out) {
    const ki_picture *picture = page->picture;
    size_t unready = ki_picture_unready(picture), blocked = count_concern(picture, KI_CONCERN_BLOCKED);
    size_t failing = count_concern(picture, KI_CONCERN_FAILING);
    size_t controllers = count_failing(picture);
    bool is_late = page->loop_late_s > 0;
    const char *style = is_late || blocked || failing || controllers ? "bad" : unready ? "wait" : "ok";
    ki_buffer_printf(out, "<p id=\"verdict\" class=\"verdict %s\" role=\"status\">", style);
    if (is_late) {
        append(out, "✖ The loop has not run for ");
        ki_text_duration(out, page->loop_late_s);
        append(out, ": what follows is old");
    } else if (unready) {
        append(out, "✖ Not ready: ");
        ki_text_count(out, (double)unready);
        append(out, " of ");
        append_informers(out, picture->informer_count);
        append(out, unready == 1 ? " has not synced" : " have not synced");
    } else {
        append(out, "✔ Ready: ");
        append_informers(out, picture->informer_count);
        append(out, picture->informer_count == 1 ? " has synced" : " have synced");
    }
    const char *before = "; ";
    if (blocked) {
        ki_buffer_printf(out, "%s%zu blocked", before, blocked);
        before = ", ";
    }
    if (failing) {
        ki_buffer_printf(out, "%s%zu backing off", before, failing);
        before = ", ";
    }
    if (controllers)
        ki_buffer_printf(out, "%s%zu controller%s failing", before, controllers, controllers == 1 ? "" : "s");
    append(out, "</p>\n");
}

static void append_head(const ki_page *page, ki_buffer *out) {
    size_t troubled = count_troubled(page->picture);
    append(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    if (troubled)
        ki_buffer_printf(out, "(%zu) ", troubled);
    ki_text_html(out, page->title);
    append(out, "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
                "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n<style>\n");
    append(out, ki_page_style);
    append(out, ki_page_style_of_tables);
    append(out, "</style>\n<script src=\"page.js\" defer></script>\n</head>\n<body>\n"
                "<a class=\"skip\" href=\"#live\">Skip to the status</a>\n<header>\n<h1>");
    ki_text_html(out, page->title);
    append(out, "</h1>\n");
    append_verdict(page, out);
    append(out, "<p id=\"where\" class=\"muted\">");
    if (page->picture->host[0]) {
        append(out, "cluster ");
        ki_text_html(out, page->picture->host);
        append(out, ", ");
    }
    append(out, "process ");
    ki_text_html(out, page->process);
    if (page->version[0]) {
        append(out, ", version ");
        ki_text_html(out, page->version);
    }
    append(out, "</p>\n</header>\n");
}

/* --- charts ------------------------------------------------------------------------------------------------------- */

typedef void (*number_writer)(ki_buffer *out, double number);

static void append_value(ki_buffer *out, double value, number_writer write) {
    if (value < 0)
        append(out, "–");
    else
        write(out, value);
}

/* Writes "Objects over the last 15 minutes: now 2,000, at most 2,010". */
static void describe(const ki_allocator *allocator, char description[DESCRIPTION_SIZE], const char *what, double now,
                     double most, number_writer write) {
    ki_buffer text;
    ki_buffer_init(&text, allocator, 0);
    ki_buffer_printf(&text, "%s over the last 15 minutes: now ", what);
    append_value(&text, now, write);
    append(&text, ", at most ");
    append_value(&text, most, write);
    snprintf(description, DESCRIPTION_SIZE, "%s", text.data ? text.data : "");
    ki_buffer_free(&text);
}

/* `now`: the value now, as in the tables; the last sample can be 10 s old. */
static void append_chart(const ki_page *page, ki_buffer *out, ki_history_total total, const char *what, double now,
                         number_writer write) {
    char description[DESCRIPTION_SIZE];
    ki_history_values values;
    ki_history_read_total(page->history, total, &values);
    double most = (double)ki_chart_most(&values) > now ? (double)ki_chart_most(&values) : now;
    describe(out->allocator, description, what, now, most, write);
    ki_buffer_printf(out, "<figure>\n<figcaption>%s <strong>", what);
    append_value(out, now, write);
    append(out, "</strong></figcaption>\n");
    ki_chart_line(out, &values, description);
    append(out, "\n<p class=\"axis\"><span>15 min</span> <span>at most ");
    append_value(out, most, write);
    append(out, "</span> <span>now</span></p>\n</figure>\n");
}

static void append_charts(const ki_page *page, ki_buffer *out) {
    const ki_picture *picture = page->picture;
    double objects = 0, bytes = 0, depth = 0;
    ki_history_values events;
    for (size_t i = 0; i < picture->informer_count; i++) {
        objects += picture->informers[i].objects;
        bytes += picture->informers[i].bytes;
    }
    for (size_t i = 0; i < picture->queue_count; i++)
        depth += picture->queues[i].depth;
    ki_history_read_total(page->history, KI_HISTORY_EVENTS, &events);
    append(out, "<section class=\"charts\" aria-label=\"The last 15 minutes\">\n");
    append_chart(page, out, KI_HISTORY_EVENTS, "Events a second", (double)ki_history_last(&events), ki_text_rate);
    append_chart(page, out, KI_HISTORY_OBJECTS, "Objects", objects, ki_text_count);
    append_chart(page, out, KI_HISTORY_BYTES, "Memory", bytes, ki_text_bytes);
    if (picture->queue_count)
        append_chart(page, out, KI_HISTORY_DEPTH, "Keys queued", depth, ki_text_count);
    append(out, "</section>\n");
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* Appends a table up to its rows. `columns` ends with NULL; those with "#" before their name have numbers. */
static void begin_table(ki_buffer *out, const char *id, const char *title, const char *const *columns) {
    ki_buffer_printf(out, "<section>\n<h2 id=\"%s\">%s</h2>\n<table role=\"table\" aria-labelledby=\"%s\">\n", id,
                     title, id);
    append(out, "<thead role=\"rowgroup\"><tr role=\"row\">");
    for (; *columns; columns++) {
        bool is_number = (*columns)[0] == '#';
        ki_buffer_printf(out, "<th role=\"columnheader\" scope=\"col\"%s>%s</th>", is_number ? " class=\"num\"" : "",
                         *columns + is_number);
    }
    append(out, "</tr></thead>\n");
}

static void end_table(ki_buffer *out) {
    append(out, "</table>\n</section>\n");
}

/* Each thing is a group of rows: its own, and perhaps one of details. */
static void begin_row(ki_buffer *out, const char *class_name, const char *name) {
    ki_buffer_printf(out,
                     "<tbody role=\"rowgroup\" class=\"%s\"><tr role=\"row\"><th role=\"rowheader\" scope=\"row\">",
                     class_name);
    ki_text_html(out, name);
    append(out, "</th>\n");
}

static void end_row(ki_buffer *out) {
    append(out, "</tr></tbody>\n");
}

/* `label` is the column's, which narrow windows show beside the cell. */
static void begin_cell(ki_buffer *out, const char *label, bool is_number) {
    ki_buffer_printf(out, "<td role=\"cell\" data-label=\"%s\"%s>", label, is_number ? " class=\"num\"" : "");
}

/* Appends a number and its unit on one line, also in text browsers. */
static void append_whole(ki_buffer *out, double number, number_writer write) {
    char unit[8] = "";
    size_t size = out->size;
    write(out, number);
    const char *space = out->size > size ? strchr(out->data + size, ' ') : NULL;
    if (!space)
        return;
    snprintf(unit, sizeof unit, "%s", space + 1);
    out->size = (size_t)(space - out->data);
    ki_buffer_printf(out, "&nbsp;%s", unit);
}

static void append_number(ki_buffer *out, const char *label, double number, number_writer write) {
    begin_cell(out, label, true);
    append_whole(out, number, write);
    append(out, "</td>\n");
}

/* --- informers ---------------------------------------------------------------------------------------------------- */

static void append_state(const ki_informer_row *row, ki_buffer *out) {
    begin_cell(out, "State", false);
    ki_buffer_printf(out, "<span class=\"state\">%s&nbsp;%s</span> <span class=\"muted\">for ",
                     styles[row->concern].mark, ki_state_name(row->health.state));
    append_whole(out, (double)row->health.since_ms / 1000, ki_text_duration);
    append(out, "</span></td>\n");
}

/* "forbidden: list pods in all namespaces", "next list in 12 s, after 3 failures" */
static void append_cause(const ki_health *health, ki_buffer *out) {
    if (health->message[0]) {
        append(out, "<div>");
        ki_text_html(out, health->message);
        append(out, "</div>");
    }
    if (health->unreadable) {
        ki_buffer_printf(out, "<div>%zu unreadable: ", health->unreadable);
        ki_text_html(out, health->unreadable_message);
        append(out, "</div>");
    }
    if (health->retry_in_ms >= 0) {
        ki_buffer_printf(out, "<div class=\"muted\">next %s in ", ki_attempt_name(health->next));
        ki_text_duration(out, (double)health->retry_in_ms / 1000);
        if (health->failures > 1)
            ki_buffer_printf(out, ", after %llu failures", (unsigned long long)health->failures);
        append(out, "</div>");
    }
}

static void append_progress(const ki_health *health, ki_buffer *out) {
    append(out, "<div class=\"muted\">");
    ki_text_count(out, (double)health->listed);
    if (health->list_total >= 0) {
        append(out, " of ");
        ki_text_count(out, (double)health->list_total);
    }
    append(out, " objects listed</div>");
}

/* A row below the informer's: its texts are too long for a column. */
static void append_details(const ki_informer_row *row, ki_buffer *out) {
    const ki_health *health = &row->health;
    bool is_listing = health->state == KI_STATE_LISTING;
    if (!health->message[0] && !health->unreadable && health->retry_in_ms < 0 && !is_listing)
        return;
    append(out, "</tr>\n<tr role=\"row\" class=\"details\"><td role=\"cell\" colspan=\"7\">");
    append_cause(health, out);
    if (is_listing)
        append_progress(health, out);
    append(out, "</td>");
}

static void append_events(const ki_page *page, const ki_informer_row *row, ki_buffer *out) {
    ki_history_values values;
    ki_history_read(page->history, KI_HISTORY_INFORMER, row->identity, &values);
    begin_cell(out, "Events/s", true);
    append_value(out, (double)ki_history_last(&values), ki_text_rate);
    append(out, " ");
    ki_chart_spark(out, &values);
    append(out, "</td>\n");
}

static void append_informer(const ki_page *page, const ki_informer_row *row, ki_buffer *out) {
    begin_row(out, styles[row->concern].class_name, row->name);
    append_state(row, out);
    begin_cell(out, "Age", true);
    bool is_old = row->health.staleness_ms > OLD_MS;
    append(out, is_old ? "<strong>" : "<span>");
    if (row->health.staleness_ms >= 0)
        append_whole(out, (double)row->health.staleness_ms / 1000, ki_text_duration);
    else
        append(out, "–");
    append(out, is_old ? "</strong></td>\n" : "</span></td>\n");
    append_number(out, "Objects", row->objects, ki_text_count);
    append_number(out, "Memory", row->bytes, ki_text_bytes);
    append_events(page, row, out);
    begin_cell(out, "Relists", true);
    ki_text_count(out, row->relists);
    for (ki_str rest = ki_str_of(row->causes); rest.size;) {
        ki_str cause = ki_str_split(rest, ';', &rest);
        ki_buffer_printf(out, "<div class=\"muted\">%.*s</div>", (int)cause.size, cause.data);
    }
    append(out, "</td>");
    append_details(row, out);
    end_row(out);
}

static void append_informer_table(const ki_page *page, ki_buffer *out) {
    static const char *const columns[] = { "Informer", "State",     "#Age",     "#Objects",
                                           "#Memory",  "#Events/s", "#Relists", NULL };
    const ki_picture *picture = page->picture;
    if (!picture->informer_count) {
        append(out, "<section>\n<h2 id=\"informers\">Informers</h2>\n<p>There are none.</p>\n</section>\n");
        return;
    }
    begin_table(out, "informers", "Informers", columns);
    for (size_t i = 0; i < picture->informer_count; i++)
        append_informer(page, &picture->informers[i], out);
    end_table(out);
}

/* --- queues ------------------------------------------------------------------------------------------------------- */

static void append_depth(const ki_page *page, const ki_queue_row *row, ki_buffer *out) {
    ki_history_values values;
    ki_history_read(page->history, KI_HISTORY_QUEUE, row->identity, &values);
    begin_cell(out, "Depth", true);
    ki_text_count(out, row->depth);
    append(out, " ");
    ki_chart_spark(out, &values);
    append(out, "</td>\n");
}

/* "shop/a failed 13 times, last 2 s ago: conflict: …" */
static void append_failure(const ki_controller_failure *failure, ki_buffer *out) {
    if (!failure->key[0])
        return;
    append(out, "</tr>\n<tr role=\"row\" class=\"details\"><td role=\"cell\" colspan=\"8\"><div>");
    ki_text_html(out, failure->key);
    ki_buffer_printf(out, " failed %d %s: ", failure->failures, failure->failures == 1 ? "time" : "times");
    ki_text_html(out, ki_error_message(&failure->cause));
    append(out, "</div><div class=\"muted\">");
    ki_text_duration(out, (double)failure->ago_ms / 1000);
    append(out, failure->is_retried ? " ago" : " ago, not retried");
    append(out, "</div></td>");
}

static void append_queue_table(const ki_page *page, ki_buffer *out) {
    static const char *const columns[] = { "Queue",       "#Depth",  "#Running", "#Longest running",
                                           "#Reconciles", "#Errors", "#Retries", "#Failing keys",
                                           NULL };
    const ki_picture *picture = page->picture;
    if (!picture->queue_count)
        return;
    begin_table(out, "queues", "Queues", columns);
    for (size_t i = 0; i < picture->queue_count; i++) {
        const ki_queue_row *row = &picture->queues[i];
        bool is_long = row->longest_s > LONG_RUN_S;
        begin_row(out, ki_picture_is_failing(row) ? "bad" : is_long || row->failure.key[0] ? "warn" : "ok", row->name);
        append_depth(page, row, out);
        append_number(out, "Running", row->running, ki_text_count);
        begin_cell(out, "Longest running", true);
        append(out, is_long ? "<span class=\"state\">! " : "<span>");
        append_whole(out, row->longest_s, ki_text_duration);
        append(out, "</span></td>\n");
        append_number(out, "Reconciles", row->reconciles, ki_text_count);
        append_number(out, "Errors", row->errors, ki_text_count);
        append_number(out, "Retries", row->retries, ki_text_count);
        begin_cell(out, "Failing keys", true);
        append(out, ki_picture_is_failing(row) ? "<span class=\"state\">! " : "<span>");
        ki_text_count(out, row->failing);
        append(out, "</span></td>");
        append_failure(&row->failure, out);
        end_row(out);
    }
    end_table(out);
}

/* --- leaders ------------------------------------------------------------------------------------------------------ */

/* Returns true if the elector led at an earlier sample, and does not lead now. */
static bool has_lost(const ki_elector_row *row, const ki_history_values *values) {
    return !row->leads && ki_chart_most(values) > 0;
}

static void append_elector(const ki_page *page, const ki_elector_row *row, ki_buffer *out) {
    char description[DESCRIPTION_SIZE];
    ki_history_values values;
    int led = 0, known = 0;
    ki_history_read(page->history, KI_HISTORY_ELECTOR, row->identity, &values);
    for (size_t i = 0; i < KI_HISTORY_SAMPLES; i++) {
        led += values.at[i] > 0;
        known += !(values.at[i] < 0);
    }
    bool is_lost = has_lost(row, &values);
    begin_row(out, row->leads ? "ok" : is_lost ? "warn" : "wait", row->name);
    begin_cell(out, "This process", false);
    ki_buffer_printf(out, "<span class=\"state\">%s</span></td>\n",
                     row->leads ? "✔ leads"
                     : is_lost  ? "! has lost the Lease"
                                : "… waits");
    begin_cell(out, "Leader", false);
    ki_text_html(out, row->leader[0] ? row->leader : "nobody");
    append(out, "</td>\n");
    begin_cell(out, "The last 15 minutes", false);
    snprintf(description, sizeof description, "led in %d of %d samples of the last 15 minutes", led, known);
    ki_chart_band(out, &values, description);
    append(out, "</td>");
    end_row(out);
}

static void append_elector_table(const ki_page *page, ki_buffer *out) {
    static const char *const columns[] = { "Lease", "This process", "Leader", "The last 15 minutes", NULL };
    const ki_picture *picture = page->picture;
    if (!picture->elector_count)
        return;
    begin_table(out, "leaders", "Leaders", columns);
    for (size_t i = 0; i < picture->elector_count; i++)
        append_elector(page, &picture->electors[i], out);
    end_table(out);
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

void ki_page_write(const ki_page *page, ki_buffer *out) {
    append_head(page, out);
    append(out, "<main id=\"live\" tabindex=\"-1\">\n");
    append_elector_table(page, out);
    append_queue_table(page, out);
    append_informer_table(page, out);
    append_charts(page, out); /* wide windows show them first */
    append(out,
           "</main>\n<footer class=\"muted\">\n<p><a href=\"readyz?verbose\">readyz</a> <a href=\"livez\">livez</a> "
           "<a href=\"metrics\">metrics</a></p>\n<p>kinformer " KI_VERSION ", <span id=\"running\">running for ");
    ki_text_duration(out, page->running_s);
    append(out, "</span></p>\n</footer>\n</body>\n</html>\n");
}
