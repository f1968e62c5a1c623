/* Which Events of events.k8s.io/v1 are open, which are due to be written, and which are forgotten. */
#include "controllers/events/event_series.h"

#include "src/base/memory.h"
#include "src/engine/engine.h"
#include "tests/support/event_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define NOW KI_SECONDS(1000)

/* Notes a record about an object, and frees it where its entry has another one. */
static ki_event_entry *note(ki_event_series *series, const char *name, int64_t now_ns) {
    ki_event_record *record = event_record_of(name, "Normal", "R", "m", now_ns);
    ki_event_entry *entry = ki_event_series_note(series, record, now_ns, now_ns + 5);
    if (!entry || entry->first != record)
        ki_free(&ki_allocator_default, record);
    return entry;
}

static void open_series(ki_event_series *series) {
    ki_event_series_init(series, &ki_allocator_default, 1);
}

/* Takes what is due, and returns how many of `due` were. */
static int take_all(ki_event_series *series, int64_t now_ns, ki_event_due due) {
    ki_event_due what;
    int count = 0;
    while (ki_event_series_take_due(series, now_ns, &what))
        count += what == due;
    return count;
}

TEST(an_entry_counts_what_says_the_same) {
    ki_event_series series;
    open_series(&series);
    ki_event_entry *entry = note(&series, "a", NOW);
    assert_int_equal(entry->count, 1);
    assert_ptr_equal(note(&series, "a", NOW + 1), entry);
    assert_int_equal(entry->count, 2);
    assert_int_equal(entry->last_wall_ns, NOW + 6);
    assert_int_equal(entry->last_ns, NOW + 1);
    assert_int_equal(entry->first->wall_ns, NOW);
    assert_int_equal(note(&series, "b", NOW)->count, 1);
    ki_event_series_free(&series);
}

/* The key is client-go's: all but the note. */
TEST(only_the_message_may_differ_within_a_series) {
    ki_object *a = make_object_from_json("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}");
    ki_object *a2 = make_object_from_json("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"2\"}}");
    const struct {
        ki_record given;
        bool same;
    } cases[] = {
        { KI_RECORD(.obj = a, .type = "Normal", .reason = "R", .action = "A", .message = "m"), true },
        { KI_RECORD(.obj = a, .type = "Normal", .reason = "R", .action = "A", .message = "other"), true },
        { KI_RECORD(.obj = a2, .type = "Normal", .reason = "R", .action = "A", .message = "m"), false },
        { KI_RECORD(.obj = a, .related = a, .type = "Normal", .reason = "R", .action = "A"), false },
        { KI_RECORD(.obj = a, .type = "Warning", .reason = "R", .action = "A", .message = "m"), false },
        { KI_RECORD(.obj = a, .type = "Normal", .reason = "R2", .action = "A", .message = "m"), false },
        { KI_RECORD(.obj = a, .type = "Normal", .reason = "R", .action = "A2", .message = "m"), false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_event_series series;
        open_series(&series);
        ki_event_record *first = NULL, *second = NULL;
        assert_int_equal(ki_event_record_new(&ki_allocator_default, &cases[0].given, 1, &first), KI_OK);
        assert_int_equal(ki_event_record_new(&ki_allocator_default, &cases[i].given, 1, &second), KI_OK);
        ki_event_entry *entry = ki_event_series_note(&series, first, NOW, NOW);
        assert_int_equal(ki_event_series_note(&series, second, NOW, NOW) == entry, cases[i].same);
        if (cases[i].same)
            ki_free(&ki_allocator_default, second);
        ki_event_series_free(&series);
    }
    ki_object_unref(a);
    ki_object_unref(a2);
}

TEST(a_refresh_is_for_series_alone) {
    ki_event_series series;
    open_series(&series);
    note(&series, "single", NOW);
    note(&series, "series", NOW);
    note(&series, "series", NOW);
    assert_int_equal(take_all(&series, NOW, KI_EVENT_REFRESH_DUE), 0);
    ki_event_series_refresh(&series);
    assert_int_equal(take_all(&series, NOW, KI_EVENT_REFRESH_DUE), 1);
    assert_int_equal(take_all(&series, NOW, KI_EVENT_REFRESH_DUE), 0);
    ki_event_series_free(&series);
}

TEST(what_has_ended_is_finished_or_forgotten) {
    static const int64_t end = KI_SECONDS(KI_EVENT_SERIES_END_SECONDS);
    ki_event_series series;
    open_series(&series);
    note(&series, "old single", NOW);
    note(&series, "old series", NOW);
    note(&series, "old series", NOW);
    note(&series, "new single", NOW + 1);
    note(&series, "new series", NOW + 1);
    note(&series, "new series", NOW + 1);
    ki_event_series_finish(&series, NOW + end);
    assert_int_equal(take_all(&series, NOW + end, KI_EVENT_FINISH_DUE), 0);
    assert_int_equal(series.open.map.count, 4);
    ki_event_series_finish(&series, NOW + end + 1);
    assert_int_equal(series.open.map.count, 3);
    ki_event_due due;
    ki_event_entry *entry = ki_event_series_take_due(&series, NOW + end + 1, &due);
    assert_int_equal(due, KI_EVENT_FINISH_DUE);
    assert_string_equal(entry->first->regarding.name, "old series");
    ki_event_series_forget(&series, entry);
    assert_null(ki_event_series_take_due(&series, NOW + end + 1, &due));
    assert_int_equal(series.open.map.count, 2);
    ki_event_series_free(&series);
}

TEST(a_series_that_continues_is_not_finished) {
    static const int64_t later = NOW + KI_SECONDS(KI_EVENT_SERIES_END_SECONDS) + 1;
    ki_event_series series;
    open_series(&series);
    note(&series, "a", NOW);
    note(&series, "a", NOW);
    ki_event_series_finish(&series, later);
    note(&series, "a", later);
    assert_int_equal(take_all(&series, later, KI_EVENT_FINISH_DUE), 0);
    ki_event_series_free(&series);
}

TEST(only_so_many_are_open) {
    ki_event_series series;
    open_series(&series);
    for (int i = 0; i < KI_EVENT_SERIES_MAX + 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "a%d", i);
        note(&series, name, NOW);
    }
    assert_int_equal(series.open.map.count, KI_EVENT_SERIES_MAX);
    assert_int_equal(note(&series, "a9", NOW)->count, 1);
    assert_int_equal(note(&series, "a100", NOW)->count, 2);
    ki_event_series_free(&series);
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_event_series series;
        ki_event_series_init(&series, &memory.allocator, 1);
        for (int i = 0; i < 20; i++) {
            char name[32];
            snprintf(name, sizeof name, "a%d", i);
            ki_event_record *record = event_record_of(name, "Normal", "R", "m", NOW);
            ki_event_entry *entry = ki_event_series_note(&series, record, NOW, NOW);
            if (entry)
                entry->first = NULL; /* it is malloc's */
            ki_free(&ki_allocator_default, record);
        }
        ki_event_series_free(&series);
    }
}
