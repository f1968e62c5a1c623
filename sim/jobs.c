/* jobs.c: see jobs.h. Process j of n runs the seeds with the indexes j, j + n, j + 2n and so on. */
#include "sim/jobs.h"

#include "sim/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    JOBS_MAX = 64,
    PROGRESS_MS = 200
};

typedef struct job {
    _Atomic uint64_t done_count;
    _Atomic uint64_t current_seed; /* the seed under way */
    sim_totals totals;
} job;

typedef struct shared {
    _Atomic uint64_t lowest_failed; /* index; UINT64_MAX: none */
    job jobs[JOBS_MAX];
} shared;

static void note_failure(shared *all, uint64_t index) {
    uint64_t lowest = atomic_load(&all->lowest_failed);
    while (index < lowest && !atomic_compare_exchange_weak(&all->lowest_failed, &lowest, index)) {}
}

static void add_seed(sim_totals *totals, const sim_outcome *outcome) {
    totals->seeds++;
    totals->writes += outcome->writes;
    totals->requests += outcome->requests;
    totals->faults += outcome->faults;
    totals->digest += outcome->digest * 0x9e3779b97f4a7c15u;
    totals->hours += (double)outcome->now / 3.6e12;
}

/* What one process runs. */
typedef struct share {
    const sim_scenario *scenario;
    uint64_t first, count;
    uint32_t without;
    unsigned number, jobs;
} share;

static void work(shared *all, const share *given) {
    job *own = &all->jobs[given->number];
    for (uint64_t index = given->number; index < given->count && index < atomic_load(&all->lowest_failed);
         index += given->jobs) {
        sim_outcome outcome;
        atomic_store(&own->current_seed, given->first + index);
        given->scenario->run(given->first + index, given->without, false, &outcome);
        if (outcome.message)
            note_failure(all, index);
        add_seed(&own->totals, &outcome);
        atomic_fetch_add(&own->done_count, 1);
    }
}

static void show_progress(const shared *all, unsigned jobs, uint64_t count, double began) {
    uint64_t done_count = 0;
    for (unsigned i = 0; i < jobs; i++)
        done_count += atomic_load(&all->jobs[i].done_count);
    double seconds = sim_clock_real_seconds() - began;
    fprintf(stderr, "\r%llu of %llu seeds, %.0f a minute ", (unsigned long long)done_count, (unsigned long long)count,
            seconds > 0 ? (double)done_count * 60 / seconds : 0);
}

/* Waits for the end of a process, and shows progress on a terminal. Returns true if the process succeeded. */
static bool wait_for(pid_t process, const shared *all, unsigned jobs, uint64_t count, double began) {
    bool shows = isatty(STDERR_FILENO);
    int status = 0;
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, NULL); /* before the first waitpid, so that no end is missed */
    for (;;) {
        pid_t ended = waitpid(process, &status, shows ? WNOHANG : 0);
        if (ended == process)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (ended < 0 && errno != EINTR)
            return false;
        if (shows) {
            const struct timespec at_most = { .tv_nsec = PROGRESS_MS * 1000000L };
            show_progress(all, jobs, count, began);
            (void)sigtimedwait(&child_ended, NULL, &at_most);
        }
    }
}

static double core_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void add_up(const shared *all, unsigned jobs, sim_totals *ret_totals) {
    for (unsigned i = 0; i < jobs; i++) {
        const sim_totals *one = &all->jobs[i].totals;
        ret_totals->seeds += one->seeds;
        ret_totals->writes += one->writes;
        ret_totals->requests += one->requests;
        ret_totals->faults += one->faults;
        ret_totals->digest += one->digest;
        ret_totals->hours += one->hours;
    }
}

bool sim_jobs_run(const sim_scenario *scenario, uint64_t first, uint64_t count, uint32_t without, unsigned jobs,
                  uint64_t *ret_failed, sim_totals *ret_totals) {
    if (jobs > JOBS_MAX)
        jobs = JOBS_MAX;
    shared *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        perror("sim");
        exit(2);
    }
    atomic_init(&all->lowest_failed, UINT64_MAX);
    pid_t processes[JOBS_MAX];
    double began = sim_clock_real_seconds();
    fflush(NULL);
    for (unsigned i = 0; i < jobs; i++) {
        processes[i] = fork();
        if (processes[i] == 0) {
            const share given = { scenario, first, count, without, i, jobs };
            work(all, &given);
            _exit(0);
        }
    }
    bool all_succeeded = true;
    for (unsigned i = 0; i < jobs; i++) {
        if (processes[i] > 0 && wait_for(processes[i], all, jobs, count, began))
            continue;
        note_failure(all, atomic_load(&all->jobs[i].current_seed) - first);
        all_succeeded = false;
    }
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    *ret_totals = (sim_totals){ .core_seconds = core_seconds(), .seconds = sim_clock_real_seconds() - began };
    add_up(all, jobs, ret_totals);
    uint64_t lowest = atomic_load(&all->lowest_failed);
    *ret_failed = lowest == UINT64_MAX ? 0 : first + lowest;
    munmap(all, sizeof *all);
    return all_succeeded;
}
