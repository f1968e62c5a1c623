/* json_patch.c: JSON patches (RFC 6902), with the real server's deviations (patch.h). An operation can double the
 * object, nest it deeper, or visit all of it. So memory, depth and steps are counted, and an operation beyond a
 * limit ends the patch. Every operation checks the depth, because copying a value is recursive. */
#include "testing/rest/patch.h"
#include "testing/values/equal.h"
#include "testing/values/json.h"

typedef struct patcher {
    const ki_allocator *allocator;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    ki_buffer token; /* one token of a path, unescaped */
    uint64_t steps;
    int code;       /* the error response: 422 or 413; 0: none */
    bool no_memory; /* out of memory, or the memory limit is reached */
} patcher;

static bool has_failed(const patcher *p) {
    return p->code || p->no_memory;
}

static void fail_patch(patcher *p) {
    if (!p->code)
        p->code = 422;
}

static void spend(patcher *p, size_t steps) {
    p->steps += steps;
    if (p->steps > KT_PATCH_STEPS_MAX && !p->code)
        p->code = 413;
}

/* ---- paths ---- */

/* Reads the first token of "/a~1b/c" into p->token. The rest is "/c". */
static ki_str take_token(patcher *p, ki_str path, ki_str *ret_rest) {
    size_t size = 1;
    ki_buffer_reset(&p->token, SIZE_MAX);
    ki_buffer_append_string(&p->token, ""); /* a name can be empty */
    for (; size < path.size && path.data[size] != '/'; size++) {
        char c = path.data[size];
        char next = size + 1 < path.size ? path.data[size + 1] : '\0';
        if (c == '~' && (next == '0' || next == '1')) { /* the real server keeps any other ~ */
            c = next == '1' ? '/' : '~';
            size++;
        }
        ki_buffer_append_char(&p->token, c);
    }
    if (size > path.size)
        size = path.size;
    if (p->token.failed)
        p->no_memory = true;
    *ret_rest = (ki_str){ path.data + size, path.size - size };
    return (ki_str){ p->token.data, p->token.size };
}

/* Returns the index of an element; SIZE_MAX if it is invalid (422). `may_append`: "-" and `count` mean the end of
 * the list. As in the real server, a number can have a sign and leading zeros, and a negative one counts from the
 * end. */
static size_t position(patcher *p, ki_str token, size_t count, bool may_append) {
    uint64_t number = 0;
    size_t room = count + may_append;
    bool is_negative = token.size && token.data[0] == '-',
         has_sign = is_negative || (token.size && token.data[0] == '+');
    if (may_append && ki_str_equals(token, "-"))
        return count;
    if (ki_str_to_uint64((ki_str){ token.data + has_sign, token.size - has_sign }, UINT32_MAX, &number)) {
        if (number < room && !(is_negative && number))
            return (size_t)number;
        if (is_negative && number && number <= room)
            return room - (size_t)number;
    }
    fail_patch(p);
    return SIZE_MAX;
}

/* Returns a member or element. NULL for a missing member, which is no error. */
static yyjson_mut_val *look_up(patcher *p, yyjson_mut_val *of, ki_str token) {
    if (has_failed(p))
        return NULL;
    if (yyjson_mut_is_obj(of)) {
        spend(p, yyjson_mut_obj_size(of));
        return p->code ? NULL : yyjson_mut_obj_getn(of, token.data, token.size);
    }
    if (yyjson_mut_is_arr(of)) {
        size_t at = position(p, token, yyjson_mut_arr_size(of), false);
        spend(p, at == SIZE_MAX ? 0 : at);
        return p->code ? NULL : yyjson_mut_arr_get(of, at);
    }
    fail_patch(p);
    return NULL;
}

typedef struct place {
    yyjson_mut_val *in;
    ki_str token; /* of the last step; in p->token */
    size_t depth; /* number of steps */
} place;

/* Walks to the container of the path's last step. Fails for the root, which only `test` and `replace` accept. */
static place walk(patcher *p, ki_str path) {
    place at = { .in = NULL };
    yyjson_mut_val *val = p->root;
    while (path.size && path.data[0] != '/') { /* the real server skips text before the first slash */
        path.data++;
        path.size--;
    }
    if (!path.size)
        fail_patch(p);
    while (path.size && !has_failed(p)) {
        at.token = take_token(p, path, &path);
        at.in = val;
        at.depth++;
        spend(p, 1);
        if (path.size)
            val = look_up(p, val, at.token);
        if (!val)
            fail_patch(p);
    }
    return at;
}

