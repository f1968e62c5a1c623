/* equal.h: compares JSON values in any order of their members, in O(n log n). One thread. */
#ifndef KT_VALUES_EQUAL_H
#define KT_VALUES_EQUAL_H

#include "testing/values/arena.h"

#include <yyjson.h>

/* Returns true if both values are equal. The order of members does not matter. NULL equals NULL. False if the arena
 * fails. */
bool kt_equal(kt_arena *arena, yyjson_val *a, yyjson_val *b);

#endif
