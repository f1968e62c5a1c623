/* answer.c: an answer's parts and its owners. */
#include "src/client/answer.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"

enum {
    FIRST_ITEMS = 64
};

ki_answer *ki_answer_new(ki_object_format *format, size_t body_limit) {
    const ki_allocator *allocator = ki_object_format_allocator(format);
    ki_answer *answer = ki_alloc_zero(allocator, sizeof *answer);
    if (!answer)
        return NULL;
    ki_refcount_init(&answer->refs);
    answer->allocator = *allocator;
    answer->format = ki_object_format_ref(format);
    answer->remaining = -1;
    ki_buffer_init(&answer->body, &answer->allocator, body_limit);
    return answer;
}

static ki_answer *writable(const ki_answer *answer) {
    return (ki_answer *)(uintptr_t)answer; /* the count of owners is all that changes */
}

ki_answer *ki_answer_ref(const ki_answer *answer) {
    if (answer)
        ki_refcount_inc(&writable(answer)->refs);
    return writable(answer);
}

void ki_answer_unref(const ki_answer *borrowed) {
    ki_answer *answer = writable(borrowed);
    if (!answer || !ki_refcount_dec(&answer->refs))
        return;
    ki_allocator allocator = answer->allocator;
    for (size_t i = 0; i < answer->item_count; i++)
        ki_object_unref(answer->items[i]);
    ki_free(&allocator, answer->items);
    ki_object_unref(answer->object);
    ki_free(&allocator, answer->resource_version);
    ki_free(&allocator, answer->continue_token);
    ki_refusal_free(answer->refusal);
    ki_buffer_free(&answer->body);
    ki_object_format_unref(answer->format);
    ki_free(&allocator, answer);
}

/* --- while it is made ------------------------------------------------------------------------------------------------------- */

ki_status ki_answer_add_item(ki_answer *answer, ki_object *obj) {
    if (answer->item_count == answer->item_capacity) {
        size_t capacity = answer->item_capacity ? answer->item_capacity * 2 : FIRST_ITEMS;
        ki_object **items = ki_realloc_array(&answer->allocator, answer->items, capacity, sizeof *items);
        if (!items)
            return KI_ERR_NO_MEMORY;
        answer->items = items;
        answer->item_capacity = capacity;
    }
    answer->items[answer->item_count++] = ki_object_ref(obj);
    return KI_OK;
}

ki_status ki_answer_take_meta(ki_answer *answer, const ki_list_meta *meta) {
    answer->resource_version = ki_strdup(&answer->allocator, meta->resource_version);
    answer->continue_token = ki_strdup(&answer->allocator, meta->continue_token);
    answer->remaining = meta->remaining_item_count;
    return answer->resource_version && answer->continue_token ? KI_OK : KI_ERR_NO_MEMORY;
}

static ki_str body_of(const ki_answer *answer) {
    return (ki_str){ answer->body.data, answer->body.size };
}

ki_status ki_answer_make_object(ki_answer *answer) {
    yyjson_doc *doc = NULL;
    ki_str body = body_of(answer);
    if (!body.size || body.data[0] != '{')
        return KI_OK;
    ki_status status = ki_json_parse(&answer->allocator, body, &doc, NULL);
    if (status)
        return status == KI_ERR_NO_MEMORY ? status : KI_OK;
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool is_object = !ki_str_equals(ki_json_string(root, "kind"), "Status") &&
                     ki_json_string(yyjson_obj_get(root, "metadata"), "name").size > 0;
    yyjson_doc_free(doc);
    if (is_object)
        status = ki_object_from_json(answer->format, body, NULL, NULL, &answer->object, NULL);
    return status == KI_ERR_NO_MEMORY ? status : KI_OK;
}

ki_status ki_answer_make_refusal(ki_answer *answer, int64_t retry_after_ms) {
    answer->refusal = ki_refusal_new(&answer->allocator, answer->http_status, body_of(answer), retry_after_ms);
    return answer->refusal ? KI_OK : KI_ERR_NO_MEMORY;
}

/* --- what anyone may read ------------------------------------------------------------------------------------------------------ */

int ki_answer_http_status(const ki_answer *answer) {
    return answer->http_status;
}

const ki_object *ki_answer_object(const ki_answer *answer) {
    return answer->object;
}

const ki_object *ki_answer_item(const ki_answer *answer, size_t index) {
    return index < answer->item_count ? answer->items[index] : NULL;
}

size_t ki_answer_item_count(const ki_answer *answer) {
    return answer->item_count;
}

const char *ki_answer_resource_version(const ki_answer *answer) {
    return answer->resource_version ? answer->resource_version : "";
}

const char *ki_answer_continue(const ki_answer *answer) {
    return answer->continue_token ? answer->continue_token : "";
}

int64_t ki_answer_remaining(const ki_answer *answer) {
    return answer->remaining;
}

const char *ki_answer_body(const ki_answer *answer, size_t *ret_size) {
    if (ret_size)
        *ret_size = answer->body.size;
    return answer->body.data ? answer->body.data : "";
}

ki_status ki_answer_field(const ki_answer *answer, const char *path, ki_value *ret_value, ki_error *err) {
    if (!answer || !path || !ret_value)
        return ki_error_missing(err, "ki_answer_field");
    return ki_json_field(answer->format, body_of(answer), "the answer", path, ret_value, err);
}

const ki_refusal *ki_answer_refusal(const ki_answer *answer) {
    return answer->refusal;
}
