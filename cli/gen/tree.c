/* tree.c: see tree.h. The limits bound recursion and time for any schema: nodes of a tree, steps of a path. */
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(KI_VIEW_MAX_FIELDS * sizeof(ki_list) <= KI_VIEW_MAX_SIZE, "a struct of the most fields is too large");

/* ---- nodes ---- */

static ki_status new_node(gen_tree *tree, gen_node **ret_node, ki_error *err) {
    if (tree->count == GEN_NODES_MAX)
        return gen_fail(err, KI_ERR_LIMIT, "more than %d fields; name those that the program reads with --fields",
                        GEN_NODES_MAX);
    gen_node *node = calloc(1, sizeof *node);
    if (!node)
        return gen_fail(err, KI_ERR_NO_MEMORY, "out of memory");
    node->made_before = tree->all;
    tree->all = node;
    tree->count++;
    *ret_node = node;
    return KI_OK;
}

ki_status gen_tree_new(const char *name, const gen_type *type, gen_tree *ret_tree, ki_error *err) {
    gen_tree tree = { .steps_max = GEN_STEPS_MAX };
    ki_status status = new_node(&tree, &tree.root, err);
    if (status || !tree.root)
        return status;
    tree.root->index = -1;
    tree.root->form = GEN_ITEMS;
    tree.root->schema = type->schema;
    tree.root->description = type->description;
    tree.root->key = strdup("");
    tree.root->struct_name = strdup(name);
    if (!tree.root->key || !tree.root->struct_name) {
        gen_tree_free(&tree);
        return gen_fail(err, KI_ERR_NO_MEMORY, "out of memory");
    }
    *ret_tree = tree;
    return KI_OK;
}

void gen_tree_free(gen_tree *tree) {
    for (gen_node *node = tree->all, *before; node; node = before) {
        before = node->made_before;
        free(node->struct_name);
        free(node->key);
        free(node);
    }
    *tree = (gen_tree){ 0 };
}

const gen_node *gen_node_struct(const gen_node *node) {
    for (node = node->parent; node && node->form == GEN_NESTED;)
        node = node->parent;
    return node;
}

/* ---- names ---- */

static bool has_sibling(const gen_node *parent, const char *name) {
    for (const gen_node *node = parent->first; node; node = node->next) {
        if (strcmp(node->name, name) == 0)
            return true;
    }
    return false;
}

/* Writes a name of parts; the middle one is cut so that all fit. */
static void join(char name[GEN_NAME_MAX], const char *before, const char *middle, const char *after) {
    size_t before_size = strlen(before), size = strlen(middle), after_size = strlen(after);
    if (before_size + size + after_size + 2 > GEN_NAME_MAX) /* one more for gen_member */
        size = GEN_NAME_MAX - 2 - before_size - after_size;
    memcpy(name, before, before_size);
    memcpy(name + before_size, middle, size);
    memcpy(name + before_size + size, after, after_size + 1);
}

static void name_member(const gen_node *parent, gen_node *node) {
    char base[GEN_NAME_MAX], after[32] = "";
    bool is_present = node->form == GEN_MEMBER && node->type == KI_FIELD_TYPE_PRESENT;
    bool is_milli = node->form == GEN_MEMBER && node->type == KI_FIELD_TYPE_MILLI;
    gen_snake(node->key, node->key_size, base);
    if (node->index >= 0)
        snprintf(after, sizeof after, "_%d", (int)node->index);
    join(node->name, is_present ? "has_" : "", base, after);
    memcpy(base, node->name, GEN_NAME_MAX);
    join(node->name, "", base, is_milli ? "_milli" : "");
    memcpy(base, node->name, GEN_NAME_MAX);
    gen_member(node->name);
    for (unsigned i = 2; has_sibling(parent, node->name); i++) {
        snprintf(after, sizeof after, "_%u", i);
        join(node->name, "", base, after);
        gen_member(node->name);
    }
}

static bool has_struct(const gen_tree *tree, const char *name) {
    for (const gen_node *node = tree->all; node; node = node->made_before) {
        if (node->struct_name && strcmp(node->struct_name, name) == 0)
            return true;
    }
    return false;
}

