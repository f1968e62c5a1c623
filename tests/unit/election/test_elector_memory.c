/* test_elector_memory.c: an elector while memory runs out, at each allocation in turn. */
#include "controllers/election/elector_parts.h"
#include "tests/support/election.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <string.h>

TEST(without_memory_for_a_while_an_elector_leads_all_the_same) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        election self;
        candidate *me = &self.candidates[0];
        bool is_open = election_open(&self, &memory.allocator);
        ki_status status =
            is_open ? candidate_compete(me, &KI_ELECTOR_OPTIONS(.release_on_stop = true)) : KI_ERR_NO_MEMORY;
        if (status) {
            assert_int_equal(status, KI_ERR_NO_MEMORY);
            assert_true(scarce_memory_failed(&memory));
        } else {
            me->fate = "..4";
            election_advance(&self, 20000);
            assert_true(ki_elector_is_leader(me->elector));
            candidate_expect(me, "leader=me started");
            ki_elector_stop(me->elector);
            election_advance(&self, 20000);
            assert_false(ki_elector_is_leader(me->elector));
            assert_int_equal(me->elector->component.state, KI_COMPONENT_STOPPED);
        }
        election_close(&self);
    }
}
