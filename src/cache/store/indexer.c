/* indexer.c: see indexer.h. */
#include "src/cache/store/indexer.h"

#include "src/base/array.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/store/index_set.h"
#include "src/object/json_text.h"
#include "src/object/path.h"

/* ---- values ---- */

static void init_values(ki_index_values *values, const ki_allocator *allocator) {
    *values = (ki_index_values){ 0 };
    ki_buffer_init(&values->text, allocator, 0);
}

static void free_values(ki_index_values *values) {
    ki_free(values->text.allocator, values->items);
    ki_buffer_free(&values->text);
}

static ki_str value_at(const ki_index_values *values, size_t index) {
    return (ki_str){ values->text.data + values->items[index].at, values->items[index].size };
}

static bool has_value(const ki_index_values *values, ki_str value, uint64_t hash) {
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i].hash == hash && ki_str_equal(value_at(values, i), value))
            return true;
    return false;
}

static ki_status add_value(ki_index_values *values, ki_str value) {
    if (value.size > KI_INDEX_MAX_VALUE_SIZE)
        return KI_ERR_LIMIT;
    uint64_t hash = ki_hash(value.data, value.size, values->seed);
    if (values->count && has_value(values, value, hash))
        return KI_OK;
    if (values->count == KI_INDEX_MAX_VALUES)
        return KI_ERR_LIMIT;
    if (KI_ARRAY_RESERVE(values->text.allocator, values->items, values->count, values->capacity))
        return KI_ERR_NO_MEMORY;
    size_t at = values->text.size;
    ki_status status = ki_buffer_append(&values->text, value.data, value.size);
    if (status)
        return status;
    values->items[values->count++] = (ki_index_value){ at, value.size, hash };
    return KI_OK;
}

ki_status ki_index_values_add(ki_index_values *values, const char *value) {
    if (!values)
        return KI_ERR_INVALID;
    ki_status status = value ? add_value(values, ki_str_of(value)) : KI_ERR_INVALID;
    if (status && !values->failed)
        values->failed = status;
    return status;
}

ki_status ki_index_by_namespace(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    return ki_index_values_add(values, ki_object_namespace(obj));
}

/* ---- values at a path ---- */

/* Adds a string whose escapes must be decoded first. */
static ki_status add_escaped(ki_index_values *values, ki_str json) {
    char *copy = ki_strndup(values->text.allocator, json.data, json.size);
    if (!copy)
        return KI_ERR_NO_MEMORY;
    size_t size = ki_json_text_decode(copy, json.size);
    ki_status status = add_value(values, (ki_str){ copy, size });
    ki_free(values->text.allocator, copy);
    return status;
}

/* Adds a scalar; skips null, arrays and objects. */
static bool add_json(ki_str json, void *user) {
    ki_index_values *values = user;
    bool is_string = *json.data == '"';
    if (is_string && memchr(json.data, '\\', json.size))
        values->failed = add_escaped(values, json);
    else if (is_string)
        values->failed = add_value(values, (ki_str){ json.data + 1, json.size - 2 });
    else if (*json.data != '[' && *json.data != '{' && !ki_str_equals(json, "null"))
        values->failed = add_value(values, json);
    return !values->failed;
}

/* Adds the value of a label. */
static ki_status index_by_label(const ki_object *obj, ki_str label, ki_index_values *values) {
    const char *name, *value;
    for (size_t i = 0; ki_object_label_at(obj, i, &name, &value); i++) {
        if (ki_str_equals(label, name))
            return ki_index_values_add(values, value);
    }
    return KI_OK;
}

/* A label is read where an object has it without its content, too (settings.c): so its values stay the same. */
static ki_status index_by_path(const ki_object *obj, ki_index_values *values, void *user) {
    ki_str label = ki_path_label(user);
    if (label.size)
        return index_by_label(obj, label, values);
    ki_path_walk_object(user, obj, add_json, values);
    return values->failed;
}

/* Calls the index function and reads the values of `obj`; on failure there are none. After KI_ERR_NO_MEMORY the caller
 * fails: only other failures omit an object from an index. */
static ki_status read_values(ki_index_values *values, const ki_indexer *indexer, const ki_object *obj) {
    ki_buffer_reset(&values->text, KI_INDEX_MAX_VALUE_SIZE);
    values->count = 0;
    values->failed = KI_OK;
    ki_status status = indexer->index(obj, values, indexer->user);
    if (values->failed)
        status = values->failed;
    if (status)
        values->count = 0;
    return status;
}

/* ---- objects ---- */

static ki_str object_key(const void *value) {
    return ki_str_of(ki_object_key(value));
}

