/* bodies.h: bodies of objects that are like each other, and a codec that is made of some. */
#ifndef TESTS_UNIT_OBJECT_BODIES_H
#define TESTS_UNIT_OBJECT_BODIES_H

#include "src/object/body_codec.h"

#include <stdio.h>

enum {
    BODY_SAMPLES = 32,
    BODY_SIZE = 2048, /* bytes of the memory for a body, which has 1.2 KB or more */
#ifdef __SANITIZE_ADDRESS__
    BODY_ROUNDED_UP = 0
#else
    BODY_ROUNDED_UP = 24 /* bytes of a block that malloc gives beyond those that it was asked for */
#endif
};

/* Writes the body with this number to `to`, of BODY_SIZE bytes. Those of one kind
 * differ in name and uid. */
static inline ki_str body_of(char *to, unsigned number, const char *kind) {
    size_t room = BODY_SIZE;
    size_t size =
        (size_t)snprintf(to, room, "{\"kind\":\"%s\",\"metadata\":{\"name\":\"n-%u\",\"uid\":\"%08x\"},\"spec\":[",
                         kind, number, number * 2654435761u);
    for (unsigned i = 0; i < 50; i++)
        size += (size_t)snprintf(to + size, room - size, "{\"%s-%u\":\"%s %u\"},", kind, i, kind, i * 31);
    size += (size_t)snprintf(to + size, room - size, "{}]}");
    return (ki_str){ to, size };
}

/* Makes a codec of `count` bodies of the kind "Sample", at most BODY_SAMPLES. */
static inline ki_status make_codec(ki_body_contexts *contexts, size_t count, ki_body_codec **ret_codec) {
    static char texts[BODY_SAMPLES][BODY_SIZE];
    ki_str samples[BODY_SAMPLES];
    for (unsigned i = 0; i < count; i++)
        samples[i] = body_of(texts[i], i, "Sample");
    return ki_body_codec_new(contexts, samples, count, ret_codec);
}

#endif
