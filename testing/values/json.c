/* json.c: see json.h. */
#include "testing/values/json.h"

static void *alc_malloc(void *ctx, size_t size) {
    const ki_allocator *allocator = ctx;
    return allocator->alloc(size, allocator->user);
}

static void *alc_realloc(void *ctx, void *memory, size_t old_size, size_t size) {
    const ki_allocator *allocator = ctx;
    (void)old_size;
    return allocator->realloc(memory, size, allocator->user);
}

static void alc_free(void *ctx, void *memory) {
    const ki_allocator *allocator = ctx;
    if (memory)
        allocator->free(memory, allocator->user);
}

yyjson_alc kt_json_alc(const ki_allocator *allocator) {
    union {
        const ki_allocator *in;
        void *out; /* yyjson returns this pointer unchanged */
    } ctx = { allocator };
    return (yyjson_alc){ alc_malloc, alc_realloc, alc_free, ctx.out };
}

static bool spend(kt_json_allowance *from, size_t size) {
    if (size > from->left)
        from->exceeded = true;
    else
        from->left -= size;
    return !from->exceeded;
}

static void *allowed_malloc(void *ctx, size_t size) {
    kt_json_allowance *from = ctx;
    return spend(from, size) ? from->allocator->alloc(size, from->allocator->user) : NULL;
}

static void *allowed_realloc(void *ctx, void *memory, size_t old_size, size_t size) {
    kt_json_allowance *from = ctx;
    (void)old_size;
    return spend(from, size) ? from->allocator->realloc(memory, size, from->allocator->user) : NULL;
}

static void allowed_free(void *ctx, void *memory) {
    kt_json_allowance *from = ctx;
    if (memory)
        from->allocator->free(memory, from->allocator->user);
}

yyjson_alc kt_json_limited_alc(kt_json_allowance *allowance) {
    return (yyjson_alc){ allowed_malloc, allowed_realloc, allowed_free, allowance };
}

bool kt_json_is_too_deep(ki_str text) {
    const char *at = text.data, *end = text.data + text.size;
    size_t depth = 0;
    for (; at < end; at++) {
        if (*at == '{' || *at == '[') {
            if (++depth > KT_JSON_MAX_DEPTH)
                return true;
        } else if (*at == '}' || *at == ']') {
            depth -= depth > 0;
        } else if (*at == '"') { /* skip strings: most bytes are in them */
            const char *quote = at;
            size_t escapes;
            do {
                quote = memchr(quote + 1, '"', (size_t)(end - quote - 1));
                if (!quote)
                    return false; /* not JSON */
                for (escapes = 0; quote[-1 - (ptrdiff_t)escapes] == '\\'; escapes++)
                    ;
            } while (escapes % 2);
            at = quote;
        }
    }
    return false;
}

