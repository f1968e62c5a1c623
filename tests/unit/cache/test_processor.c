/* test_processor.c: when the loop lets the threads of listeners run first. */
#include "src/base/memory.h"
#include "src/cache/listener/listener.h"
#include "tests/support/test.h"

enum {
    MUCH = 1000,
    STILL = 32
};

static bool outruns(ki_processor *processor, ki_listener *listener, bool has_thread, size_t waiting, size_t taken) {
    listener->has_thread = has_thread;
    atomic_store(&listener->waiting, waiting);
    atomic_fetch_add(&listener->taken, taken);
    return ki_processor_outruns(processor);
}

TEST(the_loop_outruns_a_thread_for_which_much_waits) {
    static const struct {
        bool has_thread;
        size_t waiting, taken;
        bool expected;
    } cases[] = {
        { true, MUCH, 1, true },       { true, MUCH - 1, 1, false }, { true, 0, 1, false },
        { false, MUCH * 9, 1, false }, { true, MUCH * 9, 5, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_processor processor;
        ki_listener quiet = { .has_thread = true }, listener = { .next = &quiet };
        ki_processor_init(&processor, &ki_allocator_default, 0);
        processor.first = &listener;
        assert_int_equal(outruns(&processor, &listener, cases[i].has_thread, cases[i].waiting, cases[i].taken),
                         cases[i].expected);
        ki_processor_free(&processor);
    }
}

TEST(a_thread_that_takes_nothing_waits_for_something_else_than_the_processor) {
    ki_processor processor;
    ki_listener listener = { .next = NULL };
    ki_processor_init(&processor, &ki_allocator_default, 0);
    processor.first = &listener;
    assert_true(outruns(&processor, &listener, true, MUCH, 1));
    for (int i = 1; i < STILL; i++)
        assert_true(outruns(&processor, &listener, true, MUCH, 0)); /* it may be ready to run */
    for (int i = 0; i < STILL; i++)
        assert_false(outruns(&processor, &listener, true, MUCH, 0));
    assert_true(outruns(&processor, &listener, true, MUCH, 1)); /* it runs again */
    ki_processor_free(&processor);
}
