/* parts/process_loop.h: pops changes from a queue and has a function process them; resyncs (client-go's Controller and
 * its Config). A building block of an informer, with the weaker promise of store.h.
 *
 * Threads: everything on the loop, or while nothing drives the engine. */
#ifndef KINFORMER_PARTS_PROCESS_LOOP_H
#define KINFORMER_PARTS_PROCESS_LOOP_H

#include <kinformer/engine.h>
#include <kinformer/parts/queue.h>

KI_BEGIN_DECLS

typedef struct ki_process_loop ki_process_loop;

typedef struct ki_process_loop_options {
    size_t size;       /* sizeof(ki_process_loop_options); set by the macro */
    ki_engine *engine; /* borrowed */
    ki_queue *queue;   /* borrowed; nothing else pops from it */
    /* Processes what was popped. If `process` fails and has set `*ret_requeue`, they are retried (ki_process) after
     * a growing delay of up to a minute, and others are processed meanwhile. All that have failed are retried after the
     * same delay. If `process` fails otherwise, the changes are dropped. Called on the loop; must not block. */
    ki_process process;
    int64_t resync_ms; /* period of resyncs; 0: none; values from 1 to 999 are raised to 1000 */
    /* Returns true if a resync is wanted. Called when the period is over. NULL: always. */
    bool (*should_resync)(void *user) KI_NOEXCEPT;
    /* Called after each failure. `retry_ms`: the delay before the next try; -1: the changes are dropped, or newer ones
     * of their key are queued. NULL: not wanted. */
    void (*on_error)(const ki_error *err, int64_t retry_ms, void *user) KI_NOEXCEPT;
    void *user;
} ki_process_loop_options;

#define KI_PROCESS_LOOP_OPTIONS(...) KI_SIZED_(ki_process_loop_options, __VA_ARGS__)

/* Makes a process loop, which runs whenever the loop does and the queue has changes. The engine, the queue and
 * `process` are needed.
 * Ownership: the caller frees it with ki_process_loop_free, before what it borrows. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_process_loop_new(const ki_process_loop_options *options, ki_process_loop **ret_loop,
                                                   ki_error *err);
/* Ends and frees a process loop. The queue keeps what is in it. NULL is accepted. */
KI_API void ki_process_loop_free(ki_process_loop *loop);

KI_END_DECLS

#endif