/* ---- values ---- */

/* Returns the nesting depth of `val`, which check_depth limits to KT_JSON_MAX_DEPTH. */
static size_t depth_of(patcher *p, yyjson_mut_val *val) {
    size_t index, count, deepest = 0;
    yyjson_mut_val *key, *inner;
    spend(p, 1);
    if (!yyjson_mut_is_ctn(val) || has_failed(p))
        return 0;
    if (yyjson_mut_is_obj(val)) {
        yyjson_mut_obj_foreach(val, index, count, key, inner) {
            size_t depth = depth_of(p, inner);
            deepest = depth > deepest ? depth : deepest;
        }
    } else {
        yyjson_mut_arr_foreach(val, index, count, inner) {
            size_t depth = depth_of(p, inner);
            deepest = depth > deepest ? depth : deepest;
        }
    }
    return deepest + 1;
}

static void check_depth(patcher *p, const place *at, yyjson_mut_val *val) {
    if (!has_failed(p) && at->depth + depth_of(p, val) > KT_JSON_MAX_DEPTH)
        fail_patch(p);
}

static yyjson_mut_val *made(patcher *p, yyjson_mut_val *val) {
    if (!val)
        p->no_memory = true;
    return val;
}

/* Adds `val`, which is in no other container. */
static void add_at_path(patcher *p, ki_str path, yyjson_mut_val *val) {
    place at = walk(p, path);
    check_depth(p, &at, val);
    if (has_failed(p))
        return;
    if (yyjson_mut_is_obj(at.in)) {
        yyjson_mut_val *key = made(p, yyjson_mut_strncpy(p->doc, at.token.data, at.token.size));
        spend(p, yyjson_mut_obj_size(at.in));
        if (!has_failed(p) && !yyjson_mut_obj_put(at.in, key, val))
            p->no_memory = true;
    } else if (yyjson_mut_is_arr(at.in)) {
        size_t index = position(p, at.token, yyjson_mut_arr_size(at.in), true);
        spend(p, index == SIZE_MAX ? 0 : index);
        if (!has_failed(p) && !yyjson_mut_arr_insert(at.in, val, index))
            fail_patch(p);
    } else {
        fail_patch(p);
    }
}

