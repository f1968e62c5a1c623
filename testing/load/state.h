/* state.h: the struct of a load, for this room. */
#ifndef KT_LOAD_STATE_H
#define KT_LOAD_STATE_H

#include "src/base/ring.h"
#include "testing/load/app.h"
#include "testing/load/load.h"
#include "testing/load/text.h"

enum {
    KT_LOAD_NAME = 64,         /* bytes of a name of the load */
    KT_LOAD_TEXT_KEPT = 65536, /* bytes that a buffer keeps */
    KT_LOAD_CHANCES = 1024,
    KT_LOAD_ENDPOINTS = 100 /* most of an EndpointSlice */
};

typedef enum kt_load_step {
    KT_LOAD_GONE,
    KT_LOAD_WITHOUT_JOB, /* a CronJob's: its Job is deleted, too */
    KT_LOAD_WITH_JOB,    /* its next Job is there */
    KT_LOAD_PENDING,
    KT_LOAD_SCHEDULED,
    KT_LOAD_STARTING,
    KT_LOAD_INITIALIZING, /* only with an init container */
    KT_LOAD_STARTED,
    KT_LOAD_READY,
    KT_LOAD_SUCCEEDED,
    KT_LOAD_FAILED,
    KT_LOAD_DELETING
} kt_load_step;

typedef struct kt_load_pod {
    uint32_t workload;
    uint32_t node;
    uint32_t number; /* of this pod object; determines its digits */
    uint32_t restarts;
    uint32_t marks; /* changes of its annotation and label so far */
    int64_t made_s;
    int64_t started_s; /* its container */
    int64_t changed_s; /* last change of readiness, or of the phase */
    uint8_t after[3];  /* seconds after `made_s`: scheduled, with a sandbox, initialized */
    uint8_t step;      /* kt_load_step */
    bool ready;
    bool failing;     /* pending: it fits nowhere; starting: without its image; started: crashes again and again */
    bool moving;      /* the ring of that name has it */
    bool is_labelled; /* it has the label that changes, too */
} kt_load_pod;

typedef struct kt_load_workload {
    const kt_load_app *app;
    char name[40];
    char hash[11];
    char uid[40]; /* of what owns its pods; "": nothing or a Job of each */
    char service_uid[40];
    uint32_t number;
    uint32_t first_pod, pod_count;
    uint32_t first_slice, slice_count; /* 0: it has no Service */
    int64_t made_s;
    char *pod_text;     /* template of a pod: the body */
    char *managed_text; /* template of the managedFields of the body */
} kt_load_workload;

typedef struct kt_load_node {
    int64_t made_s;
    int64_t beat_s;    /* last heartbeat */
    uint32_t renewals; /* of its Lease */
} kt_load_node;

typedef struct kt_load_event {
    kt_load_pod pod; /* as it was then */
    char uid[40];    /* of the pod */
    uint32_t index;  /* of its slot */
    uint32_t number;
    uint32_t count; /* 0: there is no such event now */
    int64_t made_s;
    uint8_t reason;
} kt_load_event;

struct kt_load {
    ki_allocator allocator;
    kt_cluster *cluster;
    bool managed_fields;
    char *stamp;
    uint64_t seed, draws;
    uint32_t next_number;
    kt_load_pod *pods;
    size_t pod_count;
    kt_load_workload *workloads;
    size_t workload_count;
    size_t slice_count;
    kt_load_node *nodes;
    size_t node_count;
    kt_load_event *events;
    size_t event_count;
    uint32_t next_event;
    char *templates[KT_LOAD_TEMPLATES];
    ki_ring moving;                        /* of uint32_t: pods between two steps, each once */
    bool *outdated;                        /* for each EndpointSlice: the ring `outdating` has it */
    ki_ring outdating;                     /* of uint32_t: EndpointSlices that differ from their pods */
    ki_buffer body, status, managed, text; /* of the object that is being made */
    int64_t now_s;                         /* Unix time of the current change */
};

