/* body.c: see body.h. */
#include "src/object/body.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"
#include "src/object/json_text.h"
#include "src/object/object_memory.h"

#include <string.h>

static ki_status fail(const ki_object *obj, ki_status status, ki_error *err) {
    if (status == KI_ERR_NO_MEMORY)
        return ki_error_no_memory(err, "reading an object");
    return ki_error_set(err, status, "%s was changed in place: an object of the cache must not be written to",
                        ki_object_key(obj));
}

static ki_status open_packed(const ki_object *obj, ki_body *ret_body) {
    KI_ASSERT(obj->is_packed);
    const ki_packed_body *packed = ki_object_packed_body(obj);
    *ret_body = (ki_body){ .unpacked = NULL };
    ki_status status = ki_packed_body_open(packed, obj->body_size, &ret_body->unpacked);
    if (!status)
        ret_body->text = (ki_str){ ret_body->unpacked->text, obj->body_size };
    return status;
}

static ki_body plain_body(const ki_object *obj) {
    return (ki_body){ .text = ki_object_plain_body(obj) };
}

ki_status ki_body_open(const ki_object *obj, ki_body *ret_body, ki_error *err) {
    if (!obj->is_packed) {
        *ret_body = plain_body(obj);
        return KI_OK;
    }
    ki_status status = open_packed(obj, ret_body);
    return status ? fail(obj, status, err) : KI_OK;
}

ki_body ki_body_open_surely(const ki_object *obj) {
    if (!obj->is_packed)
        return plain_body(obj);
    ki_body body;
    if (open_packed(obj, &body) != KI_ERR_NO_MEMORY)
        return body;
    const char *text = ki_packed_body_open_reserve(ki_object_packed_body(obj), obj->body_size);
    body.is_reserve = text != NULL;
    if (text)
        body.text = (ki_str){ text, obj->body_size };
    return body;
}

void ki_body_close(const ki_object *obj, const ki_body *body) {
    KI_ASSERT(!body->is_reserve || !body->unpacked);
    if (body->is_reserve)
        ki_packed_body_end(ki_object_packed_body(obj));
    else if (body->unpacked)
        ki_packed_body_close(ki_object_packed_body(obj), body->unpacked);
}

ki_str ki_body_metadata(const ki_body *body, ki_str name) {
    return ki_json_text_member(ki_json_text_find(body->text, KI_STR("metadata")), name);
}

ki_status ki_body_copy(const ki_object *obj, char **ret_text, ki_error *err) {
    const ki_allocator *allocator = &ki_format_of(obj)->allocator;
    const size_t size = obj->body_size;
    char *text = ki_alloc(allocator, size + 1);
    if (!text)
        return fail(obj, KI_ERR_NO_MEMORY, err);
    ki_status status = KI_OK;
    if (obj->is_packed)
        status = ki_packed_body_read(ki_object_packed_body(obj), text, size);
    else if (size)
        memcpy(text, ki_object_plain_body(obj).data, size);
    if (status) {
        ki_free(allocator, text);
        return fail(obj, status, err);
    }
    text[size] = '\0';
    *ret_text = text;
    return KI_OK;
}

ki_status ki_body_parse(const ki_object *obj, const ki_allocator *allocator, yyjson_doc **ret_doc, ki_error *err) {
    ki_body body = { .unpacked = NULL };
    ki_status status = ki_body_open(obj, &body, err);
    if (status)
        return status;
    status = ki_json_parse(allocator, body.text, ret_doc, err);
    ki_body_close(obj, &body);
    return status;
}

/* --- how much memory ---------------------------------------------------------------------------------------------- */

static void add_codec(uint64_t number, size_t bytes, ki_object_memory_sum *sum) {
    for (size_t i = sum->codec_count; i > 0; i--) /* mostly the latest */
        if (sum->codecs[i - 1] == number)
            return;
    if (sum->codec_count == KI_OBJECT_MEMORY_CODECS)
        return;
    KI_ASSERT(number != 0);
    sum->codecs[sum->codec_count++] = number;
    sum->memory.dictionaries += bytes;
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
    const ki_body_codec *codec = ki_object_packed_body(obj)->base->codec;
    add_codec(ki_body_codec_number(codec), ki_body_codec_memory(codec), sum);
}

void ki_object_format_add_memory(const ki_object_format *format, ki_object_memory_sum *sum) {
    uint64_t number = atomic_load(&format->packer.codec_number);
    if (number)
        add_codec(number, atomic_load(&format->packer.codec_bytes), sum);
    sum->memory.dictionaries += ki_object_format_base_bytes(format);
}
