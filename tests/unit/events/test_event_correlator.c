/* What becomes of records before they are sent as core/v1 Events: the cases of client-go's events_cache_test.go, and
 * the borders. */
#include "controllers/events/event_correlator.h"

#include "src/base/memory.h"
#include "src/engine/engine.h"
#include "tests/support/event_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define WALL KI_SECONDS(1767323045)

/* A correlator and its time. */
typedef struct play {
    ki_event_correlator correlator;
    int64_t now_ns;
} play;

static void open_play(play *p) {
    p->now_ns = KI_SECONDS(1000);
    ki_event_correlator_init(&p->correlator, &ki_allocator_default, 1);
}

static void close_play(play *p) {
    ki_event_correlator_free(&p->correlator);
}

static ki_event_outcome tell(play *p, const char *name, const char *type, const char *reason, const char *message) {
    int64_t wall_ns = WALL + p->now_ns;
    ki_event_record *record = event_record_of(name, type, reason, message, wall_ns);
    ki_event_outcome outcome = ki_event_correlate(&p->correlator, record, p->now_ns, wall_ns + 5);
    ki_free(&ki_allocator_default, record);
    return outcome;
}

/* Tells of the object a with a message for each number. */
static ki_event_outcome tell_number(play *p, const char *reason, int number) {
    char message[32];
    snprintf(message, sizeof message, "message %d", number);
    return tell(p, "a", "Normal", reason, message);
}

/* `before` records come before the last one: equal to it, with other messages, or about other objects and of other
 * reasons. */