static void append_name(char text[GEN_STRUCT_NAME_MAX], const char *name) {
    size_t size = strlen(text);
    snprintf(text + size, GEN_STRUCT_NAME_MAX - size, "_%s", name);
}

/* Appends the names of the nested structs down to `node`. */
static void append_nested(const gen_node *node, char text[GEN_STRUCT_NAME_MAX]) {
    char name[GEN_NAME_MAX];
    if (node->form != GEN_NESTED)
        return;
    append_nested(node->parent, text);
    gen_snake(node->key, node->key_size, name);
    append_name(text, name);
}

/* Names the struct of a list by its path: "pod_spec_container" for "spec.containers" of "pod". */
static ki_status name_struct(const gen_tree *tree, gen_node *node, ki_error *err) {
    char text[GEN_STRUCT_NAME_MAX], base[GEN_STRUCT_NAME_MAX], name[GEN_NAME_MAX];
    snprintf(text, sizeof text, "%s", gen_node_struct(node)->struct_name);
    append_nested(node->parent, text);
    gen_snake(node->key, node->key_size, name);
    gen_singular(name);
    append_name(text, name);
    memcpy(base, text, sizeof base);
    for (unsigned i = 2; has_struct(tree, text); i++)
        snprintf(text, sizeof text, "%.*s_%u", GEN_STRUCT_NAME_MAX - 8, base, i);
    node->struct_name = strdup(text);
    return node->struct_name ? KI_OK : gen_fail(err, KI_ERR_NO_MEMORY, "out of memory");
}

/* ---- adding ---- */

/* Returns a number for each member that a field can have beside others. */
static int variant(gen_form form, ki_field_type type) {
    if (form != GEN_MEMBER)
        return 0;
    return type == KI_FIELD_TYPE_PRESENT ? 1 : type == KI_FIELD_TYPE_MILLI ? 2 : 0;
}

static gen_node *find(const gen_node *parent, const gen_field *field, int which) {
    for (gen_node *node = parent->first; node; node = node->next) {
        if (node->key_size == field->key_size && memcmp(node->key, field->key, field->key_size) == 0 &&
            node->index == field->index && variant(node->form, node->type) == which)
            return node;
    }
    return NULL;
}

ki_status gen_tree_add(gen_tree *tree, gen_node *parent, const gen_field *field, gen_form form, ki_field_type type,
                       gen_node **ret_node, ki_error *err) {
    gen_node *node = find(parent, field, variant(form, type));
    bool is_new = !node;
    ki_status status = KI_OK;
    if (node && (node->form == form || form == GEN_ABSENT) && node->type == type) {
        *ret_node = node;
        return KI_OK;
    }
    if (node && node->form != GEN_ABSENT)
        return gen_fail(err, KI_ERR_EXISTS, "\"%.*s\" has two types", (int)field->key_size, field->key);
    if (is_new && (status = new_node(tree, &node, err)) != KI_OK)
        return status;
    if (is_new) {
        node->key = strndup(field->key, field->key_size);
        if (!node->key)
            return gen_fail(err, KI_ERR_NO_MEMORY, "out of memory");
        node->key_size = field->key_size;
        node->index = field->index;
        node->parent = parent;
    }
    node->form = form;
    node->type = type;
    node->description = field->type.description;
    if (form == GEN_NESTED || form == GEN_ITEMS)
        node->schema = field->type.schema;
    if (is_new) {
        name_member(parent, node);
        if (parent->last)
            parent->last->next = node;
        else
            parent->first = node;
        parent->last = node;
    }
    if (form == GEN_ITEMS && !node->struct_name)
        status = name_struct(tree, node, err);
    if (!status)
        *ret_node = node;
    return status;
}

/* ---- fields ---- */

