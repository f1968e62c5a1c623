/* agenda.h: the future actions of a simulation, by virtual time. Actions of the same time run in the order in which
 * they were added. */
#ifndef SIM_AGENDA_H
#define SIM_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*sim_action)(void *user, uint64_t argument);

typedef struct sim_entry {
    int64_t at;
    uint64_t number; /* counts the additions */
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
/* Returns the time of the next action; INT64_MAX: none. */
int64_t sim_agenda_next(const sim_agenda *agenda);
/* Removes the next action if it is due. Returns false if it is not. */
bool sim_agenda_take(sim_agenda *agenda, int64_t now, sim_entry *ret_entry);

#endif
