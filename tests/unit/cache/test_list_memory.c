/* test_list_memory.c: a list counts in the account of all informers while it arrives, and no longer; who ends wakes
 * those who waited for its packing. */
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

static void count_call(void *user) {
    ++*(unsigned *)user;
}

TEST(an_informer_that_ends_while_it_packs_wakes_those_who_wait_for_it) {
    for (unsigned packs = 0; packs < 2; packs++) {
        stage s;
        unsigned calls = 0;
        ki_memory_account account = { .limit = SIZE_MAX };
        ki_memory_member other = { .on_change = count_call, .user = &calls };
        assert_int_equal(open_stage_with(&s, (ki_shared_informer_options){ .account = &account }, NULL), KI_OK);
        start_stage(&s);
        other.next = account.first;
        account.first = &other;
        s.informer->member.packs = packs;
        ki_informer_leave_account(s.informer);
        assert_int_equal(calls, packs);
        assert_ptr_equal(account.first, &other);
        assert_null(other.next);
        close_stage(&s);
    }
}
