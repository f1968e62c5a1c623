/* frame.h: what has arrived whole at the client: an event that is cut in two has not. */
#ifndef SIM_FRAME_H
#define SIM_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_connection sim_connection;

/* Of a watch or streaming list; of a list, whether it is whole. */
typedef struct sim_arrivals {
    size_t begin;         /* of the frame under way, in what the connection sends */
    uint64_t frames;      /* after the initial events */
    uint64_t words;       /* of those, what is not from before the watch */
    uint64_t sure_words;  /* of those, what no unreadable event precedes */
    bool is_past_initial; /* their end has arrived */
    bool is_over;         /* an ERROR event has */
    bool has_bad;         /* one that nobody can use */
    bool is_whole;
} sim_arrivals;

/* Bytes up to `end` of what the connection sends have been delivered. */
void sim_frames_arrived(sim_connection *connection, size_t from, size_t end);

#endif
