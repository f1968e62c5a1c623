/* fault.c: the faults' names, and their numbers in README.md's table. */
#include "sim/fault.h"

static const struct {
    const char *name;
    const char *numbers;
} faults[SIM_FAULT_KINDS] = {
    [SIM_HALF_OPEN] = { "half-open", "1, 2" },
    [SIM_CUT] = { "cut", "19, 23" },
    [SIM_CLOSE] = { "close", "19, 22, 23" },
    [SIM_EXPIRED_EVENT] = { "expired-event", "3" },
    [SIM_ERROR_EVENT] = { "error-event", "23" },
    [SIM_TOO_LARGE_EVENT] = { "too-large-event", "6" },
    [SIM_BOOKMARK_AHEAD] = { "bookmark-ahead", "13" },
    [SIM_LOST_EVENT] = { "lost-event", "12" },
    [SIM_BAD_EVENT] = { "bad-event", "20" },
    [SIM_HUGE_EVENT] = { "huge-event", "20" },
    [SIM_REFUSE] = { "refuse", "23" },
    [SIM_RESPONSE_429] = { "response-429", "23" },
    [SIM_RESPONSE_5XX] = { "response-5xx", "23" },
    [SIM_RESPONSE_DENIED] = { "response-denied", "24" },
    [SIM_RESPONSE_410] = { "response-410", "3" },
    [SIM_RESPONSE_TOO_LARGE] = { "response-too-large", "6" },
    [SIM_RESPONSE_GARBAGE] = { "response-garbage", "20" },
    [SIM_CLOSE_AT_ONCE] = { "close-at-once", "4" },
    [SIM_UNORDERED] = { "unordered", "14" },
    [SIM_REPEATED] = { "repeated", "15" },
    [SIM_NO_END] = { "no-end", "27" },
    [SIM_TOKEN_EXPIRES] = { "token-expires", "17" },
    [SIM_EMPTY_PAGE] = { "empty-page", "18" },
    [SIM_BAD_ITEM] = { "bad-item", "20" },
    [SIM_COMPACT] = { "compact", "3, 17" },
    [SIM_RESTORE] = { "restore", "5, 6" },
    [SIM_LAG] = { "lag", "6, 7, 11" },
    [SIM_RESTART_SERVER] = { "restart-server", "22, 23" },
    [SIM_TO_LAGGARD] = { "to-laggard", "6, 7" },
    [SIM_TYPE_GONE] = { "type-gone", "26" },
    [SIM_SMALL_CHUNKS] = { "small-chunks", "19" },
    [SIM_SLOW_NETWORK] = { "slow-network", "23" },
    [SIM_NO_MEMORY] = { "no-memory", "25" },
    [SIM_RESTART_CLIENT] = { "restart-client", "25" },
    [SIM_NO_DESCRIPTORS] = { "no-descriptors", "25" },
    [SIM_FEW_STREAMS] = { "few-streams", "25" },
    [SIM_CLOCK_JUMPS] = { "clock-jumps", "28" },
    [SIM_REAPPEARS] = { "reappears", "15" },
    [SIM_STREAM_CLOSES] = { "stream-closes", "27" },
};

const char *sim_fault_name(sim_fault_kind kind) {
    return faults[kind].name;
}

const char *sim_fault_numbers(sim_fault_kind kind) {
    return faults[kind].numbers;
}
