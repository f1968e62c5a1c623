/* object_memory.h: adds up the memory of many objects. One thread. */
#ifndef KI_OBJECT_OBJECT_MEMORY_H
#define KI_OBJECT_OBJECT_MEMORY_H

#include <kinformer/memory.h>

#include "src/object/body_codec.h"

enum {
    KI_OBJECT_MEMORY_CODECS = 64 /* dictionaries that are counted; a cache has a handful */
};

typedef struct ki_object_memory_sum {
    ki_memory memory; /* the members of objects and bodies */
    const ki_body_codec *codecs[KI_OBJECT_MEMORY_CODECS];
    size_t codec_count;
} ki_object_memory_sum;

/* Adds an object. A dictionary counts once. */
void ki_object_add_memory(const ki_object *obj, ki_object_memory_sum *sum);

#endif
