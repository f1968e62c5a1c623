/* body_bases.h: the bases (body_base.h) of one format's objects, by name. Objects of one owner have names with one
 * beginning: the base of "shop/cart-5b2gv7q5r9-mdgxn" is that of "shop/cart". The second object with such a name
 * becomes the base, and the second one that is not like it, or far smaller, the next base. All others, and small
 * bodies, have the common base: the codec's dictionary has the rest. The loop alone. */
#ifndef KI_OBJECT_BODY_BASES_H
#define KI_OBJECT_BODY_BASES_H

#include "src/base/buffer.h"
#include "src/base/map.h"
#include "src/object/body_base.h"
#include "src/object/seen.h"

enum {
    KI_BODY_SMALL = 1024,           /* bytes of bodies that have the common base, and of that */
    KI_BODY_TEXTS_MAX = 128 * 1024, /* bytes of the texts of bases that are not unpacked for each object */
    KI_BODY_TEXTS_PART = 8          /* and at most this part of the cache's bytes when the codec was made */
};

/* A base, and its name. */
typedef struct ki_named_base {
    ki_body_base *base; /* owned reference */
    char *text;         /* unpacked; NULL: it is in no list */
    struct ki_named_base *next, *previous;
    uint32_t name_size;
    char name[];
} ki_named_base;

typedef struct ki_body_bases {
    const ki_allocator *allocator;
    ki_map by_name;
    size_t table_bytes;   /* of `by_name`, which `bytes` has */
    ki_seen seen;         /* names */
    size_t swept_to;      /* how far ki_body_bases_sweep is */
    ki_named_base *texts; /* those with a text, the one that was used last first */
    size_t text_bytes, texts_max;
    _Atomic(size_t) bytes; /* any thread: of all bases of the format's objects, texts and names */
} ki_body_bases;

void ki_body_bases_init(ki_body_bases *bases, const ki_allocator *allocator);
/* Forgets all bases, for the next codec, of a cache with so many bytes. Objects still have theirs. */
void ki_body_bases_clear(ki_body_bases *bases, size_t cache_bytes);
void ki_body_bases_free(ki_body_bases *bases);

/* Looks at the next few bases, and frees those that no object has any more. */
void ki_body_bases_sweep(ki_body_bases *bases);

/* Returns the part of an object's key that those of its owner share: the name up to its first dot, without the last two
 * of its parts between dashes, but with the first one. */
ki_str ki_body_bases_name(ki_str key);
/* Writes the delta of the body of the object with this key, and returns its base, borrowed. Makes a base with the codec
 * where there is none. A body is not like its base if the delta has more than half of it. Errors: those of
 * ki_body_base_new and ki_body_base_read. */
ki_status ki_body_bases_delta(ki_body_bases *bases, ki_body_codec *codec, ki_str key, ki_str body, ki_buffer *ret_delta,
                              ki_body_base **ret_base);

#endif
