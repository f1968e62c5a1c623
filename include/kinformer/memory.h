/* memory.h: where the memory of an informer is.
 *
 *     ki_memory memory;
 *     ki_informer_memory(pods, &memory);
 *     printf("%zu pods take %zu bytes, %zu of them are packed\n", memory.objects, memory.total, memory.packed_objects);
 *
 * An informer with a memory_limit (informer.h) reports once that its objects take more. */
#ifndef KINFORMER_MEMORY_H
#define KINFORMER_MEMORY_H

#include <kinformer/informer.h>

KI_BEGIN_DECLS

/* The memory of an informer's cache, in bytes as they were requested from the allocator, without the allocator's own
 * overhead. The informer's structs, its connection, its queue, and what a factory packs and unpacks bodies in are not
 * counted: docs/performance.md has their sizes. Nor are older dictionaries that only objects outside the cache have. */
typedef struct ki_memory {
    size_t total; /* the sum of the bytes up to `deleted` */
    /* Of the objects in the cache. */
    size_t fields;        /* what is read directly of each: key, uid, version, view, labels that few have */
    size_t shared;        /* what objects have in common: kind, namespace, labels of many */
    size_t plain_bodies;  /* JSON; of an object without its content a digest of 8 bytes */
    size_t packed_bodies; /* packed JSON */
    size_t dictionaries;  /* what packed bodies have in common, and what the next bodies are packed with */
    size_t indexes;       /* how objects are found: by key, and by each index */
    /* Beside them. */
    size_t waiting; /* changes that wait for handlers, with the new states; those that the cache has as well, too */
    size_t deleted; /* deleted objects (ki_informer_options.keep_deleted_ms), and how they are found */
    /* Numbers. */
    size_t objects;        /* objects in the cache */
    size_t packed_objects; /* those with packed bodies */
    size_t packed_json;    /* bytes of JSON that the packed bodies have */
} ki_memory;

/* Writes the first `size` bytes of the informer's memory. Programs call ki_informer_memory, which passes the size of
 * their ki_memory: later versions of the library add members at the end.
 * Threads: any. Blocks: until it has counted each object and each node of the indexes. The loop continues meanwhile. */
KI_API void ki_informer_memory_sized(ki_informer *informer, ki_memory *ret_memory, size_t size);

/* Writes where the informer's memory is. Threads, Blocks: as ki_informer_memory_sized. */
static inline void ki_informer_memory(ki_informer *informer, ki_memory *ret_memory) {
    ki_informer_memory_sized(informer, ret_memory, sizeof *ret_memory);
}

KI_END_DECLS

#endif
