/* main.c: the arguments, and the seeds one after the other. */
#include "sim/shrink.h"
#include "sim/world.h"

#include "src/base/mutant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct arguments {
    uint64_t first, count;
    uint32_t without; /* faults that are left out, by bit */
    bool one, trace, shrink;
} arguments;

#ifdef KI_MUTANTS
static int list_mutants(void) {
#define PRINT(name, what, test) puts(#name "\t" what "\t" test);
    KI_MUTANT_LIST(PRINT)
#undef PRINT
    return 0;
}
#else
static int list_mutants(void) {
    fputs("sim: there are no mutants in this build\n", stderr);
    return 2;
}
#endif

static int usage(void) {
    fputs("usage: sim [--seeds N] [--from SEED] [--seed SEED] [--without MASK] [--trace] [--shrink]\n"
          "  --seeds N       N seeds in a row, from SEED (1); ends at the first that fails\n"
          "  --seed SEED     that one\n"
          "  --without MASK  leaves out the faults whose bit is set\n"
          "  --trace         prints what happens\n"
          "  --shrink        looks for fewer faults that still fail\n",
          stderr);
    return 2;
}

static bool number(const char *text, uint64_t *ret_value) {
    char *end;
    *ret_value = strtoull(text, &end, 0);
    return text[0] && !*end;
}

static bool parse(int argc, char **argv, arguments *given) {
    *given = (arguments){ .first = 1, .count = 1000 };
    for (int i = 1; i < argc; i++) {
        uint64_t value = 0;
        bool has_value = i + 1 < argc && number(argv[i + 1], &value);
        if (strcmp(argv[i], "--trace") == 0) {
            given->trace = true;
            continue;
        }
        if (strcmp(argv[i], "--shrink") == 0) {
            given->shrink = true;
            continue;
        }
        if (!has_value)
            return false;
        if (strcmp(argv[i], "--seeds") == 0)
            given->count = value;
        else if (strcmp(argv[i], "--from") == 0)
            given->first = value;
        else if (strcmp(argv[i], "--without") == 0)
            given->without = (uint32_t)value;
        else if (strcmp(argv[i], "--seed") == 0) {
            given->first = value;
            given->count = 1;
            given->one = true;
        } else
            return false;
        i++;
    }
    return true;
}

static void report(const sim_plan *plan, const char *message, uint32_t without) {
    sim_plan_print(plan);
    printf("seed %" PRIu64 " fails: %s\n", plan->seed, message);
    printf("again: ./dev sim --seed %" PRIu64, plan->seed);
    if (without)
        printf(" --without 0x%" PRIx32, without);
    printf(" --trace\n");
}

int main(int argc, char **argv) {
    static sim_world world;
    arguments given;
    if (argc == 2 && strcmp(argv[1], "--list-mutants") == 0)
        return list_mutants();
    if (!parse(argc, argv, &given))
        return usage();
    uint64_t writes = 0, requests = 0, faults = 0, digest = 0;
    double hours = 0;
    clock_t begin = clock();
    for (uint64_t i = 0; i < given.count; i++) {
        sim_plan plan;
        sim_plan_make(&plan, given.first + i);
        sim_plan_leave_out(&plan, given.without);
        if (given.trace)
            sim_plan_print(&plan);
        const char *message = sim_world_run(&world, &plan, given.trace);
        if (message) {
            report(&plan, message, given.without);
            if (given.shrink && !given.without)
                sim_shrink(&world, given.first + i);
            return 1;
        }
        writes += world.writes;
        requests += world.requests;
        faults += plan.fault_count;
        digest = digest * 31 + world.digest;
        hours += (double)world.now / 3.6e12;
    }
    if (given.trace) {
        printf("all is well. Digest %016" PRIx64 "\n", digest); /* no times: the same seed prints the same */
        return 0;
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    double count = (double)given.count;
    printf("%" PRIu64 " seeds from %" PRIu64
           ": all is well. A seed on average: %.1f min of virtual time, %.0f writes, %.0f requests, "
           "%.1f faults. %.0f hours in %.1f s of one core: %.0f seeds a minute. Digest %016" PRIx64 "\n",
           given.count, given.first, hours * 60 / count, (double)writes / count, (double)requests / count,
           (double)faults / count, hours, seconds, seconds > 0 ? count / seconds * 60 : 0, digest);
    return 0;
}