ki_field_type gen_field_member(const gen_schema *schema, const gen_field *field) {
    gen_kind element = GEN_ANY;
    if (field->type.kind == GEN_LIST || field->type.kind == GEN_MAP)
        element = gen_schema_type(schema, field->type.element).kind;
    bool is_text = element == GEN_STRING || element == GEN_TIME || element == GEN_QUANTITY;
    switch (field->type.kind) {
    case GEN_STRING:
        return KI_FIELD_TYPE_STRING;
    case GEN_TIME:
        return KI_FIELD_TYPE_TIME;
    case GEN_QUANTITY: /* whole CPUs are too coarse */
        return field->key_size == 3 && memcmp(field->key, "cpu", 3) == 0 ? KI_FIELD_TYPE_MILLI : KI_FIELD_TYPE_QUANTITY;
    case GEN_INT_OR_STRING:
        return KI_FIELD_TYPE_TEXT;
    case GEN_BOOL:
        return KI_FIELD_TYPE_BOOL;
    case GEN_INT32:
        return KI_FIELD_TYPE_INT32;
    case GEN_INT64:
        return KI_FIELD_TYPE_INT64;
    case GEN_DOUBLE:
        return KI_FIELD_TYPE_DOUBLE;
    case GEN_LIST:
        return is_text ? KI_FIELD_TYPE_STRING_LIST : KI_FIELD_TYPE_END;
    case GEN_MAP:
        return is_text ? KI_FIELD_TYPE_STRING_MAP : KI_FIELD_TYPE_END;
    case GEN_OBJECT:
    case GEN_ANY:
        break;
    }
    return KI_FIELD_TYPE_END;
}

bool gen_field_has_items(const gen_schema *schema, const gen_field *field, gen_type *ret_element) {
    if (field->type.kind != GEN_LIST)
        return false;
    *ret_element = gen_schema_type(schema, field->type.element);
    return ret_element->kind == GEN_OBJECT;
}

const char *gen_field_problem(const gen_schema *schema, const gen_field *field) {
    static const char *const lists[] = { "a list of values of any type",
                                         "",
                                         "",
                                         "",
                                         "a list of integers or strings",
                                         "a list of bools",
                                         "a list of integers",
                                         "a list of integers",
                                         "a list of numbers",
                                         "a list of objects",
                                         "a list of maps",
                                         "a list of lists" };
    static const char *const maps[] = { "a map of values of any type",
                                        "",
                                        "",
                                        "",
                                        "a map of integers or strings",
                                        "a map of bools",
                                        "a map of integers",
                                        "a map of integers",
                                        "a map of numbers",
                                        "a map of objects",
                                        "a map of maps",
                                        "a map of lists" };
    gen_kind element = gen_schema_type(schema, field->type.element).kind;
    return field->type.kind == GEN_LIST ? lists[element] : maps[element];
}

/* ---- all fields ---- */

static int compare_keys(const void *a, const void *b) {
    return strcmp(yyjson_get_str(*(yyjson_val *const *)a), yyjson_get_str(*(yyjson_val *const *)b));
}

/* Returns true for members that a header of all fields does not have. */
static bool is_skipped(const gen_node *parent, const char *key, size_t size) {
    if (strlen(key) != size) /* a zero character: no path leads there */
        return true;
    if (!parent->parent)
        return strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0;
    return !parent->parent->parent && parent->key_size == 8 && memcmp(parent->key, "metadata", 8) == 0 &&
           strcmp(key, "managedFields") == 0; /* removed before the cache, unless the program keeps them */
}

/* Adds the members of an object by name, so that the header does not depend on the server's order. */
static ki_status add_members(gen_tree *tree, const gen_schema *schema, gen_node *parent, const gen_type *type,
                             ki_error *err) {
    yyjson_val *members = yyjson_obj_get(type->schema, "properties"), *key, *value;
    size_t index, count;
    ki_status status = KI_OK;
    if (yyjson_obj_size(members) > GEN_NODES_MAX)
        return gen_fail(err, KI_ERR_LIMIT, "an object of more than %d fields; name those that the program reads",
                        GEN_NODES_MAX);
    yyjson_val **keys = calloc(yyjson_obj_size(members) + 1, sizeof(yyjson_val *));
    if (!keys)
        return gen_fail(err, KI_ERR_NO_MEMORY, "out of memory");
    yyjson_obj_foreach(members, index, count, key, value) {
        keys[index] = key;
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < count && !status; i++) {
        gen_field field = { yyjson_get_str(keys[i]), yyjson_get_len(keys[i]), -1, { GEN_ANY, NULL, NULL, NULL } };
        if (is_skipped(parent, field.key, field.key_size))
            continue;
        field.type = gen_schema_type(schema, gen_schema_member(type, field.key, field.key_size));
        status = gen_tree_add_all(tree, schema, parent, &field, err);
    }
    free(keys);
    return status;
}

