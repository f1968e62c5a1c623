/* memory_limits.h: what bounds the memory of objects: the account of all informers of a factory. The cache counts
 * (informer_memory.c, list_memory.c); formats read (pack.h). */
#ifndef KI_OBJECT_MEMORY_LIMITS_H
#define KI_OBJECT_MEMORY_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* What is to be done about a limit; each includes what is before it. */
typedef enum ki_memory_pressure {
    KI_MEMORY_AMPLE,
    KI_MEMORY_SCARCE, /* above half of the limit, and until a tenth of that half is free: objects are packed */
    KI_MEMORY_SHORT,  /* with the lists that arrive above the limit */
    KI_MEMORY_OVER    /* without them above the limit, and until a tenth is free */
} ki_memory_pressure;

/* The memory of the objects of all informers of a factory. */
typedef struct ki_memory_account {
    size_t limit; /* constant; 0: none */
    /* Any thread reads; the loop writes. */
    _Atomic size_t bytes;
    _Atomic size_t expected; /* bytes more once all lists that arrive are applied, about */
    _Atomic ki_memory_pressure pressure;
    /* Loop. */
    bool is_reported;          /* above the limit, and nobody can drop contents: a program knows */
    struct ki_informer *first; /* linked by `next_in_account`; each takes a step when the pressure changes */
} ki_memory_account;

/* Returns the bytes that all informers take, or will take. Any thread. */
static inline size_t ki_memory_account_bytes(const ki_memory_account *account) {
    return atomic_load(&account->bytes) + atomic_load(&account->expected);
}

/* Returns true above the limit. Any thread. */
static inline bool ki_memory_account_is_over(const ki_memory_account *account) {
    return atomic_load(&account->pressure) >= KI_MEMORY_SHORT;
}

static inline size_t ki_memory_above(size_t bytes, size_t limit) {
    return bytes > limit ? bytes - limit : 0;
}

/* Returns the bytes at which a limit that was exceeded is no more: a tenth is free. */
static inline size_t ki_memory_goal(size_t limit) {
    return limit - limit / 10;
}

/* `before`: as long as memory was that scarce. */
static inline ki_memory_pressure ki_memory_pressure_of(size_t bytes, size_t expected, size_t limit,
                                                       ki_memory_pressure before) {
    size_t half = limit - limit / 2;
    if (!limit)
        return KI_MEMORY_AMPLE;
    if (bytes > (before == KI_MEMORY_OVER ? ki_memory_goal(limit) : limit))
        return KI_MEMORY_OVER;
    if (bytes + expected > limit)
        return KI_MEMORY_SHORT;
    return bytes + expected > (before ? ki_memory_goal(half) : half) ? KI_MEMORY_SCARCE : KI_MEMORY_AMPLE;
}

/* Returns what `pressure` should be now. Loop. */
static inline ki_memory_pressure ki_memory_account_pressure(const ki_memory_account *account) {
    return ki_memory_pressure_of(atomic_load(&account->bytes), atomic_load(&account->expected), account->limit,
                                 atomic_load(&account->pressure));
}

/* Returns true above half of the limit: objects are packed. */
static inline bool ki_memory_account_is_scarce(const ki_memory_account *account) {
    return account->limit && ki_memory_account_bytes(account) > account->limit / 2;
}

typedef struct ki_memory_limits {
    const ki_memory_account *account; /* outlives the informer, not its objects; NULL: none */
    size_t own;                       /* bytes of the informer's own limit; 0: none */
    bool drops_content;               /* above a limit objects lose their content */
} ki_memory_limits;

#endif