ki_status kt_json_read_trusted(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, const char **ret_why) {
    union {
        const char *in;
        char *out; /* yyjson only reads it, without YYJSON_READ_INSITU */
    } data = { text.data };
    yyjson_read_err err = { .msg = "unexpected end of JSON input" };
    yyjson_alc alc = kt_json_alc(allocator);
    yyjson_doc *doc = text.size ? yyjson_read_opts(data.out, text.size, 0, &alc, &err) : NULL;
    if (!doc && err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return KI_ERR_NO_MEMORY;
    if (!doc && ret_why)
        *ret_why = err.msg;
    if (!doc)
        return KI_ERR_PARSE;
    *ret_doc = doc;
    return KI_OK;
}

ki_status kt_json_read(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, const char **ret_why) {
    if (!kt_json_is_too_deep(text))
        return kt_json_read_trusted(allocator, text, ret_doc, ret_why);
    if (ret_why)
        *ret_why = "exceeded max depth";
    return KI_ERR_PARSE;
}

/* The allocator of a writer that writes directly behind a buffer's end. It saves one allocation and one copy for
 * each value. Only yyjson's first block goes there. A buffer with a limit gets a copy, because yyjson asks for more
 * memory than the text needs. */
static bool is_at_end(const ki_buffer *out, const void *memory) {
    return out->data && memory == out->data + out->size;
}

typedef struct tail {
    ki_buffer *out;
    bool taken;
} tail;

static void *tail_malloc(void *ctx, size_t size) {
    tail *t = ctx;
    ki_buffer *out = t->out;
    if (t->taken || out->limit)
        return out->allocator->alloc(size, out->allocator->user);
    if (ki_buffer_reserve(out, size))
        return NULL;
    t->taken = true;
    return out->data + out->size;
}

static void *tail_realloc(void *ctx, void *memory, size_t old_size, size_t size) {
    tail *t = ctx;
    ki_buffer *out = t->out;
    (void)old_size;
    if (!is_at_end(out, memory))
        return out->allocator->realloc(memory, size, out->allocator->user);
    const char first = out->data[out->size]; /* ki_buffer_reserve ends the buffer's text with a zero byte here */
    if (ki_buffer_reserve(out, size))
        return NULL;
    out->data[out->size] = first;
    return out->data + out->size;
}

static void tail_free(void *ctx, void *memory) {
    tail *t = ctx;
    if (memory && !is_at_end(t->out, memory))
        t->out->allocator->free(memory, t->out->allocator->user);
}

static ki_status append_text(ki_buffer *out, char *text, size_t size) {
    ki_status status = KI_OK;
    if (text && is_at_end(out, text)) {
        out->size += size;
    } else if (text) {
        status = ki_buffer_append(out, text, size);
        out->allocator->free(text, out->allocator->user);
    } else {
        status = out->failed = KI_ERR_NO_MEMORY;
    }
    if (out->data)
        out->data[out->size] = '\0';
    return status;
}

ki_status kt_json_append(ki_buffer *out, yyjson_val *val) {
    tail t = { .out = out };
    yyjson_alc alc = { tail_malloc, tail_realloc, tail_free, &t };
    size_t size = 0;
    char *text = yyjson_val_write_opts(val, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &alc, &size, NULL);
    return append_text(out, text, size);
}

ki_status kt_json_append_mut(ki_buffer *out, yyjson_mut_val *val) {
    tail t = { .out = out };
    yyjson_alc alc = { tail_malloc, tail_realloc, tail_free, &t };
    size_t size = 0;
    char *text = yyjson_mut_val_write_opts(val, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &alc, &size, NULL);
    return append_text(out, text, size);
}

ki_str kt_json_str(yyjson_val *val) {
    const char *text = yyjson_get_str(val);
    return (ki_str){ text, text ? unsafe_yyjson_get_len(val) : 0 };
}

ki_str kt_json_get_str(yyjson_val *obj, const char *key) {
    return kt_json_str(yyjson_obj_get(obj, key));
}

bool kt_json_has(yyjson_val *obj, const char *key) {
    yyjson_val *val = yyjson_obj_get(obj, key);
    return val && !yyjson_is_null(val);
}

bool kt_json_is_nothing(yyjson_val *val) {
    return !val || yyjson_is_null(val) || (yyjson_is_ctn(val) && yyjson_get_len(val) == 0);
}

bool kt_json_list_has(yyjson_val *list, size_t end, const char *key, ki_str text) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(list, index, count, one) {
        if (index == end)
            break;
        if (ki_str_equal(key ? kt_json_get_str(one, key) : kt_json_str(one), text))
            return true;
    }
    return false;
}

ki_status kt_json_freeze(const ki_allocator *allocator, yyjson_mut_val *val, yyjson_doc **ret_doc) {
    yyjson_alc alc = kt_json_alc(allocator);
    yyjson_doc *doc = val ? yyjson_mut_val_imut_copy(val, &alc) : NULL;
    if (!doc)
        return KI_ERR_NO_MEMORY;
    *ret_doc = doc;
    return KI_OK;
}
