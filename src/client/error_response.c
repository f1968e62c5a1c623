/* error_response.c: a server's Status in one block of memory: the allocator that frees it, the struct, its causes,
 * their strings. */
#include "src/client/response.h"

#include "src/base/memory.h"
#include "src/object/json.h"
#include "src/wire/status.h"

#include <stddef.h>

typedef struct block {
    ki_allocator allocator;
    ki_error_response error_response;
    ki_cause causes[];
} block;

/* Runs twice: with `room` NULL to measure, then with `room` at the end of the block to copy. */
typedef struct strings {
    char *room;
    size_t used;
} strings;

static const char *keep(strings *to, ki_str text) {
    const char *place = to->room ? to->room + to->used : "";
    if (to->room) {
        if (text.size)
            memcpy(to->room + to->used, text.data, text.size);
        to->room[to->used + text.size] = '\0';
    }
    to->used += text.size + 1;
    return place;
}

static void fill(ki_error_response *error_response, ki_cause *causes, size_t cause_count, yyjson_val *root, ki_str text,
                 strings *to) {
    yyjson_val *details = yyjson_obj_get(root, "details");
    error_response->reason = keep(to, ki_json_string(root, "reason"));
    error_response->message = keep(to, root ? ki_json_string(root, "message") : text);
    error_response->group = keep(to, ki_json_string(details, "group"));
    error_response->kind = keep(to, ki_json_string(details, "kind"));
    error_response->name = keep(to, ki_json_string(details, "name"));
    error_response->uid = keep(to, ki_json_string(details, "uid"));
    error_response->causes = causes;
    error_response->cause_count = cause_count;
    size_t index, count;
    yyjson_val *cause;
    yyjson_arr_foreach(yyjson_obj_get(details, "causes"), index, count, cause) {
        if (index >= cause_count)
            break;
        ki_cause at = { .reason = keep(to, ki_json_string(cause, "reason")),
                        .message = keep(to, ki_json_string(cause, "message")),
                        .field = keep(to, ki_json_string(cause, "field")) };
        if (causes)
            causes[index] = at;
    }
}

static block *new_block(const ki_allocator *allocator, size_t cause_count, size_t strings_size) {
    size_t head = offsetof(block, causes) + cause_count * sizeof(ki_cause);
    block *made = ki_alloc_zero(allocator, head + strings_size);
    if (made)
        made->allocator = *allocator;
    return made;
}

static ki_error_response *build(const ki_allocator *allocator, yyjson_val *root, ki_str text) {
    size_t cause_count = yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(root, "details"), "causes"));
    if (cause_count > KI_CLIENT_CAUSES_MAX)
        cause_count = KI_CLIENT_CAUSES_MAX;
    strings measure = { NULL, 0 };
    ki_error_response nothing;
    fill(&nothing, NULL, cause_count, root, text, &measure);
    block *made = new_block(allocator, cause_count, measure.used);
    if (!made)
        return NULL;
    strings place = { (char *)(made->causes + cause_count), 0 };
    fill(&made->error_response, made->causes, cause_count, root, text, &place);
    return &made->error_response;
}

ki_error_response *ki_error_response_new(const ki_allocator *allocator, int http_status, ki_str body,
                                         int64_t retry_after_ms) {
    yyjson_doc *doc = NULL;
    yyjson_val *root = NULL;
    if (body.size > KI_STATUS_BODY_MAX)
        body.size = KI_STATUS_BODY_MAX;
    if (body.size && body.data[0] == '{' && ki_json_parse(allocator, body, &doc, NULL) == KI_OK)
        root = yyjson_doc_get_root(doc);
    if (!ki_str_equals(ki_json_string(root, "kind"), "Status"))
        root = NULL;
    ki_error_response *error_response = build(allocator, root, body);
    if (error_response) {
        error_response->http_status = http_status;
        error_response->retry_after_ms = retry_after_ms;
        yyjson_val *seconds = yyjson_obj_get(yyjson_obj_get(root, "details"), "retryAfterSeconds");
        if (retry_after_ms < 0 && yyjson_is_uint(seconds) && yyjson_get_uint(seconds) > 0 &&
            yyjson_get_uint(seconds) <= INT32_MAX)
            error_response->retry_after_ms = (int64_t)yyjson_get_uint(seconds) * 1000;
    }
    yyjson_doc_free(doc);
    return error_response;
}

ki_error_response *ki_error_response_copy(const ki_allocator *allocator, const ki_error_response *from) {
    const char *texts[] = { from->reason, from->message, from->group, from->kind, from->name, from->uid };
    size_t size = 0, n = sizeof texts / sizeof *texts;
    for (size_t i = 0; i < n; i++)
        size += strlen(texts[i]) + 1;
    for (size_t i = 0; i < from->cause_count; i++)
        size += strlen(from->causes[i].reason) + strlen(from->causes[i].message) + strlen(from->causes[i].field) + 3;
    block *made = new_block(allocator, from->cause_count, size);
    if (!made)
        return NULL;
    strings to = { (char *)(made->causes + from->cause_count), 0 };
    made->error_response = *from;
    made->error_response.reason = keep(&to, ki_str_of(from->reason));
    made->error_response.message = keep(&to, ki_str_of(from->message));
    made->error_response.group = keep(&to, ki_str_of(from->group));
    made->error_response.kind = keep(&to, ki_str_of(from->kind));
    made->error_response.name = keep(&to, ki_str_of(from->name));
    made->error_response.uid = keep(&to, ki_str_of(from->uid));
    made->error_response.causes = made->causes;
    for (size_t i = 0; i < from->cause_count; i++)
        made->causes[i] = (ki_cause){ .reason = keep(&to, ki_str_of(from->causes[i].reason)),
                                      .message = keep(&to, ki_str_of(from->causes[i].message)),
                                      .field = keep(&to, ki_str_of(from->causes[i].field)) };
    return &made->error_response;
}

void ki_error_response_free(ki_error_response *error_response) {
    if (!error_response)
        return;
    block *made = (block *)(void *)((char *)error_response - offsetof(block, error_response));
    ki_allocator allocator = made->allocator;
    ki_free(&allocator, made);
}