TEST(a_record_is_counted_combined_or_filtered_by_what_came_before) {
    static const struct {
        const char *name;
        char kind; /* 'e' equal, 's' similar, 'u' unlike */
        int before;
        int seconds; /* between two */
        bool filtered, combined;
        int32_t count;
    } cases[] = {
        { "a single event", 'e', 0, 5, false, false, 1 },
        { "the same event counts", 'e', 1, 5, false, false, 2 },
        { "the same event counts, however often", 'e', 10, 30, false, false, 11 },
        { "the last of a burst", 'e', 24, 1, false, false, 25 },
        { "the same event too often", 'e', 25, 1, true, false, 26 },
        { "the same event far too often", 'e', 26, 1, true, false, 27 },
        { "many unlike events", 'u', 30, 5, false, false, 1 },
        { "similar events, not too many", 's', 8, 5, false, false, 1 },
        { "similar events are combined", 's', 9, 5, false, true, 1 },
        { "combined events count", 's', 10, 5, false, true, 2 },
        { "similar events, ten minutes apart, are combined", 's', 9, 600, false, true, 1 },
        { "similar events, more than ten minutes apart, are not", 's', 9, 601, false, false, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        play p;
        open_play(&p);
        for (int n = 0; n < cases[i].before; n++) {
            char name[32] = "a", reason[32] = "Reason";
            if (cases[i].kind == 'u') {
                snprintf(name, sizeof name, "a%d", n);
                snprintf(reason, sizeof reason, "Reason%d", n);
            }
            if (cases[i].kind == 's')
                (void)tell_number(&p, reason, n);
            else
                (void)tell(&p, name, "Normal", reason, "message");
            p.now_ns += KI_SECONDS(cases[i].seconds);
        }
        ki_event_outcome outcome = tell(&p, "a", "Normal", "Reason", "message");
        close_play(&p);
        if (outcome.is_filtered != cases[i].filtered || outcome.is_combined != cases[i].combined ||
            outcome.count != cases[i].count)
            fail_msg("%s: filtered %d, combined %d, count %d", cases[i].name, outcome.is_filtered, outcome.is_combined,
                     outcome.count);
    }
}

TEST(only_the_message_may_differ_in_what_is_combined) {
    static const struct {
        const char *name, *type, *reason;
        bool combined;
    } cases[] = {
        { "a", "Normal", "Reason", true },
        { "b", "Normal", "Reason", false },
        { "a", "Warning", "Reason", false },
        { "a", "Normal", "Other", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        play p;
        open_play(&p);
        for (int n = 0; n < 9; n++)
            assert_false(tell_number(&p, "Reason", n).is_combined);
        ki_event_outcome outcome = tell(&p, cases[i].name, cases[i].type, cases[i].reason, "one more");
        assert_int_equal(outcome.is_combined, cases[i].combined);
        close_play(&p);
    }
}

TEST(a_message_that_was_sent_before_is_not_combined_later) {
    play p;
    open_play(&p);
    for (int n = 0; n < 12; n++)
        assert_int_equal(tell_number(&p, "Reason", n).is_combined, n >= 9);
    ki_event_outcome outcome = tell_number(&p, "Reason", 3);
    assert_false(outcome.is_combined);
    assert_int_equal(outcome.count, 2);
    close_play(&p);
}

TEST(a_counted_event_keeps_its_name_and_first_time) {
    play p;
    open_play(&p);
    ki_event_outcome first = tell(&p, "a", "Normal", "Reason", "message");
    p.now_ns += KI_SECONDS(7);
    ki_event_outcome second = tell(&p, "a", "Normal", "Reason", "message");
    assert_int_equal(first.first_ns, first.last_ns);
    assert_int_equal(second.name_ns, first.name_ns);
    assert_int_equal(second.first_ns, first.first_ns);
    assert_int_equal(second.last_ns, first.last_ns + KI_SECONDS(7));
    close_play(&p);
}

TEST(a_combined_event_has_a_name_and_times_of_its_own) {
    play p;
    open_play(&p);
    for (int n = 0; n < 9; n++)
        (void)tell_number(&p, "Reason", n);
    p.now_ns += KI_SECONDS(3);
    ki_event_outcome first = tell_number(&p, "Reason", 10);
    p.now_ns += KI_SECONDS(4);
    ki_event_outcome second = tell_number(&p, "Reason", 11);
    assert_int_equal(first.name_ns, WALL + KI_SECONDS(1003));
    assert_int_equal(first.first_ns, WALL + KI_SECONDS(1003) + 5);
    assert_int_equal(first.last_ns, first.first_ns);
    assert_int_equal(second.name_ns, first.name_ns);
    assert_int_equal(second.first_ns, first.first_ns);
    assert_int_equal(second.last_ns, first.first_ns + KI_SECONDS(4));
    close_play(&p);
}

TEST(one_more_passes_every_five_minutes_with_the_whole_count) {
    play p;
    open_play(&p);
    for (int n = 0; n < 30; n++)
        assert_int_equal(tell(&p, "a", "Normal", "Reason", "message").is_filtered, n >= 25);
    p.now_ns += KI_SECONDS(299);
    assert_true(tell(&p, "a", "Normal", "Reason", "message").is_filtered);
    p.now_ns += KI_SECONDS(1);
    ki_event_outcome outcome = tell(&p, "a", "Normal", "Reason", "message");
    assert_false(outcome.is_filtered);
    assert_int_equal(outcome.count, 32);
    assert_true(tell(&p, "a", "Normal", "Reason", "message").is_filtered);
    close_play(&p);
}

TEST(the_burst_is_of_one_object_and_type_whatever_the_reason) {
    static const struct {
        const char *name, *type, *reason;
        bool filtered;
    } cases[] = {
        { "a", "Normal", "Reason", true },
        { "a", "Normal", "Other", true },
        { "a", "Warning", "Reason", false },
        { "b", "Normal", "Reason", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        play p;
        open_play(&p);
        for (int n = 0; n < 25; n++)
            (void)tell(&p, "a", "Normal", "Reason", "message");
        ki_event_outcome outcome = tell(&p, cases[i].name, cases[i].type, cases[i].reason, "message");
        assert_int_equal(outcome.is_filtered, cases[i].filtered);
        close_play(&p);
    }
}

TEST(its_memory_is_bounded_under_any_load) {
    enum {
        MAP = KI_EVENT_CACHE_MAX / 1024 + 2 /* allocations of a map with so many keys: parts, and their array */
    };
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX - 1);
    play p = { .now_ns = KI_SECONDS(1000) };
    ki_event_correlator_init(&p.correlator, &memory.allocator, 1);
    for (int n = 0; n < KI_EVENT_CACHE_MAX + 500; n++) {
        char name[32];
        snprintf(name, sizeof name, "a%d", n);
        assert_int_equal(tell(&p, name, "Normal", "Reason", "message").count, 1);
    }
    assert_true(scarce_memory_in_use(&memory) <= (size_t)3 * (KI_EVENT_CACHE_MAX + MAP));
    assert_int_equal(tell(&p, "a0", "Normal", "Reason", "message").count, 1);    /* forgotten */
    assert_int_equal(tell(&p, "a4000", "Normal", "Reason", "message").count, 2); /* remembered */
    close_play(&p);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(without_memory_each_record_is_new) {
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    memory.forever = true;
    play p = { .now_ns = KI_SECONDS(1000) };
    ki_event_correlator_init(&p.correlator, &memory.allocator, 1);
    for (int n = 0; n < 30; n++) {
        ki_event_outcome outcome = tell_number(&p, "Reason", n / 2);
        assert_int_equal(outcome.count, 1);
        assert_false(outcome.is_filtered);
        assert_false(outcome.is_combined);
    }
    close_play(&p);
}
