/* object_memory.c: see object_memory.h. */
#include "src/object/object_memory.h"

#include "src/object/body.h"

static void add_codec(const ki_body_codec *codec, ki_object_memory_sum *sum) {
    for (size_t i = sum->codec_count; i > 0; i--) /* mostly the latest */
        if (sum->codecs[i - 1] == codec)
            return;
    if (sum->codec_count == KI_OBJECT_MEMORY_CODECS)
        return;
    sum->codecs[sum->codec_count++] = codec;
    sum->memory.dictionaries += ki_body_codec_memory(codec);
}

void ki_object_add_memory(const ki_object *obj, ki_object_memory_sum *sum) {
    size_t body = ki_object_memory(obj) - obj->body_at;
    sum->memory.objects++;
    sum->memory.fields += obj->body_at;
    if (!obj->is_packed) {
        sum->memory.plain_bodies += body;
        return;
    }
    sum->memory.packed_objects++;
    sum->memory.packed_bodies += body;
    sum->memory.packed_json += obj->body_size;
    add_codec(ki_object_packed_body(obj)->codec, sum);
}
