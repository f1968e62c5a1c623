/* random_json.h: objects as JSON text, made from a seed: any order of members, all forms of numbers and strings, white
 * space. A test compares what the library makes of one with what is expected, which is written beside. */
#ifndef TESTS_SUPPORT_RANDOM_RANDOM_JSON_H
#define TESTS_SUPPORT_RANDOM_RANDOM_JSON_H

#include "src/base/buffer.h"

typedef struct random_json {
    ki_buffer text;    /* what a server could send */
    ki_buffer whole;   /* without white space, with apiVersion and kind */
    ki_buffer without; /* the same without metadata.managedFields */
    uint64_t state;
    bool in_managed_fields;
} random_json;

#define RANDOM_JSON_API_VERSION "example.com/v1"
#define RANDOM_JSON_KIND "Thing"

void random_json_init(random_json *self);
void random_json_free(random_json *self);
/* Replaces the texts by those of another seed. Ends the program without memory. */
void random_json_make(random_json *self, uint64_t seed);

#endif
