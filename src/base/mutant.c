/* mutant.c: which deliberate bug is on. Empty but in a build with KI_MUTANTS. */
#include "src/base/mutant.h"

#ifdef KI_MUTANTS

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define KI_MUTANT_NAME(name, what, test) #name,
    KI_MUTANT_LIST(KI_MUTANT_NAME)
#undef KI_MUTANT_NAME
};

static int find(void) {
    const char *wanted = getenv("KI_MUTANT");
    for (int i = 0; wanted && i < (int)(sizeof names / sizeof *names); i++) {
        if (strcmp(names[i], wanted) == 0)
            return i;
    }
    return 0;
}

ki_mutant ki_mutant_now(void) {
    static _Atomic int now = -1;
    int mutant = atomic_load_explicit(&now, memory_order_relaxed);
    if (mutant < 0) {
        mutant = find();
        atomic_store_explicit(&now, mutant, memory_order_relaxed);
    }
    return (ki_mutant)mutant;
}

#else

typedef bool ki_no_mutants; /* ISO C wants something in every file */

#endif