/* A key ends with a zero and has no other. */
static bool object_has_key(const void *value, ki_str key) {
    const char *own = ki_object_key(value);
    return strncmp(own, key.data, key.size) == 0 && own[key.size] == '\0';
}

static void object_ref(void *value) {
    (void)ki_object_ref(value);
}

static void object_unref(void *value) {
    ki_object_unref(value);
}

const ki_tree_kind *ki_index_kind(const ki_schema *schema, size_t at) {
    return schema->indexers[at].index == ki_index_by_namespace ? &schema->unowned : &schema->objects;
}

/* ---- one index and one object ---- */

void ki_index_update_init(ki_index_update *update, const ki_allocator *allocator) {
    *update = (ki_index_update){ .on_error = NULL };
    init_values(&update->old_values, allocator);
    init_values(&update->new_values, allocator);
}

void ki_index_update_free(ki_index_update *update) {
    free_values(&update->old_values);
    free_values(&update->new_values);
}

/* Computes the old object's values again: an index function returns the same values for the same object. After a
 * failure the index has none. */
static ki_status values_of_old(ki_index_update *update, const ki_indexer *indexer, const ki_object *obj) {
    ki_status status = read_values(&update->old_values, indexer, obj);
    return status == KI_ERR_NO_MEMORY ? status : KI_OK;
}

/* Returns true if the old object has the new one's values and no others: the namespace, or the value of a path, which
 * has one at most, if the index shows it. Mostly that value stays, and an old object that is packed is not unpacked
 * then. */
static bool keeps_values(const ki_index_update *update, const ki_schema *schema, size_t at, const ki_tree *index,
                         ki_str key) {
    const ki_indexer *indexer = &schema->indexers[at];
    if (indexer->index == ki_index_by_namespace)
        return true;
    return indexer->path && update->new_values.count == 1 && !ki_path_has_all(indexer->user) &&
           ki_index_set_has(schema, at, index, value_at(&update->new_values, 0), key);
}

ki_status ki_index_update_one(ki_index_update *update, const ki_schema *schema, size_t at, ki_store_edit *edit,
                              ki_tree *index, const ki_index_change *change) {
    const ki_indexer *indexer = &schema->indexers[at];
    ki_index_values *values = &update->new_values, *before = &update->old_values;
    ki_status status = KI_OK;
    values->count = before->count = 0;
    values->seed = before->seed = schema->sets.seed;
    if (change->obj)
        status = read_values(values, indexer, change->read);
    if (status && status != KI_ERR_NO_MEMORY) { /* the index function failed: the object has no values */
        update->on_error(indexer, change->obj, status, update->user);
        status = KI_OK;
    }
    if (change->old && !status && !(change->obj && keeps_values(update, schema, at, index, change->key)))
        status = values_of_old(update, indexer, change->old);
    for (size_t i = 0; !status && i < before->count; i++) {
        ki_str value = value_at(before, i);
        uint64_t hash = before->items[i].hash;
        if (!has_value(values, value, hash))
            status = ki_index_set_remove(schema, at, edit, index, value, hash, change->key);
    }
    for (size_t i = 0; !status && i < values->count; i++)
        status = ki_index_set_add(schema, at, edit, index, value_at(values, i), values->items[i].hash, change);
    return status;
}

/* ---- schema ---- */

size_t ki_schema_find(const ki_schema *schema, const char *name) {
    size_t i = 0;
    while (i < schema->count && strcmp(schema->indexers[i].name, name) != 0)
        i++;
    return i;
}

static size_t texts_size(const ki_indexer *indexer) {
    return strlen(indexer->name) + 1 + (indexer->path ? strlen(indexer->path) + 1 : 0);
}

/* Copies an indexer with its texts to `*texts`, which moves past them. */
static ki_status copy_indexer(const ki_indexer *from, ki_schema *schema, char **texts, ki_error *err) {
    ki_indexer *to = &schema->indexers[schema->count];
    *to = *from;
    size_t size = strlen(from->name) + 1;
    to->name = memcpy(*texts, from->name, size);
    *texts += size;
    if (from->path) {
        ki_path *path;
        ki_status status = ki_path_parse(&schema->allocator, from->path, &path, err);
        if (status)
            return status;
        size = strlen(from->path) + 1;
        to->path = memcpy(*texts, from->path, size);
        *texts += size;
        to->index = index_by_path;
        to->user = path; /* owned */
    }
    schema->count++;
    return KI_OK;
}

