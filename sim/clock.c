/* clock.c: see clock.h. clock_gettime and time replace the C library's functions in this program. */
#include "sim/clock.h"

#include "sim/plan.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const sim_clock *running;

void sim_clock_use(const sim_clock *clock) {
    running = clock;
}

static int real(clockid_t clock, struct timespec *ret_time) {
    return (int)syscall(SYS_clock_gettime, clock, ret_time);
}

double sim_clock_real_seconds(void) {
    struct timespec now;
    real(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int clock_gettime(clockid_t clock, struct timespec *ret_time) {
    if (!running || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
        return real(clock, ret_time);
    int64_t now = clock == CLOCK_MONOTONIC ? running->now(running->user) : running->wall(running->user);
    *ret_time = (struct timespec){ .tv_sec = now / SIM_SECOND, .tv_nsec = now % SIM_SECOND };
    return 0;
}

time_t time(time_t *ret_time) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time)
        *ret_time = now.tv_sec;
    return now.tv_sec;
}
