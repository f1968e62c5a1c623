/* stream.h: the faults of one response, and what they do to the frames of its watch. One for each response that faults
 * apply to. */
#ifndef KT_FAULTS_STREAM_H
#define KT_FAULTS_STREAM_H

#include "testing/faults/fault.h"
#include "testing/request/watch.h"

typedef struct kt_fault_stream {
    const ki_allocator *allocator;
    kt_injection injection;
    int64_t events; /* so far, without bookmarks */
    bool initial_over;
    bool ended;
    ki_buffer raw;  /* frames from the watch */
    ki_buffer held; /* initial events to shuffle */
} kt_fault_stream;

/* Takes ownership of `injection`'s content, also on failure. NULL on failure. */
kt_fault_stream *kt_fault_stream_new(const ki_allocator *allocator, kt_injection *injection);
void kt_fault_stream_free(kt_fault_stream *faults);

/* Reads frames like kt_watch_read, from a response with a watch and faults. Copies every object, and reads on where the
 * faults removed all frames. */
ki_status kt_fault_read(kt_response *response, int64_t now_ms, ki_buffer *out, size_t max, kt_watch_state *ret_state);

#endif