/* ---- load.c ---- */

uint64_t kt_load_draw(kt_load *load);
size_t kt_load_below(kt_load *load, size_t bound);
/* Appends a template. */
void kt_load_add(const kt_load *load, ki_buffer *out, kt_load_template which, const kt_load_fields *fields);
/* Empties `body` and `status`, into which the caller then writes an object. */
void kt_load_begin(kt_load *load);
/* Writes the object { body, status } with managedFields of its writers, if there are any, in the place of `M. NULL: no
 * writer. */
ki_status kt_load_put(kt_load *load, const ki_resource *resource, const char *spec_writer, const char *status_writer,
                      int64_t now_ms, ki_error *err);
/* The same with the entries of managedFields that are in `managed`. */
ki_status kt_load_put_managed(kt_load *load, const ki_resource *resource, int64_t now_ms, ki_error *err);
/* Deletes an object, if it is there. */
ki_status kt_load_delete(kt_load *load, const ki_resource *resource, const char *ns, const char *name, int64_t now_ms,
                         ki_error *err);
/* Returns the uid of an object; "": there is no such object. */
ki_str kt_load_uid(const kt_load *load, const ki_resource *resource, const char *ns, const char *name);

/* ---- managed.c ---- */

/* Appends an entry of managedFields: what `manager` owns after it changed the object from `before` to `after`, both
 * without the braces. */
void kt_load_add_managed(kt_load *load, const ki_resource *resource, const char *manager, const char *subresource,
                         int64_t now_ms, ki_str before, ki_str after);

/* ---- pod.c ---- */

/* Writes the letters of a pod's generated name: those of two numbers differ. */
void kt_load_write_suffix(uint32_t number, char suffix[KT_LOAD_SUFFIX + 1]);
void kt_load_pod_name(const kt_load *load, const kt_load_pod *p, size_t index, char name[KT_LOAD_NAME]);
void kt_load_job_name(const kt_load *load, const kt_load_pod *p, char name[KT_LOAD_NAME]);
/* Sets the fields of a pod's name, node and addresses. */
void kt_load_set_pod(const kt_load *load, const kt_load_pod *p, size_t index, kt_load_fields *fields);
ki_status kt_load_put_pod(kt_load *load, size_t index, int64_t now_ms, int64_t stamp_ns, ki_error *err);
bool kt_load_has_address(const kt_load_pod *p);

/* ---- workload.c ---- */

/* Divides the pods among workloads. */
ki_status kt_load_plan(kt_load *load, ki_error *err);
void kt_load_set_workload(const kt_load *load, const kt_load_workload *w, kt_load_fields *fields);
/* Creates a workload's objects but for its pods. */
ki_status kt_load_make_workload(kt_load *load, kt_load_workload *w, ki_error *err);
ki_status kt_load_put_job(kt_load *load, const kt_load_workload *w, const char *name, uint32_t pods, int64_t now_ms,
                          ki_error *err);

/* ---- slice.c ---- */

/* Notes that the endpoint of a pod has changed. */
ki_status kt_load_outdate(kt_load *load, size_t index);
/* Writes the EndpointSlice that has been out of date for longest. Sets `*ret_written` to true if there was one. */
ki_status kt_load_update_slice(kt_load *load, int64_t now_ms, bool *ret_written, ki_error *err);

/* ---- node.c ---- */

void kt_load_set_node(uint32_t node, kt_load_fields *fields);
ki_status kt_load_put_node(kt_load *load, uint32_t index, int64_t now_ms, ki_error *err);
ki_status kt_load_put_lease(kt_load *load, uint32_t index, int64_t now_ms, ki_error *err);
/* Makes the event of a random slot, counts it again, or deletes it. */
ki_status kt_load_change_event(kt_load *load, int64_t now_ms, ki_error *err);

#endif
