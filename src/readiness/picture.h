/* picture.h: what a factory's informers, queues and electors are at one time, for the page, the probes and the charts.
 * Made of the samples of its metrics. Any thread. */
#ifndef KI_READINESS_PICTURE_H
#define KI_READINESS_PICTURE_H

#include "src/base/internal_api.h"

#include <kinformer/factory.h>
#include <kinformer/metrics.h>

#include <stdbool.h>
#include <stdint.h>

/* How much a row needs a person's attention; the page has the worst first. */
typedef enum ki_concern {
    KI_CONCERN_BLOCKED,  /* a person must act */
    KI_CONCERN_FAILING,  /* backs off */
    KI_CONCERN_UNSYNCED, /* has no whole cache yet, or is stopped */
    KI_CONCERN_WARNED,   /* works, with a message */
    KI_CONCERN_NONE
} ki_concern;

enum {
    KI_PICTURE_CAUSES_SIZE = 160, /* of the relists by cause, as text */
    KI_PICTURE_HOST_SIZE = 128,
    KI_PICTURE_LEADER_SIZE = 257, /* a longer identity is cut */
    KI_PICTURE_OFTEN = 3          /* failures of a key in a row that a person must look at */
};

typedef struct ki_informer_row {
    uint64_t identity; /* of its line in the history */
    char *name;        /* "deployments.apps in shop (app=web)"; NULL without details */
    ki_health health;  /* with details only */
    ki_concern concern;
    bool is_synced;
    double events, objects, bytes, relists, pending;
    char causes[KI_PICTURE_CAUSES_SIZE]; /* "expired 2;closed 1" */
    const ki_informer *informer;         /* borrowed from the factory */
} ki_informer_row;

typedef struct ki_queue_row {
    uint64_t identity;
    char *name;
    double depth, longest_s, retries, failing;
    ki_controller_failure failure; /* with details only; of a controller */
    bool has_reconciles;           /* the queue of a controller */
    double reconciles, errors, running;
} ki_queue_row;

typedef struct ki_elector_row {
    uint64_t identity;
    char *name;
    bool leads;
    char leader[KI_PICTURE_LEADER_SIZE]; /* with details only; "": nobody */
} ki_elector_row;

typedef struct ki_picture {
    const ki_allocator *allocator;
    bool has_details;                /* names, health, failures and identities of leaders */
    char host[KI_PICTURE_HOST_SIZE]; /* of the API server; "": no request yet */
    ki_informer_row *informers;
    ki_queue_row *queues;
    ki_elector_row *electors;
    size_t informer_count, queue_count, elector_count;
    size_t informer_room, queue_room, elector_room;
    ki_status failed;
} ki_picture;

/* Makes a picture; with `details` the informers stand in the order of their concern. `collect` (may be NULL) adds
 * samples of the program. Ownership: the caller frees the picture with ki_picture_free, also after a failure.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_STATE. */
KI_INTERNAL_API ki_status ki_picture_take(ki_picture *picture, const ki_allocator *allocator, bool details,
                                          ki_factory *factory,
                                          void (*collect)(ki_sample_visitor visit, void *visit_user, void *user),
                                          void *user);
KI_INTERNAL_API void ki_picture_free(ki_picture *picture);

/* Returns true if a key has failed KI_PICTURE_OFTEN times in a row, or its error is not retried. */
KI_INTERNAL_API bool ki_picture_is_failing(const ki_queue_row *row);
/* Returns how many informers have not synced, or are stopped. */
KI_INTERNAL_API size_t ki_picture_unready(const ki_picture *picture);

#endif
