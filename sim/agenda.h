/* agenda.h: what happens when: actions in order of their virtual time, ties in order of their making. */
#ifndef SIM_AGENDA_H
#define SIM_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*sim_action)(void *user, uint64_t argument);

typedef struct sim_entry {
    int64_t at;
    uint64_t number;
    sim_action action;
    void *user;
    uint64_t argument;
} sim_entry;

typedef struct sim_agenda {
    sim_entry *entries; /* a heap */
    size_t count, capacity;
    uint64_t next_number;
} sim_agenda;

void sim_agenda_free(sim_agenda *agenda);
void sim_agenda_add(sim_agenda *agenda, int64_t at, sim_action action, void *user, uint64_t argument);
/* When the next one is due; INT64_MAX: never. */
int64_t sim_agenda_next(const sim_agenda *agenda);
/* Takes out the next one if it is due. */
bool sim_agenda_take(sim_agenda *agenda, int64_t now, sim_entry *ret_entry);

#endif
