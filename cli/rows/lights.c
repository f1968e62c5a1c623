/* lights.c: see lights.h. */
#include "lights.h"

#include <stdlib.h>

void lights_clear(lights *ls) {
    free(ls->all);
    *ls = (lights){ .all = NULL };
}

bool lights_reserve(lights *ls, size_t more) {
    size_t needed = ls->count + more;
    if (needed <= ls->capacity)
        return true;
    light *all = realloc(ls->all, 2 * needed * sizeof *all);
    if (!all)
        return false;
    ls->all = all;
    ls->capacity = 2 * needed;
    return true;
}

size_t lights_ending(const lights *ls, int64_t now_ms, item **ret_items) {
    size_t count = 0;
    for (size_t i = 0; i < ls->count; i++) {
        const light *l = &ls->all[i];
        if (!l->is_deleted || l->until_ms > now_ms || l->of->other)
            continue;
        if (ret_items)
            ret_items[count] = l->of;
        count++;
    }
    return count;
}

/* Keeps the lights that go on. */
static void end_due(lights *ls, int64_t now_ms) {
    size_t kept = 0;
    for (size_t i = 0; i < ls->count; i++) {
        light l = ls->all[i];
        bool is_replaced = l.of->other;
        l.of->lit = 0;
        l.of->is_new = false;
        l.of = is_replaced ? l.of->other : l.of;
        if (l.until_ms > now_ms && !(is_replaced && l.is_deleted))
            ls->all[kept++] = l;
    }
    ls->count = kept;
}

void lights_change(lights *ls, item *const *versions, size_t count, int64_t now_ms, int64_t until_ms) {
    end_due(ls, now_ms);
    for (size_t i = 0; i < count; i++) {
        item *it = versions[i];
        uint64_t cells = it->is_new || it->is_deleted ? UINT64_MAX : it->lit;
        if (cells)
            ls->all[ls->count++] = (light){
                .of = it, .cells = cells, .until_ms = until_ms, .is_new = it->is_new, .is_deleted = it->is_deleted
            };
    }
    ls->next_end_ms = INT64_MAX;
    for (size_t i = 0; i < ls->count; i++) {
        light *l = &ls->all[i];
        l->of->lit |= l->cells;
        l->of->is_new |= l->is_new;
        ls->next_end_ms = l->until_ms < ls->next_end_ms ? l->until_ms : ls->next_end_ms;
    }
}

bool lights_are_due(const lights *ls, int64_t now_ms) {
    return ls->count && ls->next_end_ms <= now_ms;
}
