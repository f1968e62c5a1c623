/* bench_waits.c: CPU time of a change by the number of waits for resource versions. A change checks them twice: for the
 * cache's version and for its object's. */
#include "bench/counting.h"
#include "src/base/memory.h"
#include "src/cache/informer/wait_table.h"

#include <stdio.h>
#include <time.h>

enum {
    MOST = 10000,
    CHANGES = 2000
};

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void ignore(ki_informer *informer, ki_status status, void *user) {
    (void)informer;
    (void)status;
    (void)user;
}

static double measure(size_t count) {
    static char keys[MOST][32];
    ki_wait_table table;
    ki_version_wait *waits[MOST];
    ki_wait_table_init(&table, &ki_allocator_default, 7);
    for (size_t i = 0; i < count; i++) {
        snprintf(keys[i], sizeof keys[i], "default/web-%zu", i);
        waits[i] = malloc(sizeof *waits[i]);
        if (!waits[i])
            exit(1);
        *waits[i] =
            (ki_version_wait){ .key = keys[i], .version = "900000000", .deadline = INT64_MAX, .handler = ignore };
        if (ki_wait_table_add(&table, waits[i]))
            exit(1);
    }
    double began = cpu_ns();
    for (unsigned i = 0; i < CHANGES; i++) {
        char version[24], key[32];
        snprintf(version, sizeof version, "%u", i);
        snprintf(key, sizeof key, "default/web-%u", i % MOST);
        ki_wait_table_seen(&table, NULL, version, false);
        ki_wait_table_seen(&table, key, version, false);
    }
    double each = (cpu_ns() - began) / CHANGES;
    for (size_t i = 0; i < count; i++)
        free(waits[i]);
    return each;
}

int main(void) {
    static const size_t counts[] = { 1, 10, 100, 1000, MOST };
    printf("%8s %16s\n", "waits", "us a change");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        printf("%8zu %16.2f\n", counts[i], measure(counts[i]) / 1000);
    return 0;
}
