/* metrics_library.c: see metrics_library.h. */
#include "tests/support/metrics_library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void note(metrics_library *self, char sign, const ki_metric *metric, const ki_label *labels, size_t count,
                 double value) {
    size_t used = strlen(self->notes);
    self->on_note(metric, labels, count, self->user);
    snprintf(self->notes + used, sizeof self->notes - used, "%s%s%s%s%c%g", used ? " " : "", metric->name,
             metric->label ? "/" : "", metric->label ? labels[count - 1].value : "", sign, value);
}

static void on_counter(const ki_metric *metric, const ki_label *labels, size_t count, double by, void *user) {
    assert_int_equal(metric->type, KI_METRIC_COUNTER);
    note(user, '+', metric, labels, count, by);
}

static void on_observe(const ki_metric *metric, const ki_label *labels, size_t count, double value, void *user) {
    assert_int_equal(metric->type, KI_METRIC_SUMMARY);
    note(user, '~', metric, labels, count, value);
}

static void on_gauge(const ki_metric *metric, const ki_label *labels, size_t count, double value, void *user) {
    assert_int_equal(metric->type, KI_METRIC_GAUGE);
    note(user, '=', metric, labels, count, value);
}

ki_metrics metrics_library_functions(metrics_library *self) {
    return (ki_metrics){ on_counter, on_observe, on_gauge, self };
}

void metrics_library_expect(metrics_library *self, const char *notes) {
    assert_string_equal(self->notes, notes);
    self->notes[0] = '\0';
}
