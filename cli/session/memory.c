/* memory.c: see memory.h. */
#include "memory.h"

#include "cli/output.h"

#include <kinformer/memory.h>

/* Times the JSON without managedFields that the caches of a Go and of a Rust program hold. From bench/RESULTS.md: a pod
 * of 7.1 KB takes 20.0 KB in client-go and 38.7 KB in kube. */
#define TIMES_OF_CLIENT_GO 2.8
#define TIMES_OF_KUBE 5.5

static void print_part(const char *what, size_t bytes, const ki_memory *memory) {
    char text[32];
    printf("  %-34s %12s %8zu\n", what, with_commas(bytes, text), bytes / memory->objects);
}

static void print_peer(const char *what, double times, const ki_memory *memory) {
    size_t json = memory->packed_json + memory->plain_bodies;
    print_part(what, (size_t)((double)json * times), memory);
}

/* Adds the memory of one informer. */
static void add(ki_memory *sum, const ki_informer *informer) {
    ki_memory one;
    ki_informer_memory((ki_informer *)(uintptr_t)informer, &one);
    sum->total += one.total;
    sum->fields += one.fields;
    sum->shared += one.shared;
    sum->plain_bodies += one.plain_bodies;
    sum->packed_bodies += one.packed_bodies;
    sum->dictionaries += one.dictionaries;
    sum->indexes += one.indexes;
    sum->objects += one.objects;
    sum->packed_objects += one.packed_objects;
    sum->packed_json += one.packed_json;
}

void memory_print(const session *s) {
    ki_memory sum = { .total = 0 };
    char text[32];
    for (size_t i = 0; i < s->target_count; i++)
        add(&sum, s->targets[i].informer);
    if (!sum.objects) {
        printf("no objects\n");
        return;
    }
    printf("%-36s %12s %8s\n", "OBJECTS", "BYTES", "EACH");
    printf("%-36s %12s %8zu\n", with_commas(sum.objects, text), "", sum.total / sum.objects);
    print_part("bodies, packed", sum.packed_bodies, &sum);
    print_part("bodies, not packed", sum.plain_bodies, &sum);
    print_part("what bodies are packed with", sum.dictionaries, &sum);
    print_part("read directly: key, uid, version", sum.fields, &sum);
    print_part("shared: kind, namespace, labels", sum.shared, &sum);
    print_part("store and indexes", sum.indexes, &sum);
    print_part("together", sum.total, &sum);
    print_part("their JSON", sum.packed_json + sum.plain_bodies, &sum);
    if (s->options->show_managed_fields)
        return;
    printf("measured in other programs (bench/RESULTS.md), for such JSON:\n");
    print_peer("client-go", TIMES_OF_CLIENT_GO, &sum);
    print_peer("kube (Rust)", TIMES_OF_KUBE, &sum);
}