/* Returns true if an object of this schema contains the node. */
static bool is_recursive(const gen_node *node, yyjson_val *schema) {
    for (; node; node = node->parent) {
        if (node->schema == schema)
            return true;
    }
    return false;
}

static size_t steps_of(const gen_node *node) {
    size_t steps = 0;
    for (; node->parent; node = node->parent)
        steps++;
    return steps;
}

static int structs_of(const gen_node *node) {
    int structs = 0;
    for (; node; node = node->parent)
        structs += node->form == GEN_ITEMS;
    return structs;
}

static ki_status add_absent(gen_tree *tree, gen_node *parent, const gen_field *field, const char *why, ki_error *err) {
    gen_node *node = NULL;
    ki_status status = gen_tree_add(tree, parent, field, GEN_ABSENT, KI_FIELD_TYPE_END, &node, err);
    if (!status && node->form == GEN_ABSENT)
        snprintf(node->why, sizeof node->why, "%s", why);
    return status;
}

static ki_status add_presence(gen_tree *tree, gen_node *parent, const gen_field *field, ki_error *err) {
    gen_node *node = NULL;
    return gen_tree_add(tree, parent, field, GEN_MEMBER, KI_FIELD_TYPE_PRESENT, &node, err);
}

static ki_status add_object(gen_tree *tree, const gen_schema *schema, gen_node *parent, const gen_field *field,
                            ki_error *err) {
    gen_node *node = NULL;
    ki_status status = KI_OK;
    bool is_cut = is_recursive(parent, field->type.schema) || steps_of(parent) + 2 > tree->steps_max;
    const gen_type of_parent = { .schema = parent->schema };
    char key[GEN_TEXT_MAX];
    snprintf(key, sizeof key, "%.*s", (int)field->key_size, field->key);
    /* metadata, spec and status are always there; an empty object says something elsewhere: "emptyDir: {}" */
    if (is_cut || (parent->parent && !gen_schema_is_required(&of_parent, key)))
        status = add_presence(tree, parent, field, err);
    if (status || is_cut)
        return status;
    status = gen_tree_add(tree, parent, field, GEN_NESTED, KI_FIELD_TYPE_END, &node, err);
    return status ? status : add_members(tree, schema, node, &field->type, err);
}

static ki_status add_items(gen_tree *tree, const gen_schema *schema, gen_node *parent, const gen_field *field,
                           const gen_type *element, ki_error *err) {
    gen_node *node = NULL;
    if (structs_of(parent) >= KI_VIEW_MAX_DEPTH)
        return add_absent(tree, parent, field, "too many lists in each other", err);
    if (is_recursive(parent, element->schema))
        return add_absent(tree, parent, field, "recursive", err);
    if (steps_of(parent) + 2 > tree->steps_max)
        return add_absent(tree, parent, field, "too deep; name what is needed", err);
    ki_status status = gen_tree_add(tree, parent, field, GEN_ITEMS, KI_FIELD_TYPE_END, &node, err);
    if (status)
        return status;
    node->schema = element->schema;
    status = add_members(tree, schema, node, element, err);
    if (!status && !gen_node_has_members(node)) {
        node->form = GEN_ABSENT;
        snprintf(node->why, sizeof node->why, "no element has a field that a view can have");
    }
    return status;
}

