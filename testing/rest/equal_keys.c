/* equal_keys.c: see equal_keys.h. Recursive: json.h limits the depth of bodies. */
#include "testing/rest/equal_keys.h"

#include "src/base/yaml_tree.h"
#include "testing/request/status.h"
#include "testing/values/go_text.h"
#include "testing/values/index.h"

enum {
    NOTES_MAX = 100
};

typedef struct notes {
    kt_arena *arena;
    ki_buffer text;
    const char *before; /* each note */
    const char *after;
    size_t count;
} notes;

static void note(notes *out, const kt_entry *one, const ki_yaml *node) {
    if (out->count++ >= NOTES_MAX)
        return;
    ki_buffer_printf(&out->text, "%sline %zu: key ", out->before, node ? node->line : 1);
    kt_go_print_syntax(out->arena, &out->text, one->key);
    ki_buffer_printf(&out->text, " already set in map%s", out->after);
}

/* Returns an item of the node of the YAML document that corresponds to a JSON value with `count` items; else NULL. */
static const ki_yaml *item_of(const ki_yaml *node, ki_yaml_kind kind, size_t count, size_t index) {
    return node && node->kind == kind && node->count == count ? node->items[index] : NULL;
}

/* `node` has the lines; NULL: they are unknown. The notes of a value come before the one of its key. */
static void walk(notes *out, yyjson_val *val, const ki_yaml *node) {
    size_t index, count;
    yyjson_val *element;
    kt_index members;
    yyjson_arr_foreach(val, index, count, element) walk(out, element, item_of(node, KI_YAML_LIST, count, index));
    kt_index_members(out->arena, val, &members);
    for (size_t i = 0; i < members.count; i++) {
        const kt_entry *one = &members.entries[i];
        const ki_yaml *item = item_of(node, KI_YAML_MAP, 2 * members.count, 2 * i + 1);
        walk(out, one->val, item);
        if (members.has_duplicates && kt_index_find(&members, one->name) != one)
            note(out, one, item);
    }
}

ki_status kt_equal_keys_check(kt_call *call, kt_arena *arena, yyjson_val *applied, bool is_strict) {
    notes found = { .arena = arena, .before = is_strict ? "\n  " : "", .after = is_strict ? "" : "\n" };
    const ki_yaml_options options = { .keeps_equal_keys = true };
    ki_yaml_document document = { NULL };
    ki_buffer_init(&found.text, call->allocator, 0);
    walk(&found, applied, NULL);
    ki_status status =
        found.count ? ki_yaml_load(call->allocator, call->request->body, &options, &document, NULL) : KI_OK;
    if (document.root) { /* else it is large JSON, most likely of one line */
        found.count = 0;
        ki_buffer_reset(&found.text, SIZE_MAX);
        walk(&found, applied, document.root);
        ki_yaml_free(&document);
    }
    if (status != KI_ERR_NO_MEMORY)
        status = arena->failed || found.text.failed ? KI_ERR_NO_MEMORY : KI_OK;
    if (!status && found.count && is_strict)
        status = kt_fail_bad_request(call,
                                     "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal "
                                     "errors:%s",
                                     found.text.data);
    else if (!status && found.count)
        status = ki_buffer_append(&call->response->warnings, found.text.data, found.text.size);
    ki_buffer_free(&found.text);
    return status;
}
