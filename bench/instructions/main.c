/* main.c: runs one hot path for `run`, which counts the instructions below counted_round(). Prints the path's events
 * and allocations; without an argument, the paths. */
#include "bench/instructions/paths.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    WARM_ROUNDS = 3 /* until all memory is reused */
};

static const path *const paths[] = {
    &path_framing,          &path_watch_events,   &path_decode,     &path_decode_view, &path_modified,
    &path_modified_indexed, &path_modified_label, &path_json,       &path_fields,      &path_store_put,
    &path_lookup_key,       &path_lookup_index,   &path_list_index, &path_delta_fifo,  &path_in_order_fifo,
    &path_workqueue,        &path_server_watches,
};

void need(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "instructions: %s\n", what);
    exit(1);
}

/* The name is in `run`: callgrind counts from here to the return. */
__attribute__((noinline)) void counted_round(const path *self);
void counted_round(const path *self) {
    self->round();
    __asm__ volatile(""); /* not a tail call: the round is below this function */
}

static void run(const path *self) {
    unsigned long counted = 0;
    self->begin();
    for (unsigned i = 0; i < WARM_ROUNDS + self->rounds; i++) {
        if (self->prepare)
            self->prepare();
        unsigned long before = allocations;
        if (i < WARM_ROUNDS)
            self->round();
        else
            counted_round(self);
        counted += i < WARM_ROUNDS ? 0 : allocations - before;
    }
    self->end();
    printf("%s %u %lu\n", self->name, self->events * self->rounds, counted);
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (argc < 2)
            printf("%s\n", paths[i]->name);
        else if (ki_str_equals(ki_str_of(argv[1]), paths[i]->name))
            return run(paths[i]), 0;
    }
    need(argc < 2, "there is no such path");
    return 0;
}
