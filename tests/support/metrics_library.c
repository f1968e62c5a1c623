/* metrics_library.c: see metrics_library.h. */
#include "tests/support/metrics_library.h"

#include "tests/support/test.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static metrics_series *series_of(metrics_library *self, const ki_sample *sample) {
    char name[sizeof self->series->name];
    int used = snprintf(name, sizeof name, "%s", sample->metric->name);
    for (size_t i = 0; i < sample->label_count; i++)
        used += snprintf(name + used, sizeof name - (size_t)used, "/%s", sample->labels[i].value);
    size_t at = 0;
    while (at < self->series_count && strcmp(self->series[at].name, name) != 0)
        at++;
    assert_true(at < sizeof self->series / sizeof *self->series);
    if (at == self->series_count)
        strcpy(self->series[self->series_count++].name, name);
    return &self->series[at];
}

static void check_buckets(const ki_sample *sample) {
    uint64_t below = 0;
    for (size_t i = 0; i < sample->metric->bound_count; i++) {
        assert_true(below <= sample->buckets[i] && sample->buckets[i] <= sample->count);
        below = sample->buckets[i];
    }
    assert_int_equal(sample->buckets != NULL, sample->metric->type == KI_METRIC_HISTOGRAM);
}

void metrics_library_visit(const ki_sample *sample, void *library) {
    metrics_library *self = library;
    const ki_metric *metric = sample->metric;
    metrics_series *series = series_of(self, sample), before = *series;
    char note[256] = "";
    check_buckets(sample);
    if (self->on_sample)
        self->on_sample(sample, self->user);
    series->value = sample->value;
    series->count = sample->count;
    double grown = sample->value - before.value;
    uint64_t observed = sample->count - before.count;
    if (metric->type == KI_METRIC_GAUGE && self->has_gauges)
        snprintf(note, sizeof note, "=%g", sample->value);
    else if (metric->type == KI_METRIC_COUNTER && grown > 0)
        snprintf(note, sizeof note, "+%g", grown);
    else if (observed == 1)
        snprintf(note, sizeof note, "~%g", grown);
    else if (observed > 1)
        snprintf(note, sizeof note, "~%d:%g", (int)observed, grown);
    if (!note[0])
        return;
    bool has_own = sample->label_count > self->common_labels;
    size_t used = strlen(self->notes);
    snprintf(self->notes + used, sizeof self->notes - used, "%s%s%s%s%s", used ? " " : "", metric->name,
             has_own ? "/" : "", has_own ? sample->labels[sample->label_count - 1].value : "", note);
}

void metrics_library_expect(metrics_library *self, const char *notes) {
    assert_string_equal(self->notes, notes);
    self->notes[0] = '\0';
}

/* --- a strict reader of OpenMetrics ------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at;
    char family[128], type[16];
    char families[65536], samples[65536];
} reader;

static void need(const reader *r, bool ok, const char *what) {
    if (!ok)
        fail_msg("%s at: %.80s", what, r->at);
}

static void take(reader *r, const char *text) {
    need(r, strncmp(r->at, text, strlen(text)) == 0, text);
    r->at += strlen(text);
}

static void take_name(reader *r, char *to, size_t size) {
    size_t used = 0;
    need(r, isalpha((unsigned char)*r->at) || *r->at == '_', "a name");
    while (isalnum((unsigned char)*r->at) || *r->at == '_') {
        assert_true(used + 1 < size);
        to[used++] = *r->at++;
    }
    to[used] = '\0';
}

static void take_family(reader *r) {
    char line[256], unit[32];
    take(r, "# TYPE ");
    take_name(r, r->family, sizeof r->family);
    take(r, " ");
    take_name(r, r->type, sizeof r->type);
    need(r,
         !strcmp(r->type, "counter") || !strcmp(r->type, "gauge") || !strcmp(r->type, "summary") ||
             !strcmp(r->type, "histogram"),
         "a type");
    snprintf(line, sizeof line, "\n%s\n", r->family);
    need(r, !strstr(r->families, line), "a family once");
    strncat(r->families, line, sizeof r->families - strlen(r->families) - 1);
    need(r, !strstr(r->family, "_total"), "a counter's family has no _total");
    if (strncmp(r->at, "\n# UNIT ", 8) == 0) {
        take(r, "\n# UNIT ");
        take(r, r->family);
        take(r, " ");
        take_name(r, unit, sizeof unit);
        const char *end = strstr(r->family, unit);
        need(r, end && end[-1] == '_' && !end[strlen(unit)], "a name that ends with its unit");
    }
    take(r, "\n# HELP ");
    take(r, r->family);
    take(r, " ");
    need(r, *r->at != '\n', "a help");
    while (*r->at != '\n')
        need(r, *r->at++ != '\0', "an end of line");
    take(r, "\n");
}

static void take_labels(reader *r) {
    char name[64];
    take(r, "{");
    do {
        take_name(r, name, sizeof name);
        take(r, "=\"");
        for (; *r->at != '"'; r->at++) {
            need(r, *r->at != '\n' && *r->at != '\0', "no raw newline");
            if (*r->at == '\\')
                need(r, strchr("\\\"n", *++r->at) != NULL, "an escape");
        }
        take(r, "\"");
    } while (*r->at == ',' && r->at++);
    take(r, "} ");
}

static void take_number(reader *r) {
    need(r, isdigit((unsigned char)*r->at), "a number");
    while (isdigit((unsigned char)*r->at))
        r->at++;
    if (*r->at != '.')
        return;
    r->at++;
    need(r, isdigit((unsigned char)*r->at), "a fraction");
    while (isdigit((unsigned char)*r->at))
        r->at++;
}

static void take_sample(reader *r) {
    const char *begin = r->at;
    char line[1024];
    take(r, r->family);
    if (strcmp(r->type, "counter") == 0)
        take(r, "_total");
    else if (strcmp(r->type, "summary") == 0)
        take(r, r->at[1] == 's' ? "_sum" : "_count");
    else if (strcmp(r->type, "histogram") == 0)
        take(r, r->at[1] == 's' ? "_sum" : r->at[1] == 'c' ? "_count" : "_bucket");
    take_labels(r);
    snprintf(line, sizeof line, "\n%.*s", (int)(r->at - begin), begin);
    need(r, !strstr(r->samples, line), "a series once");
    assert_true(strlen(r->samples) + strlen(line) < sizeof r->samples);
    strcat(r->samples, line);
    take_number(r);
    take(r, "\n");
}

void openmetrics_read_strictly(const char *text) {
    reader *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->at = text;
    while (strncmp(r->at, "# EOF", 5) != 0) {
        take_family(r);
        while (*r->at != '#')
            take_sample(r);
    }
    take(r, "# EOF\n");
    assert_int_equal(*r->at, '\0');
    free(r);
}