/* Checks the new indexers. Stores the size of all texts in `*ret_size`. */
static ki_status check(const ki_schema *before, const ki_indexer *more, size_t count, size_t *ret_size, ki_error *err) {
    size_t size = 0;
    if (count > KI_INDEX_MAX_COUNT || (before && before->count + count > KI_INDEX_MAX_COUNT))
        return ki_error_set(err, KI_ERR_LIMIT, "more than %d indexes", KI_INDEX_MAX_COUNT);
    for (size_t i = 0; before && i < before->count; i++)
        size += texts_size(&before->indexers[i]);
    for (size_t i = 0; i < count; i++) {
        if (!more[i].name || !*more[i].name || strlen(more[i].name) > KI_INDEX_MAX_VALUE_SIZE)
            return ki_error_set(err, KI_ERR_INVALID, "an indexer needs a name");
        if (!more[i].index == !more[i].path)
            return ki_error_set(err, KI_ERR_INVALID, "the indexer %.100s needs a function or a path", more[i].name);
        bool taken = before && ki_schema_find(before, more[i].name) < before->count;
        for (size_t j = 0; j < i; j++)
            taken = taken || strcmp(more[i].name, more[j].name) == 0;
        if (taken)
            return ki_error_set(err, KI_ERR_EXISTS, "there is an index named %s already", more[i].name);
        size += texts_size(&more[i]);
    }
    *ret_size = size;
    return KI_OK;
}

/* Gives a reference to the versions of `before`, or makes the first ones. */
static ki_status versions_of(const ki_schema *before, const ki_allocator *allocator, ki_versions **ret_versions,
                             ki_error *err) {
    if (before) {
        ki_refcount_inc(&before->versions->refs);
        *ret_versions = before->versions;
        return KI_OK;
    }
    ki_versions *versions = ki_alloc(allocator, sizeof *versions);
    if (!versions)
        return ki_error_no_memory(err, "making a store");
    ki_status status = ki_mutex_init(&versions->lock, err);
    if (status) {
        ki_free(allocator, versions);
        return status;
    }
    ki_refcount_init(&versions->refs);
    atomic_init(&versions->last, 0);
    versions->deferred = NULL;
    *ret_versions = versions;
    return KI_OK;
}

static void versions_unref(ki_versions *versions, const ki_allocator *allocator) {
    if (!ki_refcount_dec(&versions->refs))
        return;
    ki_mutex_destroy(&versions->lock);
    ki_free(allocator, versions);
}

ki_status ki_schema_new(const ki_allocator *allocator, uint64_t seed, const ki_schema *before, const ki_indexer *more,
                        size_t count, ki_schema **ret_schema, ki_error *err) {
    size_t all_texts = 0;
    ki_status status = check(before, more, count, &all_texts, err);
    if (status)
        return status;
    size_t old_count = before ? before->count : 0;
    size_t total = old_count + count;
    ki_schema *schema = ki_alloc(allocator, sizeof *schema + total * sizeof(ki_indexer) + all_texts);
    if (!schema)
        return ki_error_no_memory(err, "adding an index");
    status = versions_of(before, allocator, &schema->versions, err);
    if (status) {
        ki_free(allocator, schema);
        return status;
    }
    ki_refcount_init(&schema->refs);
    schema->allocator = *allocator;
    schema->objects = (ki_tree_kind){ .allocator = &schema->allocator,
                                      .seed = seed,
                                      .key = object_key,
                                      .has_key = object_has_key,
                                      .ref = object_ref,
                                      .unref = object_unref };
    schema->unowned =
        (ki_tree_kind){ .allocator = &schema->allocator, .seed = seed, .key = object_key, .has_key = object_has_key };
    schema->sets = (ki_tree_kind){
        .allocator = &schema->allocator, .seed = seed, .key = ki_index_set_value, .has_key = ki_index_set_has_value
    };
    schema->count = 0;
    char *texts = (char *)(schema->indexers + total);
    for (size_t i = 0; i < total && !status; i++)
        status =
            copy_indexer(before && i < old_count ? &before->indexers[i] : &more[i - old_count], schema, &texts, err);
    if (status)
        ki_schema_unref(schema);
    else
        *ret_schema = schema;
    return status;
}

void ki_schema_unref(ki_schema *schema) {
    if (!ki_refcount_dec(&schema->refs))
        return;
    ki_allocator allocator = schema->allocator; /* a copy: the block contains the original */
    for (size_t i = 0; i < schema->count; i++) {
        if (schema->indexers[i].path)
            ki_path_free(&allocator, schema->indexers[i].user);
    }
    versions_unref(schema->versions, &allocator);
    ki_free(&allocator, schema);
}
