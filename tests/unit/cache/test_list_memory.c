/* test_list_memory.c: a list counts in the account of all informers while it arrives, and no longer; who ends wakes
 * those who waited for its packing. */
#include "src/cache/informer/informer_parts.h"
#include "tests/support/informer_stage.h"

#include <stdio.h>

/* Opens a first list of two objects, of which the second one exceeds the limit. */
static void open_list(stage *s, ki_memory_account *account, bool is_plain) {
    const ki_shared_informer_options options = { .given = { .no_streaming_list = is_plain }, .account = account };
    *account = (ki_memory_account){ .limit = SIZE_MAX };
    assert_int_equal(open_stage_with(s, options, NULL), KI_OK);
    start_stage(s);
    play_each(s, is_plain ? "a=5" : "open; +a=5");
    account->limit = account->expected * 3 / 2;
    assert_false(ki_memory_account_is_over(account));
    play_each(s, is_plain ? "b=6" : "+b=6");
    assert_true(account->expected > account->limit);
    assert_true(ki_memory_account_is_over(account));
}

TEST(a_list_that_fails_is_no_more_above_the_limit) {
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        stage s;
        ki_memory_account account;
        open_list(&s, &account, is_plain);
        play_each(&s, "fail cut");
        assert_int_equal(account.expected, 0);
        assert_false(ki_memory_account_is_over(&account));
        close_stage(&s);
        assert_int_equal(atomic_load(&account.bytes), 0);
    }
}

TEST(a_list_that_becomes_smaller_as_it_arrives_is_no_more_above_the_limit) {
    stage s;
    ki_memory_account account;
    open_list(&s, &account, false);
    play_each(&s, "-b=7; ~a=8");
    assert_true(account.expected > 0);
    assert_false(ki_memory_account_is_over(&account));
    close_stage(&s);
}

/* Fails unless all that is counted of the informer is in its store. */
static void expect_stored(const stage *s, const ki_memory_account *account) {
    assert_int_equal(account->expected, 0);
    assert_int_equal(atomic_load(&account->bytes), ki_informer_object_bytes(s->informer));
}

static void queue_events(stage *s, const char *text) {
    noted_change noted[NOTATION_LIST];
    size_t count = notation_read_changes(text, noted);
    for (size_t i = 0; i < count; i++) {
        const ki_change change = { .type = noted[i].sign == '-' ? KI_EVENT_DELETE : KI_EVENT_UPDATE,
                                   .obj = notation_object(&noted[i]) };
        assert_int_equal(ki_queue_put(s->informer->queue, &change, NULL), KI_OK);
        ki_object_unref(change.obj);
    }
}

/* Five objects are new, and are deleted while the list waits; all others are deleted by the list. */
TEST(a_later_list_is_counted_until_it_is_stored_though_the_queue_is_never_empty) {
    static const char *const first_lists[] = { "{10: a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1}; open",
                                               "{10: a=1}; open" };
    for (unsigned round = 0; round < 4; round++) {
        stage s;
        ki_memory_account account = { .limit = SIZE_MAX };
        const ki_shared_informer_options options = { .given = { .no_streaming_list = true }, .account = &account };
        queue_kind = round % 2 ? KI_QUEUE_DELTA_FIFO : KI_QUEUE_IN_ORDER;
        assert_int_equal(open_stage_with(&s, options, NULL), KI_OK);
        start_stage(&s);
        play_each(&s, first_lists[round / 2]);
        expect_stored(&s, &account);
        size_t before = atomic_load(&account.bytes), object = before / (round < 2 ? 10 : 1);
        play_each(&s, "error 410; wait 60000");
        play(&s, "{20: k=15 l=15 m=15 n=15 o=15}");
        queue_events(&s, "-k=21 -l=22 -m=23 -n=24 -o=25 +y=26 +z=27");
        for (unsigned i = 0; i < 60; i++) {
            char event[32];
            snprintf(event, sizeof event, "~%c=%u", i % 2 ? 'y' : 'z', 30 + i);
            queue_events(&s, event);
            assert_int_equal(ki_informer_step(s.informer, NULL), KI_OK);
            assert_true(ki_memory_account_bytes(&account) < before + 8 * object);
        }
        assert_int_equal(health_of(&s).objects, 2);
        expect_stored(&s, &account);
        close_stage(&s);
    }
    queue_kind = KI_QUEUE_IN_ORDER;
}

static ki_status count_step(void *user, ki_error *err) {
    ++*(unsigned *)user;
    return ki_error_set(err, KI_ERR_NOT_FOUND, "nothing to do");
}

TEST(an_informer_that_ends_while_it_packs_wakes_those_who_wait_for_it) {
    for (unsigned packs = 0; packs < 2; packs++) {
        stage s;
        unsigned steps = 0;
        ki_memory_account account = { .limit = SIZE_MAX };
        ki_informer other = { .owner = NULL };
        assert_int_equal(open_stage_with(&s, (ki_shared_informer_options){ .account = &account }, NULL), KI_OK);
        start_stage(&s);
        const ki_step_loop_options options = { .engine = s.engine.engine, .step = count_step, .user = &steps };
        ki_step_loop_open(&other.step_loop, &options);
        other.next_in_account = account.first;
        account.first = &other;
        s.informer->packing = packs ? KI_PACKS_STORE : KI_HAS_PACKED;
        ki_informer_leave_account(s.informer);
        settle(&s);
        assert_int_equal(steps, packs);
        assert_ptr_equal(account.first, &other);
        assert_null(other.next_in_account);
        ki_step_loop_close(&other.step_loop);
        close_stage(&s);
    }
}
