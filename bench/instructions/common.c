/* common.c: see paths.h. */
#include "bench/instructions/paths.h"

#include <stdio.h>
#include <stdlib.h>

/* --- memory ------------------------------------------------------------------------------------------------------- */

enum {
    SMALL_STEP = 16,
    SMALL_MAX = 1024, /* larger blocks have a power of two */
    CLASSES = SMALL_MAX / SMALL_STEP + 1 + 32
};

typedef union block {
    struct {
        union block *next; /* of a free block */
        unsigned class;
        size_t size; /* without this header */
    } head;
    max_align_t alignment;
} block;

static block *free_blocks[CLASSES];
unsigned long allocations;

static unsigned class_of(size_t size, size_t *ret_room) {
    if (size <= SMALL_MAX) {
        *ret_room = (size + SMALL_STEP - 1) / SMALL_STEP * SMALL_STEP;
        return (unsigned)(*ret_room / SMALL_STEP);
    }
    unsigned bits = 64 - (unsigned)__builtin_clzll(size - 1);
    *ret_room = (size_t)1 << bits;
    return SMALL_MAX / SMALL_STEP + bits - 10;
}

static void *fixed_alloc(size_t size, void *user) {
    size_t room;
    unsigned class = class_of(size, &room);
    block *taken = free_blocks[class];
    (void)user;
    allocations++;
    if (taken) {
        free_blocks[class] = taken->head.next;
        return taken + 1;
    }
    taken = malloc(sizeof *taken + room);
    need(taken != NULL, "no memory");
    taken->head.class = class;
    taken->head.size = room;
    return taken + 1;
}

static void fixed_free(void *memory, void *user) {
    (void)user;
    if (!memory)
        return;
    block *freed = (block *)memory - 1;
    freed->head.next = free_blocks[freed->head.class];
    free_blocks[freed->head.class] = freed;
}

static void *fixed_realloc(void *memory, size_t size, void *user) {
    size_t before = memory ? ((block *)memory - 1)->head.size : 0;
    if (memory && size <= before) {
        allocations++;
        return memory;
    }
    void *moved = fixed_alloc(size, user);
    if (before)
        memcpy(moved, memory, before);
    fixed_free(memory, user);
    return moved;
}

const ki_allocator fixed_memory = { fixed_alloc, fixed_realloc, fixed_free, NULL };

/* --- time --------------------------------------------------------------------------------------------------------- */

enum {
    SECOND = 1000000000
};

static int64_t now_of_engine = 1000 * (int64_t)SECOND;

static int64_t engine_now(void *user) {
    (void)user;
    return now_of_engine;
}

ki_engine *new_engine(void) {
    static const ki_clock clock = { .now = engine_now, .wall_now = engine_now };
    ki_engine *engine = NULL;
    const ki_engine_options options = KI_ENGINE_OPTIONS(.allocator = &fixed_memory, .clock = &clock, .seed = 1);
    need(!ki_engine_new(&options, &engine, NULL), "engine");
    return engine;
}

void step_all(ki_engine *engine) {
    do {
        need(!ki_engine_step(engine, 0, NULL), "step");
    } while (ki_engine_timeout(engine) == 0);
}

/* --- input -------------------------------------------------------------------------------------------------------- */

const ki_field pod_fields[] = {
    KI_FIELD(pod_view, node, "spec.nodeName"),
    KI_FIELD(pod_view, phase, "status.phase"),
    KI_FIELD_END,
};

static char *read_pod(void) {
    enum {
        SIZE_MAX_OF_POD = 64 * 1024
    };
    char *text = calloc(1, SIZE_MAX_OF_POD);
    FILE *file = fopen(KI_TEST_DATA_DIR "/pod.json", "re");
    need(text && file && fread(text, 1, SIZE_MAX_OF_POD - 1, file) > 0, "tests/data/pod.json");
    fclose(file);
    return text;
}

/* Appends text, and returns its place. */
static char *append(pod_events *events, const char *text, size_t size) {
    char *place = events->text + events->size;
    memcpy(place, text, size);
    events->size += size;
    return place;
}

const pod_events *load_pods(void) {
    static const char before[] = "{\"type\":\"MODIFIED\",\"object\":", suffix[] = "x7k2p",
                      member[] = "\"resourceVersion\":\"", hash[] = "\"pod-template-hash\":\"";
    static pod_events events;
    char *pod = read_pod(), digits[8];
    char *name = strstr(pod, suffix), *version = strstr(pod, member), *label = strstr(pod, hash);
    size_t size = strcspn(pod, "\n");
    need(name && version && label, "the pod has another form");
    version += sizeof member - 1;
    label += sizeof hash - 1;
    events.text = malloc(PODS * (size + sizeof before + 2));
    need(events.text != NULL, "no memory");
    for (unsigned i = 0; i < PODS; i++) {
        snprintf(digits, sizeof digits, "%05u", i);
        memcpy(name, digits, sizeof suffix - 1);
        append(&events, before, sizeof before - 1);
        events.objects[i] = (ki_str){ append(&events, pod, size), size };
        events.versions[i] = events.text + (events.objects[i].data - events.text) + (version - pod);
        events.labels[i] = events.text + (events.objects[i].data - events.text) + (label - pod);
        append(&events, "}\n", 2);
    }
    free(pod);
    return &events;
}

/* Writes the next numbers over `digits` digits at these places. */
static void renew(char *const places[PODS], unsigned *next, int digits) {
    char text[16];
    for (unsigned i = 0; i < PODS; i++) {
        snprintf(text, sizeof text, "%u", (*next)++);
        memcpy(places[i], text, (size_t)digits);
    }
}

void renew_versions(const pod_events *events) {
    static unsigned next = 100000000;
    renew(events->versions, &next, VERSION_DIGITS);
}

void renew_labels(const pod_events *events) {
    static unsigned next = 1000000000;
    renew(events->labels, &next, LABEL_DIGITS);
}
