/* metrics_library.c: see metrics_library.h. */
#include "tests/support/metrics_library.h"

#include "tests/support/test.h"

#include <stdio.h>
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
