/* memory.c: malloc with a count of blocks and with random failures. */
#include "sim/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory) {
    if (!memory) {
        fputs("sim: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

void *sim_alloc(size_t size) {
    return checked(calloc(1, size));
}

void *sim_realloc(void *memory, size_t size) {
    return checked(realloc(memory, size));
}

char *sim_strdup(const char *text) {
    return checked(strdup(text));
}

static bool must_fail(sim_memory *memory) {
    if (!memory->per_mille || sim_below(&memory->random, 1000) >= memory->per_mille)
        return false;
    memory->refused++;
    return true;
}

static void *client_alloc(size_t size, void *user) {
    sim_memory *memory = user;
    if (must_fail(memory))
        return NULL;
    memory->live++;
    return checked(malloc(size ? size : 1));
}

static void *client_realloc(void *block, size_t size, void *user) {
    sim_memory *memory = user;
    if (must_fail(memory))
        return NULL;
    if (!block)
        memory->live++;
    return checked(realloc(block, size ? size : 1));
}

static void client_free(void *block, void *user) {
    sim_memory *memory = user;
    if (block)
        memory->live--;
    free(block);
}

void sim_memory_init(sim_memory *memory, uint64_t seed) {
    *memory = (sim_memory){ .allocator = { client_alloc, client_realloc, client_free, memory },
                            .random = sim_random_from(seed, 0) };
}
