/* test_list_memory.c: a list counts in the account of all informers while it arrives, and no longer. */
#include "src/cache/informer/informer_parts.h"
#include "tests/support/informer_stage.h"

/* A first list of two objects, of which the second one exceeds the limit. */
static void exceed_limit(stage *s, ki_memory_account *account) {
    const ki_shared_informer_options options = { .given = { .no_streaming_list = true }, .account = account };
    assert_int_equal(open_stage_with(s, options, NULL), KI_OK);
    start_stage(s);
    play_each(s, "a=5");
    assert_false(atomic_load(&account->is_over));
    account->limit = account->expected + 1;
    play_each(s, "b=6");
    assert_true(account->expected > account->limit);
    assert_true(atomic_load(&account->is_over));
}

TEST(a_list_that_fails_is_no_more_above_the_limit) {
    stage s;
    ki_memory_account account = { .limit = SIZE_MAX };
    exceed_limit(&s, &account);
    play_each(&s, "fail cut");
    assert_int_equal(account.expected, 0);
    assert_false(atomic_load(&account.is_over));
    close_stage(&s);
    assert_int_equal(atomic_load(&account.bytes), 0);
}
