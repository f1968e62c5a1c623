/* random.c: xoshiro256++ (Blackman and Vigna), seeded by splitmix64. For jitter, not for secrets. Loop only. */
#include "src/engine/loop.h"

#include <sys/random.h>

static uint64_t splitmix64(uint64_t *state) {
    uint64_t mixed = (*state += UINT64_C(0x9E3779B97F4A7C15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

static uint64_t rotate(uint64_t value, int bits) {
    return (value << bits) | (value >> (64 - bits));
}

void ki_engine_seed(ki_engine *engine, uint64_t seed) {
    if (!seed && getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint64_t)ki_engine_clock(engine) ^ (uint64_t)(uintptr_t)engine;
    for (int i = 0; i < 4; i++)
        engine->random[i] = splitmix64(&seed);
}

double ki_engine_random(ki_engine *engine) {
    KI_ON_LOOP(engine);
    uint64_t *state = engine->random;
    uint64_t result = rotate(state[0] + state[3], 23) + state[0];
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate(state[3], 45);
    return (double)(result >> 11) * 0x1.0p-53;
}
