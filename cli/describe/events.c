/* events.c: the table of an object's Events. */
#include "describe.h"
#include "values.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    INTERVAL_SIZE = 2 * AGE_SIZE + 64
};

/* An Event and its place in the list. */
typedef struct placed {
    yyjson_val *event;
    const char *last; /* in UTC and without fractions, so that texts are in the order of times */
    size_t place;
} placed;

static int by_last_time(const void *a, const void *b) {
    const placed *left = a, *right = b;
    int order = strcmp(left->last, right->last);
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

/* Writes when the Event was seen: "5m", or "3s (x12 over 5m)". */
static void write_interval(const description *d, yyjson_val *event, char text[INTERVAL_SIZE]) {
    char first[AGE_SIZE], last[AGE_SIZE];
    yyjson_val *time = value_at(event, "eventTime"), *series = value_at(event, "series");
    int64_t count = series ? integer_at(series, "count") : integer_at(event, "count");
    age_text(time ? time : value_at(event, "firstTimestamp"), d->now_ms, first);
    age_text(value_at(event, series ? "series.lastObservedTime" : "lastTimestamp"), d->now_ms, last);
    if (series || count > 1)
        snprintf(text, INTERVAL_SIZE, "%s (x%" PRId64 " over %s)", last, count, first);
    else
        snprintf(text, INTERVAL_SIZE, "%s", first);
}

static void write_event(const description *d, yyjson_val *event, sheet *s) {
    char interval[INTERVAL_SIZE];
    const char *source = text_at(event, "source.component"), *field = text_at(event, "involvedObject.fieldPath");
    const char *message = text_at(event, "message");
    while (isspace((unsigned char)*message))
        message++;
    size_t size = strlen(message);
    while (size && isspace((unsigned char)message[size - 1]))
        size--;
    write_interval(d, event, interval);
    sheet_write(s, 1, "%s\t%s\t%s\t%s\t%s%s%.*s\n", text_at(event, "type"), text_at(event, "reason"), interval,
                *source ? source : text_at(event, "reportingComponent"), field, *field ? ": " : "", (int)size, message);
}

void describe_events(const description *d, sheet *s) {
    placed *sorted = d->events.count ? malloc(d->events.count * sizeof *sorted) : NULL;
    if (!d->events.count) {
        sheet_write(s, 0, "Events:\t<none>\n");
        return;
    }
    sheet_begin_part(s);
    sheet_write(s, 0, "Events:\n  Type\tReason\tAge\tFrom\tMessage\n");
    sheet_write(s, 1, "----\t------\t----\t----\t-------\n");
    s->has_failed |= !sorted;
    for (size_t i = 0; sorted && i < d->events.count; i++)
        sorted[i] = (placed){ d->events.items[i], text_at(d->events.items[i], "lastTimestamp"), i };
    if (sorted)
        qsort(sorted, d->events.count, sizeof *sorted, by_last_time);
    for (size_t i = 0; sorted && i < d->events.count; i++)
        write_event(d, sorted[i].event, s);
    free(sorted);
}
