/* main.c: the arguments; one seed, or many. */
#include "sim/jobs.h"
#include "sim/shrink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct arguments {
    const sim_scenario *scenario;
    uint64_t first, count;
    uint32_t without; /* faults to remove, by bit */
    unsigned jobs;
    bool one, trace, shrink;
} arguments;

static int usage(void) {
    fputs("usage: sim [--scenario NAME] [--seeds N] [--from SEED] [--seed SEED] [--without MASK] [--jobs N] [--trace] "
          "[--shrink]\n"
          "  --scenario NAME Run informers (the default) or controllers\n"
          "  --seeds N       Run N seeds from SEED (1); stop at the first that fails\n"
          "  --jobs N        Use N processes (one for each core); the result is the same\n"
          "  --seed SEED     Run one seed\n"
          "  --without MASK  Remove the faults whose bit is set\n"
          "  --trace         Print what happens\n"
          "  --shrink        Find fewer faults that still fail\n",
          stderr);
    return 2;
}

static bool number(const char *text, uint64_t *ret_value) {
    char *end;
    *ret_value = strtoull(text, &end, 0);
    return text[0] && !*end;
}

static bool parse(int argc, char **argv, arguments *given) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *given =
        (arguments){ .first = 1, .count = 1000, .jobs = cores > 0 ? (unsigned)cores : 1, .scenario = &sim_informers };
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
        if (strcmp(argv[i], "--scenario") == 0 && i + 1 < argc) {
            given->scenario = sim_scenario_find(argv[++i]);
            if (!given->scenario)
                return false;
            continue;
        }
        if (!has_value)
            return false;
        if (strcmp(argv[i], "--seeds") == 0)
            given->count = value;
        else if (strcmp(argv[i], "--from") == 0)
            given->first = value;
        else if (strcmp(argv[i], "--jobs") == 0)
            given->jobs = value > 0 ? (unsigned)value : 1;
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
    return given->first > 0 && given->count > 0;
}

/* Runs one seed in this process, for debuggers, sanitizers and the trace. */
static int run_one(const arguments *given, uint64_t seed) {
    sim_outcome outcome;
    given->scenario->run(seed, given->without, given->trace, &outcome);
    if (!outcome.message) {
        printf("seed %" PRIu64 " passed. Digest %016" PRIx64 "\n", seed, outcome.digest);
        return 0;
    }
    given->scenario->print(seed, given->without);
    printf("seed %" PRIu64 " fails: %s\n", seed, outcome.message);
    sim_print_again(given->scenario, seed, given->without);
    if (given->shrink && !given->without)
        sim_shrink(given->scenario, seed);
    return 1;
}

static int run_many(const arguments *given) {
    sim_totals totals;
    uint64_t failed;
    bool all_succeeded =
        sim_jobs_run(given->scenario, given->first, given->count, given->without, given->jobs, &failed, &totals);
    if (failed) {
        int status = run_one(given, failed);
        if (!all_succeeded)
            printf("a process died at seed %" PRIu64 " or at another that ran at the same time\n", failed);
        return status ? status : 1;
    }
    double count = (double)totals.seeds;
    printf("%" PRIu64 " seeds from %" PRIu64 " passed. A seed on average: %.1f min of virtual time, %.0f writes, "
           "%.0f requests, %.1f faults. Digest %016" PRIx64 "\n",
           totals.seeds, given->first, totals.hours * 60 / count, (double)totals.writes / count,
           (double)totals.requests / count, (double)totals.faults / count, totals.digest);
    printf("%.0f hours in %.1f s: %.0f seeds a minute, %.0f on each core\n", totals.hours, totals.seconds,
           count * 60 / totals.seconds, count * 60 / totals.core_seconds);
    return 0;
}

int main(int argc, char **argv) {
    arguments given;
    if (!parse(argc, argv, &given))
        return usage();
    if (given.one)
        return run_one(&given, given.first);
    if (given.trace) {
        for (uint64_t i = 0; i < given.count; i++) {
            if (run_one(&given, given.first + i))
                return 1;
        }
        return 0;
    }
    return run_many(&given);
}
