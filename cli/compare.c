/* compare.c: see compare.h. */
#include "compare.h"

#include <stdio.h>
#include <string.h>
#include <yyjson.h>

typedef struct walk {
    const ki_snapshot *snapshot;
    comparison *result;
} walk;

/* Returns true if both objects are equal without the member `without`. */
static bool equal_without(yyjson_val *a, yyjson_val *b, const char *without) {
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    size_t a_size = yyjson_obj_size(a) - (yyjson_obj_get(a, without) != NULL);
    size_t b_size = yyjson_obj_size(b) - (yyjson_obj_get(b, without) != NULL);
    if (a_size != b_size)
        return false;
    yyjson_obj_foreach(a, index, count, key, value) {
        const char *name = yyjson_get_str(key);
        if (strcmp(name, without) != 0 && !yyjson_equals(value, yyjson_obj_getn(b, name, yyjson_get_len(key))))
            return false;
    }
    return true;
}

static bool is_same(const ki_object *obj, const char *json, size_t size) {
    ki_value own = KI_VALUE_INIT;
    if (ki_object_json(obj, &own, NULL))
        return false;
    yyjson_doc *a = yyjson_read(own.text, own.text_size, 0);
    yyjson_doc *b = yyjson_read(json, size, 0);
    yyjson_val *a_root = yyjson_doc_get_root(a);
    yyjson_val *b_root = yyjson_doc_get_root(b);
    bool same = a && b && equal_without(a_root, b_root, "metadata") &&
                equal_without(yyjson_obj_get(a_root, "metadata"), yyjson_obj_get(b_root, "metadata"), "managedFields");
    yyjson_doc_free(a);
    yyjson_doc_free(b);
    ki_value_clear(&own);
    return same;
}

static bool visit(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    walk *w = user;
    comparison *result = w->result;
    char text[sizeof result->first];
    const ki_object *obj;

    snprintf(text, sizeof text, "%.*s", (int)key_size, key);
    result->server_bytes += size;
    obj = ki_snapshot_get(w->snapshot, text);
    if (!obj)
        result->missing++;
    else if (is_same(obj, json, size))
        result->same++;
    else
        result->different++;
    if (!result->first[0] && (result->missing || result->different))
        memcpy(result->first, text, sizeof text);
    return true;
}

void compare_cache(const ki_informer *informer, ki_testing_server *server, comparison *ret_comparison) {
    comparison result = { 0 };
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    walk w = { .snapshot = snapshot, .result = &result };
    ki_testing_server_each(server, ki_informer_resource(informer), visit, &w);
    result.left = ki_snapshot_count(snapshot) - result.same - result.different;
    ki_snapshot_free(snapshot);
    *ret_comparison = result;
}
