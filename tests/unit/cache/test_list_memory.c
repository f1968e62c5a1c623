/* test_list_memory.c: a list counts in the account of all informers while it arrives, and no longer. */
#include "src/cache/informer/informer_parts.h"
#include "tests/support/informer_stage.h"

/* Opens a first list of two objects, of which the second one exceeds the limit. */
static void open_list(stage *s, ki_memory_account *account, bool is_plain) {
    const ki_shared_informer_options options = { .given = { .no_streaming_list = is_plain }, .account = account };
    *account = (ki_memory_account){ .limit = SIZE_MAX };
    assert_int_equal(open_stage_with(s, options, NULL), KI_OK);
    start_stage(s);
    play_each(s, is_plain ? "a=5" : "open; +a=5");
    account->limit = account->expected * 3 / 2;
    assert_false(atomic_load(&account->is_over));
    play_each(s, is_plain ? "b=6" : "+b=6");
    assert_true(account->expected > account->limit);
    assert_true(atomic_load(&account->is_over));
}

TEST(a_list_that_fails_is_no_more_above_the_limit) {
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        stage s;
        ki_memory_account account;
        open_list(&s, &account, is_plain);
        play_each(&s, "fail cut");
        assert_int_equal(account.expected, 0);
        assert_false(atomic_load(&account.is_over));
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
    assert_false(atomic_load(&account.is_over));
    close_stage(&s);
}
