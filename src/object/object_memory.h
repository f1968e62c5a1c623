/* object_memory.h: adds up the memory of many objects. Any thread, each with a sum of its own. */
#ifndef KI_OBJECT_OBJECT_MEMORY_H
#define KI_OBJECT_OBJECT_MEMORY_H

#include <kinformer/memory.h>

#include "src/object/format.h"

enum {
    KI_OBJECT_MEMORY_CODECS = 64 /* dictionaries that are counted; a cache has a handful */
};

typedef struct ki_object_memory_sum {
    ki_memory memory;                         /* the members of objects and bodies */
    uint64_t codecs[KI_OBJECT_MEMORY_CODECS]; /* their numbers */
    size_t codec_count;
} ki_object_memory_sum;

/* Adds an object, and the dictionary of its packed body. A dictionary counts once in a sum. */
void ki_object_add_memory(const ki_object *obj, ki_object_memory_sum *sum);
/* Adds the dictionary with which the next objects of a format are packed, if there is one. */
void ki_object_format_add_memory(const ki_object_format *format, ki_object_memory_sum *sum);

#endif
