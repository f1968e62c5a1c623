/* error_response.c: a server's Status in one block of memory: the number of its owners, the allocator that frees it,
 * the struct, its causes, their strings. */
#include "src/client/response.h"

#include "src/base/memory.h"
#include "src/object/json.h"
#include "src/wire/status.h"

#include <stddef.h>

enum {
    STRINGS = 6,      /* of an error response */
    CAUSE_STRINGS = 3 /* of a cause */
};

typedef struct block {
    ki_refcount refs;
    ki_allocator allocator;
    ki_error_response error_response;
    ki_cause causes[];
} block;

static block *block_of(ki_error_response *error_response) {
    return (block *)(void *)((char *)error_response - offsetof(block, error_response));
}

static const char *keep(char **room, ki_str text) {
    char *place = *room;
    if (text.size)
        memcpy(place, text.data, text.size);
    place[text.size] = '\0';
    *room += text.size + 1;
    return place;
}

/* `room` has space for the strings: none is longer than its text in the body. */
static void fill(block *made, size_t cause_count, yyjson_val *root, ki_str text, char *room) {
    yyjson_val *details = yyjson_obj_get(root, "details");
    made->error_response = (ki_error_response){ .reason = keep(&room, ki_json_string(root, "reason")),
                                                .message = keep(&room, root ? ki_json_string(root, "message") : text),
                                                .group = keep(&room, ki_json_string(details, "group")),
                                                .kind = keep(&room, ki_json_string(details, "kind")),
                                                .name = keep(&room, ki_json_string(details, "name")),
                                                .uid = keep(&room, ki_json_string(details, "uid")),
                                                .causes = made->causes,
                                                .cause_count = cause_count };
    size_t index, count;
    yyjson_val *cause;
    yyjson_arr_foreach(yyjson_obj_get(details, "causes"), index, count, cause) {
        if (index < cause_count)
            made->causes[index] = (ki_cause){ .reason = keep(&room, ki_json_string(cause, "reason")),
                                              .message = keep(&room, ki_json_string(cause, "message")),
                                              .field = keep(&room, ki_json_string(cause, "field")) };
    }
}

static block *build(const ki_allocator *allocator, yyjson_val *root, ki_str body) {
    size_t causes = yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(root, "details"), "causes"));
    if (causes > KI_CLIENT_CAUSES_MAX)
        causes = KI_CLIENT_CAUSES_MAX;
    size_t head = offsetof(block, causes) + causes * sizeof(ki_cause);
    block *made = ki_alloc(allocator, head + body.size + STRINGS + CAUSE_STRINGS * causes);
    if (!made)
        return NULL;
    ki_refcount_init(&made->refs);
    made->allocator = *allocator;
    fill(made, causes, root, body, (char *)made + head);
    return made;
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
    block *made = build(allocator, root, body);
    if (made) {
        made->error_response.http_status = http_status;
        made->error_response.retry_after_ms = ki_status_retry_after_ms(root, retry_after_ms);
    }
    yyjson_doc_free(doc);
    return made ? &made->error_response : NULL;
}

ki_error_response *ki_error_response_ref(ki_error_response *error_response) {
    ki_refcount_inc(&block_of(error_response)->refs);
    return error_response;
}

void ki_error_response_free(ki_error_response *error_response) {
    block *made = error_response ? block_of(error_response) : NULL;
    if (!made || !ki_refcount_dec(&made->refs))
        return;
    ki_allocator allocator = made->allocator;
    ki_free(&allocator, made);
}
