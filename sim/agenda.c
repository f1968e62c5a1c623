/* agenda.c: a binary heap by time and number. */
#include "sim/agenda.h"

#include "sim/memory.h"

#include <stdlib.h>

static bool is_before(const sim_entry *a, const sim_entry *b) {
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

void sim_agenda_free(sim_agenda *agenda) {
    free(agenda->entries);
    *agenda = (sim_agenda){ 0 };
}

void sim_agenda_add(sim_agenda *agenda, int64_t at, sim_action action, void *user, uint64_t argument) {
    if (agenda->count == agenda->capacity) {
        agenda->capacity = agenda->capacity ? agenda->capacity * 2 : 64;
        agenda->entries = sim_realloc(agenda->entries, agenda->capacity * sizeof *agenda->entries);
    }
    sim_entry entry = { at, agenda->next_number++, action, user, argument };
    size_t index = agenda->count++;
    while (index > 0 && is_before(&entry, &agenda->entries[(index - 1) / 2])) {
        agenda->entries[index] = agenda->entries[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    agenda->entries[index] = entry;
}

int64_t sim_agenda_next(const sim_agenda *agenda) {
    return agenda->count ? agenda->entries[0].at : INT64_MAX;
}

bool sim_agenda_take(sim_agenda *agenda, int64_t now, sim_entry *ret_entry) {
    if (sim_agenda_next(agenda) > now)
        return false;
    if (!agenda->count)
        return false;
    *ret_entry = agenda->entries[0];
    sim_entry last = agenda->entries[--agenda->count];
    size_t index = 0;
    for (;;) {
        size_t child = index * 2 + 1;
        if (child >= agenda->count)
            break;
        if (child + 1 < agenda->count && is_before(&agenda->entries[child + 1], &agenda->entries[child]))
            child++;
        if (!is_before(&agenda->entries[child], &last))
            break;
        agenda->entries[index] = agenda->entries[child];
        index = child;
    }
    if (agenda->count)
        agenda->entries[index] = last;
    return true;
}
