/* rules.h: the checks of single fields of each kind, as tables. Checks of several fields are functions (kinds.h). */
#ifndef KT_KINDS_RULES_H
#define KT_KINDS_RULES_H

#include "testing/validation/checked.h"

#include "src/object/resource_table.h"

/* Returns true if there is a rule for this resource. */
bool kt_rules_has(const ki_resource *resource);
/* Adds the problems of the fields of the status, or of all others. */
void kt_rules_check(kt_checked *c, const ki_resource *resource, bool is_status);

#endif
