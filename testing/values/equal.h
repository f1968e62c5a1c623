/* equal.h: are two values the same? In a time that grows with their size, whatever the order of their members. One thread. */
#ifndef KT_VALUES_EQUAL_H
#define KT_VALUES_EQUAL_H

#include "testing/values/arena.h"

#include <yyjson.h>

/* The order of members aside. NULL (nothing there) is the same as NULL. False where the arena fails. */
bool kt_equal(kt_arena *arena, yyjson_val *a, yyjson_val *b);

#endif