static yyjson_mut_val *remove_at(patcher *p, ki_str path) {
    place at = walk(p, path);
    yyjson_mut_val *val = NULL;
    if (has_failed(p))
        return NULL;
    if (yyjson_mut_is_obj(at.in)) {
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(at.in);
        yyjson_mut_val *key;
        spend(p, yyjson_mut_obj_size(at.in));
        while (!val && !has_failed(p) && (key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
            if (yyjson_mut_equals_strn(key, at.token.data, at.token.size)) {
                val = yyjson_mut_obj_iter_get_val(key);
                yyjson_mut_obj_iter_remove(&iter);
            }
        }
    } else if (yyjson_mut_is_arr(at.in)) {
        size_t index = position(p, at.token, yyjson_mut_arr_size(at.in), false);
        spend(p, index == SIZE_MAX ? 0 : index);
        if (!has_failed(p))
            val = yyjson_mut_arr_remove(at.in, index);
    }
    if (!val)
        fail_patch(p);
    return val;
}

/* Replaces an element, a member or the root by `val`. Adds a missing member, as the real server does. */
static void replace(patcher *p, ki_str path, yyjson_mut_val *val) {
    if (!path.size) {
        p->root = val;
        return;
    }
    place at = walk(p, path);
    check_depth(p, &at, val);
    if (has_failed(p))
        return;
    if (!yyjson_mut_is_arr(at.in)) {
        add_at_path(p, path, val);
        return;
    }
    size_t index = position(p, at.token, yyjson_mut_arr_size(at.in), false);
    if (index != SIZE_MAX)
        yyjson_mut_arr_replace(at.in, index, val);
}

/* Copies a value. A missing member is null, as in the real server. */
static yyjson_mut_val *copy(patcher *p, ki_str from) {
    place at = walk(p, from);
    yyjson_mut_val *val = look_up(p, at.in, at.token);
    if (val)
        depth_of(p, val); /* counts the steps */
    if (has_failed(p))
        return NULL;
    return made(p, val ? yyjson_mut_val_mut_copy(p->doc, val) : yyjson_mut_null(p->doc));
}

/* Fails unless the value equals `wanted`. A missing member equals null. */
static void test(patcher *p, ki_str path, yyjson_val *wanted) {
    yyjson_mut_val *val = p->root;
    kt_arena arena;
    yyjson_doc *doc = NULL;
    if (path.size) {
        place at = walk(p, path);
        val = look_up(p, at.in, at.token);
    }
    if (!has_failed(p) && (!val || !wanted || yyjson_mut_is_null(val) || yyjson_is_null(wanted))) {
        if ((val && !yyjson_mut_is_null(val)) || (wanted && !yyjson_is_null(wanted)))
            fail_patch(p);
        return;
    }
    if (val)
        depth_of(p, val);
    if (has_failed(p))
        return;
    kt_arena_init(&arena, p->allocator);
    if (kt_json_freeze(p->allocator, val, &doc))
        p->no_memory = true;
    else if (!kt_equal(&arena, yyjson_doc_get_root(doc), wanted))
        fail_patch(p);
    if (arena.failed)
        p->no_memory = true;
    yyjson_doc_free(doc);
    kt_arena_free(&arena);
}

/* ---- operations ---- */

static yyjson_mut_val *copy_or_null(patcher *p, yyjson_val *value) {
    return made(p, value ? yyjson_val_mut_copy(p->doc, value) : yyjson_mut_null(p->doc));
}

static void run_operation(patcher *p, yyjson_val *operation) {
    ki_str op = kt_json_get_str(operation, "op"), path = kt_json_get_str(operation, "path");
    ki_str from = kt_json_get_str(operation, "from");
    yyjson_val *value = yyjson_obj_get(operation, "value");
    bool takes_from = ki_str_equals(op, "move") || ki_str_equals(op, "copy");
    bool is_value_needed =
        ki_str_equals(op, "replace") && !path.size; /* other operations take a missing value as null */
    if (!path.data || (is_value_needed && !yyjson_is_ctn(value)) || (takes_from && !from.data)) {
        fail_patch(p);
        return;
    }
    if (ki_str_equals(op, "add")) {
        add_at_path(p, path, copy_or_null(p, value));
    } else if (ki_str_equals(op, "replace")) {
        replace(p, path, copy_or_null(p, value));
    } else if (ki_str_equals(op, "test")) {
        test(p, path, value);
    } else if (ki_str_equals(op, "remove")) {
        remove_at(p, path);
    } else if (ki_str_equals(op, "copy")) {
        yyjson_mut_val *val = copy(p, from);
        if (val)
            add_at_path(p, path, val);
    } else if (ki_str_equals(op, "move")) {
        yyjson_mut_val *val = remove_at(p, from);
        if (val)
            add_at_path(p, path, val);
    } else {
        fail_patch(p);
    }
}

ki_status kt_patch_json(const ki_allocator *allocator, yyjson_val *old, yyjson_val *patch, ki_buffer *out,
                        int *ret_code) {
    kt_json_allowance allowed = { .allocator = allocator, .left = KT_PATCH_MEMORY_MAX };
    yyjson_alc alc = kt_json_limited_alc(&allowed);
    patcher p = { .allocator = allocator, .doc = yyjson_mut_doc_new(&alc) };
    ki_status status = KI_OK;
    size_t index, count;
    yyjson_val *operation;
    *ret_code = 0;
    if (!p.doc)
        return KI_ERR_NO_MEMORY;
    ki_buffer_init(&p.token, allocator, 0);
    p.root = made(&p, yyjson_val_mut_copy(p.doc, old));
    yyjson_arr_foreach(patch, index, count, operation) {
        if (!has_failed(&p))
            run_operation(&p, operation);
    }
    if (allowed.exceeded)
        p.code = 413;
    else if (p.no_memory)
        status = KI_ERR_NO_MEMORY;
    else if (!p.code && !yyjson_mut_is_obj(p.root))
        p.code = 422;
    if (!status && !p.code)
        status = kt_json_append_mut(out, p.root);
    if (!status && !p.code && out->size > KT_PATCHED_MAX)
        p.code = 413;
    if (!status)
        *ret_code = p.code;
    ki_buffer_free(&p.token);
    yyjson_mut_doc_free(p.doc);
    return status;
}
