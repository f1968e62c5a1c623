/* changes.c: see changes.h. */
#include "src/cache/listener/changes.h"

#include "src/base/memory.h"

/* Changes in one block. A block is smaller than 1 KB: for larger blocks glibc's malloc first merges all free memory,
 * which can take long. */
enum {
    BLOCK_SIZE = 40
};

struct ki_changes_block {
    ki_changes_block *next;
    ki_change items[BLOCK_SIZE]; /* small: a stuck listener can have millions */
};

void ki_changes_init(ki_changes *changes, const ki_allocator *allocator) {
    *changes = (ki_changes){ .allocator = allocator };
}

/* Adds a block to the end of the chain. */
static ki_status grow(ki_changes *changes) {
    ki_changes_block *block = changes->spare ? changes->spare : ki_alloc(changes->allocator, sizeof *block);
    if (!block)
        return KI_ERR_NO_MEMORY;
    changes->spare = NULL;
    block->next = NULL;
    *(changes->tail ? &changes->tail->next : &changes->head) = block;
    changes->tail = block;
    changes->tail_at = 0;
    return KI_OK;
}

ki_status ki_changes_push(ki_changes *changes, const ki_change *change) {
    if ((!changes->tail || changes->tail_at == BLOCK_SIZE) && grow(changes))
        return KI_ERR_NO_MEMORY;
    ki_object_ref(change->obj);
    ki_object_ref(change->old);
    changes->tail->items[changes->tail_at++] = *change;
    changes->count++;
    return KI_OK;
}

const ki_change *ki_changes_first(const ki_changes *changes) {
    return changes->count ? &changes->head->items[changes->head_at] : NULL;
}

/* Drops the first block if it is used up. */
static void drop_head(ki_changes *changes) {
    ki_changes_block *block = changes->head;
    if (changes->count == 0) {
        changes->head_at = changes->tail_at = 0;
        return;
    }
    if (changes->head_at < BLOCK_SIZE)
        return;
    changes->head = block->next;
    changes->head_at = 0;
    if (changes->spare)
        ki_free(changes->allocator, block);
    else
        changes->spare = block;
}

bool ki_changes_pop(ki_changes *changes, ki_change *ret_change) {
    if (changes->count == 0)
        return false;
    *ret_change = changes->head->items[changes->head_at++];
    changes->count--;
    drop_head(changes);
    return true;
}

bool ki_changes_drop_some(ki_changes *changes, size_t *units) {
    ki_change dropped;
    for (; *units > 0 && ki_changes_pop(changes, &dropped); --*units)
        ki_change_release(&dropped);
    return changes->count == 0;
}

void ki_changes_clear(ki_changes *changes) {
    size_t all = SIZE_MAX;
    (void)ki_changes_drop_some(changes, &all);
    ki_free(changes->allocator, changes->head); /* an empty chain has one block at most */
    ki_free(changes->allocator, changes->spare);
    ki_changes_init(changes, changes->allocator);
}
