/* specs.c: the oracle of the specs: each parent has the children and the status that its spec asks for, and no other
 * child exists. */
#include "sim/controllers/world.h"

#include <stdio.h>
#include <string.h>

static bool is_child_as_specified(const ctl_parent_state *parent, unsigned number) {
    const ctl_child_state *child = &parent->children[number];
    if (!parent->exists || (int64_t)number >= parent->replicas)
        return !child->exists;
    return child->exists && child->value == parent->value && strcmp(child->owner_uid, parent->uid) == 0;
}

bool ctl_specs_are_met(ctl_world *world, char *ret_why, size_t size) {
    const ctl_state *state = ctl_server_state(world);
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        const ctl_parent_state *parent = &state->parents[i];
        if (parent->exists && (parent->is_deleting || parent->observed != parent->value || !parent->is_ready)) {
            snprintf(ret_why, size, "p%u %s", i,
                     parent->is_deleting                 ? "is still being deleted"
                     : parent->observed != parent->value ? "has a status of an older spec"
                                                         : "is not ready");
            return false;
        }
        for (unsigned j = 0; j < CTL_MAX_CHILDREN; j++) {
            if (is_child_as_specified(parent, j))
                continue;
            snprintf(ret_why, size, "p%u-%u %s", i, j,
                     parent->children[j].exists ? "differs from the spec, or should not exist" : "is missing");
            return false;
        }
    }
    return true;
}
