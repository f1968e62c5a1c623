/* meter.c: see meter.h. */
#include "meter.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    VALUES_MAX = 4000000
};

static _Atomic size_t bytes;

static void *count_alloc(size_t size, void *user) {
    void *memory = malloc(size);
    (void)user;
    if (memory)
        atomic_fetch_add(&bytes, malloc_usable_size(memory));
    return memory;
}

static void *count_realloc(void *memory, size_t size, void *user) {
    size_t before = memory ? malloc_usable_size(memory) : 0;
    void *moved = realloc(memory, size);
    (void)user;
    if (!moved)
        return NULL;
    atomic_fetch_add(&bytes, malloc_usable_size(moved));
    atomic_fetch_sub(&bytes, before);
    return moved;
}

static void count_free(void *memory, void *user) {
    (void)user;
    if (memory)
        atomic_fetch_sub(&bytes, malloc_usable_size(memory));
    free(memory);
}

const ki_allocator meter_allocator = { count_alloc, count_realloc, count_free, NULL };

size_t meter_bytes(void) {
    return atomic_load(&bytes);
}

void meter_add(meter *m, int64_t value) {
    if (m->count == m->capacity) {
        size_t capacity = m->capacity ? m->capacity * 2 : 4096;
        int64_t *values = capacity <= VALUES_MAX ? realloc(m->values, capacity * sizeof *values) : NULL;
        if (!values)
            return;
        m->values = values;
        m->capacity = capacity;
    }
    m->values[m->count++] = value;
}

static int by_value(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

int64_t meter_percentile(meter *m, double percent) {
    if (!m->count)
        return 0;
    qsort(m->values, m->count, sizeof *m->values, by_value);
    size_t index = (size_t)((double)m->count * percent / 100);
    return m->values[index < m->count ? index : m->count - 1];
}

void meter_free(meter *m) {
    free(m->values);
}