ki_status gen_tree_add_all(gen_tree *tree, const gen_schema *schema, gen_node *parent, const gen_field *field,
                           ki_error *err) {
    gen_type element;
    gen_node *node = NULL;
    ki_field_type type = gen_field_member(schema, field);
    if (type != KI_FIELD_TYPE_END)
        return gen_tree_add(tree, parent, field, GEN_MEMBER, type, &node, err);
    if (field->type.kind == GEN_OBJECT)
        return add_object(tree, schema, parent, field, err);
    if (field->type.kind == GEN_ANY)
        return add_presence(tree, parent, field, err);
    if (gen_field_has_items(schema, field, &element))
        return add_items(tree, schema, parent, field, &element, err);
    return add_absent(tree, parent, field, gen_field_problem(schema, field), err);
}

ki_status gen_tree_fill(gen_tree *tree, const gen_schema *schema, ki_error *err) {
    gen_type type = gen_schema_type(schema, schema->root);
    return add_members(tree, schema, tree->root, &type, err);
}

/* ---- limits ---- */

bool gen_node_has_members(const gen_node *node) {
    for (const gen_node *child = node->first; child; child = child->next) {
        if (child->form == GEN_MEMBER || child->form == GEN_ITEMS ||
            (child->form == GEN_NESTED && gen_node_has_members(child)))
            return true;
    }
    return false;
}

/* Returns the number of the fields that a struct has below `node`. */
static size_t count_fields(const gen_node *node) {
    size_t count = 0;
    for (const gen_node *child = node->first; child; child = child->next)
        count += child->form == GEN_NESTED ? count_fields(child) : child->form != GEN_ABSENT;
    return count;
}

ki_status gen_tree_check(const gen_tree *tree, ki_error *err) {
    char path[GEN_PATH_MAX + 1];
    for (const gen_node *node = tree->all; node; node = node->made_before) {
        if (node->form == GEN_ABSENT)
            continue;
        if (node->parent && !gen_node_path(node, path))
            return gen_fail(err, KI_ERR_LIMIT, "the path of \"%.100s\" has more than %d bytes", node->name,
                            GEN_PATH_MAX);
        if (node->form != GEN_ITEMS)
            continue;
        size_t count = count_fields(node);
        if (count > KI_VIEW_MAX_FIELDS)
            return gen_fail(err, KI_ERR_LIMIT, "struct %s has %zu fields, a view at most %d; name fewer with --fields",
                            node->struct_name, count, KI_VIEW_MAX_FIELDS);
        if (structs_of(node) > KI_VIEW_MAX_DEPTH)
            return gen_fail(err, KI_ERR_LIMIT, "struct %s is in more lists in each other than the %d of a view",
                            node->struct_name, KI_VIEW_MAX_DEPTH - 1);
    }
    if (!gen_node_has_members(tree->root))
        return gen_fail(err, KI_ERR_INVALID, "the schema has no fields");
    return KI_OK;
}

/* ---- paths ---- */

typedef struct path_text {
    char *text;
    size_t size;
    bool is_full;
} path_text;

static void put(path_text *path, char c) {
    if (path->size < GEN_PATH_MAX)
        path->text[path->size++] = c;
    else
        path->is_full = true;
}

/* Appends a name: as it is, or quoted in brackets where it has characters of paths. */
static void put_name(path_text *path, const char *name, size_t size) {
    bool is_bare = size > 0 && strcspn(name, ".[]'\"\\ ") >= size;
    if (is_bare && path->size)
        put(path, '.');
    if (!is_bare) {
        put(path, '[');
        put(path, '\'');
    }
    for (size_t i = 0; i < size; i++) {
        if (!is_bare && (name[i] == '\'' || name[i] == '\\'))
            put(path, '\\');
        put(path, name[i]);
    }
    if (!is_bare) {
        put(path, '\'');
        put(path, ']');
    }
}

static void put_path(path_text *path, const gen_node *node) {
    if (node->parent->form == GEN_NESTED)
        put_path(path, node->parent);
    put_name(path, node->key, node->key_size);
    if (node->index >= 0) {
        char index[24];
        snprintf(index, sizeof index, "[%lld]", (long long)node->index);
        for (const char *c = index; *c; c++)
            put(path, *c);
    }
}

bool gen_node_path(const gen_node *node, char path[GEN_PATH_MAX + 1]) {
    path_text text = { path, 0, false };
    put_path(&text, node);
    path[text.size] = '\0';
    return !text.is_full;
}
