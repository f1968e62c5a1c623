/* health_view.c: see health_view.h. */
#include "health_view.h"

#include "cli/output.h"

enum {
    OLD_MS = 150 * 1000 /* a quiet watch brings a bookmark each minute: two are missing */
};

static void write_seconds(int64_t ms, char text[32]) {
    if (ms < 10 * 1000)
        snprintf(text, 32, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
    else if (ms < 180 * 1000)
        snprintf(text, 32, "%lld s", (long long)(ms / 1000));
    else
        snprintf(text, 32, "%lld min", (long long)(ms / 60000));
}

static void draw_age(const ki_health *h, const char *before, canvas *c) {
    char age[32];
    if (h->staleness_ms < 0)
        return;
    write_seconds(h->staleness_ms, age);
    canvas_printf(c, h->staleness_ms > OLD_MS ? STYLE_WARNING : STYLE_PLAIN, "%sat most %s old", before, age);
}

static void draw_listing(const ki_health *h, canvas *c) {
    char listed[32], total[32];
    bool has_total = h->list_total >= 0;
    canvas_printf(c, h->cause.code ? STYLE_WARNING : STYLE_PLAIN, "listing: %s%s%s objects%s%s",
                  with_commas(h->listed, listed), has_total ? " of " : "",
                  has_total ? with_commas((unsigned long long)h->list_total, total) : "", h->message[0] ? ", " : "",
                  h->message);
}

/* The cause is last: it can be long. */
static void draw_failure(const ki_health *h, canvas *c) {
    char next[32];
    canvas_add(c, STYLE_BAD, ki_state_name(h->state), 0);
    if (h->retry_in_ms >= 0) {
        write_seconds(h->retry_in_ms, next);
        canvas_printf(c, STYLE_PLAIN, ", next try in %s", next);
    }
    draw_age(h, ", ", c);
    canvas_printf(c, STYLE_BAD, ": %s", h->message);
}

void health_draw(const tab *t, const char *server, canvas *c) {
    const ki_health *h = &t->health;
    char number[32];
    switch (h->state) {
    case KI_STATE_WATCHING:
        draw_age(h, "", c);
        canvas_printf(c, STYLE_PLAIN, ", %s changes a second", with_commas(tab_changes_a_second(t), number));
        if (h->message[0])
            canvas_printf(c, STYLE_WARNING, ", %s", h->message);
        break;
    case KI_STATE_LISTING:
        draw_listing(h, c);
        break;
    case KI_STATE_BACKING_OFF:
    case KI_STATE_BLOCKED:
        draw_failure(h, c);
        break;
    default:
        canvas_printf(c, h->cause.code ? STYLE_WARNING : STYLE_PLAIN, "connecting to %s%s%s", server,
                      h->message[0] ? ": " : "", h->message);
        draw_age(h, ", ", c);
    }
    if (h->unreadable)
        canvas_printf(c, STYLE_WARNING, ", %zu unreadable: %s", h->unreadable, h->unreadable_message);
}
