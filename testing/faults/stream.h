/* stream.h: what becomes of a watch's frames on their way out. One for each response that faults strike. */
#ifndef KT_FAULTS_STREAM_H
#define KT_FAULTS_STREAM_H

#include "testing/faults/fault.h"
#include "testing/request/request.h"

typedef struct kt_fault_stream {
    const ki_allocator *allocator;
    kt_strike strike;
    int64_t events; /* so far, bookmarks not counted */
    bool initial_over;
    bool ended;
    ki_buffer raw;  /* what the watch gave */
    ki_buffer held; /* initial events that are to be shuffled */
} kt_fault_stream;

/* Takes `strike` over. NULL for lack of memory (then it is freed). */
kt_fault_stream *kt_fault_stream_new(const ki_allocator *allocator, kt_strike *strike);
void kt_fault_stream_free(kt_fault_stream *faults);

/* As kt_watch_read, for any response with a watch. */
ki_status kt_fault_read(kt_response *response, int64_t now_ms, ki_buffer *out, size_t max, kt_watch_state *ret_state);

#endif
