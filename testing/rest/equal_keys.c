/* equal_keys.c: see equal_keys.h. The texts are those of the YAML reader with which a kube-apiserver reads the body.
 * Recursive: json.h limits the depth of bodies. */
#include "testing/rest/equal_keys.h"

#include "src/base/yaml_tree.h"
#include "testing/request/status.h"
#include "testing/values/go_text.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

enum {
    NOTES_MAX = 100
};

typedef struct walk {
    kt_arena arena;
    ki_buffer *notes; /* a line for each equal key */
    size_t count;
} walk;

/* Returns an item of the YAML node that corresponds to a JSON value with `count` items; NULL if there is none. */
static const ki_yaml *item_of(const ki_yaml *node, ki_yaml_kind kind, size_t count, size_t index) {
    return node && node->kind == kind && node->count == count ? node->items[index] : NULL;
}

/* `node` has the lines; NULL: line 1. The notes of a value come before the one of its key. */
static void note_equal_keys(walk *in, yyjson_val *val, const ki_yaml *node) {
    size_t index, count;
    yyjson_val *element;
    kt_index members;
    yyjson_arr_foreach(val, index, count, element)
        note_equal_keys(in, element, item_of(node, KI_YAML_LIST, count, index));
    kt_index_members(&in->arena, val, &members);
    for (size_t i = 0; i < members.count; i++) {
        const kt_entry *one = &members.entries[i];
        const ki_yaml *item = item_of(node, KI_YAML_MAP, 2 * members.count, 2 * i + 1);
        note_equal_keys(in, one->val, item);
        if (one->is_first || in->count++ >= NOTES_MAX)
            continue;
        ki_buffer_printf(in->notes, "line %zu: key ", item ? item->line : 1);
        kt_go_print_syntax(&in->arena, in->notes, one->key);
        ki_buffer_append_string(in->notes, " already set in map\n");
    }
}

/* Reads the body as YAML, also if it is JSON: that finds lines, and leaves out what does not count. */
static ki_status read_again(kt_call *call, walk *in, yyjson_doc **doc) {
    const ki_yaml_options all = { .node_limit = SIZE_MAX, .keeps_equal_keys = true }, last = { .node_limit = SIZE_MAX };
    ki_yaml_document lines;
    yyjson_doc *read = NULL;
    ki_buffer text;
    ki_status status = ki_yaml_load(call->allocator, call->request->body, &all, &lines, NULL);
    if (status)
        return status;
    ki_buffer_init(&text, call->allocator, 0);
    ki_buffer_reset(in->notes, SIZE_MAX);
    in->count = 0;
    note_equal_keys(in, yyjson_doc_get_root(*doc), lines.root);
    ki_yaml_free(&lines);
    status = ki_yaml_to_json(call->request->body, &last, &text, NULL);
    if (!status)
        status = kt_json_read(call->allocator, (ki_str){ text.data, text.size }, &read, NULL);
    ki_buffer_free(&text);
    if (status)
        return status;
    yyjson_doc_free(*doc);
    *doc = read;
    return KI_OK;
}

ki_status kt_equal_keys_drop(kt_call *call, yyjson_doc **doc) {
    walk in = { .notes = &call->equal_keys };
    ki_status status = KI_OK;
    kt_arena_init(&in.arena, call->allocator);
    ki_buffer_reset(in.notes, SIZE_MAX);
    note_equal_keys(&in, yyjson_doc_get_root(*doc), NULL);
    if (in.count)
        status = read_again(call, &in, doc);
    bool failed = in.arena.failed || in.notes->failed || status == KI_ERR_NO_MEMORY;
    kt_arena_free(&in.arena);
    return failed ? KI_ERR_NO_MEMORY : KI_OK; /* JSON that is no YAML stays as it is */
}

ki_status kt_equal_keys_report(kt_call *call, bool is_strict) {
    ki_str line, rest = { call->equal_keys.data, call->equal_keys.size };
    if (!is_strict)
        return ki_buffer_append_view(&call->response->warnings, rest);
    if (!rest.size)
        return KI_OK;
    ki_buffer why;
    ki_buffer_init(&why, call->allocator, 0);
    for (line = ki_str_split(rest, '\n', &rest); line.size; line = ki_str_split(rest, '\n', &rest))
        ki_buffer_printf(&why, "\n  %.*s", (int)line.size, line.data);
    ki_status status = why.failed
                           ? KI_ERR_NO_MEMORY
                           : kt_fail_bad_request(call,
                                                 "error strict decoding patch: error converting YAML to JSON: yaml: "
                                                 "unmarshal errors:%s",
                                                 why.data);
    ki_buffer_free(&why);
    return status;
}
