/* selection.c: see selection.h. One allocation: the struct, then its texts with their zeros. The key is the first
 * seven texts: as none has a zero inside, no two selections share a key. */
#include "src/object/selection.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/keep.h"
#include "src/object/resource_table.h"

#include <stdio.h>

enum {
    SELECTORS_MAX = 64 * 1024, /* bytes */
    SET_NAME_MAX = 63          /* bytes of a set's name */
};

static const char *or_empty(const char *text) {
    return text ? text : "";
}

/* Appends the name for messages: "deployments in default (app=web, metadata)". */
static void append_name(ki_buffer *memory, const char *plural, const char *namespace_name, const char *labels,
                        const char *fields, const char *kept) {
    const char *const details[] = { labels, fields, kept };
    bool has_detail = false;
    ki_buffer_printf(memory, "%s%s%s", plural, namespace_name[0] ? " in " : "", namespace_name);
    for (size_t i = 0; i < sizeof details / sizeof *details; i++) {
        if (!details[i][0])
            continue;
        ki_buffer_printf(memory, "%s%s", has_detail ? ", " : " (", details[i]);
        has_detail = true;
    }
    ki_buffer_printf(memory, "%s", has_detail ? ")" : "");
}

/* Appends all texts, in the order of set_texts. `kept`: what the cache keeps, for the name; "": the default. */
static void append_texts(ki_buffer *memory, const ki_resource *resource, const char *namespace_name, const char *labels,
                         const char *fields, const char *keep, const char *kept) {
    const char *group = resource->group, *plural = resource->plural;
    const char *const copied[] = { group, resource->version, plural, namespace_name, labels, fields,
                                   keep,  resource->kind };
    const char *all = resource->namespaced ? " in all namespaces" : "";
    bool has_namespace = namespace_name[0];
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        ki_buffer_append(memory, copied[i], strlen(copied[i]) + 1);
    ki_buffer_printf(memory, "%s%s%s%c", group, group[0] ? "/" : "", resource->version, '\0');
    ki_buffer_printf(memory, "%s%s%s%s%s%c", plural, group[0] ? "." : "", group, has_namespace ? " in namespace " : all,
                     namespace_name, '\0');
    append_name(memory, plural, namespace_name, labels, fields, kept);
}

static void set_texts(ki_selection *selection) {
    const char *at = (const char *)(selection + 1);
    ki_resource *resource = &selection->resource;
    const char **const texts[] = {
        &resource->group,           &resource->version,         &resource->plural,     &selection->namespace_name,
        &selection->label_selector, &selection->field_selector, &selection->keep_name, &resource->kind,
        &selection->api_version,    &selection->target,         &selection->name
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++, at += strlen(at) + 1)
        *texts[i] = at;
    selection->key = (ki_str){ resource->group, (size_t)(resource->kind - resource->group) };
}

static ki_status check_resource(const ki_resource *resource, ki_error *err) {
    if (!resource)
        return ki_error_set(err, KI_ERR_INVALID, "no resource, or no built-in resource of that name");
    if (!ki_resource_is_complete(resource))
        return ki_error_set(err, KI_ERR_INVALID,
                            "a resource needs group (\"\" for the core), version, plural and kind");
    if (!ki_resource_has_verb(resource, "list"))
        return ki_error_set(err, KI_ERR_UNSUPPORTED,
                            "%s cannot be listed: no informer is possible; send their requests with the client",
                            resource->plural);
    return KI_OK;
}

static ki_status check_set(const ki_resource *resource, const ki_informer_options *options, ki_error *err) {
    size_t size = strspn(options->namespace_set, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (!resource->namespaced)
        return ki_error_set(err, KI_ERR_INVALID, "a set of namespaces of %s, which have no namespace",
                            resource->plural);
    if (size == 0 || size > SET_NAME_MAX || options->namespace_set[size])
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .namespace_set '%.100s': 1 to %d of a-z, 0-9, -",
                            options->namespace_set, (int)SET_NAME_MAX);
    if (options->consistency_check_ms > 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .consistency_check_ms beside .namespace_set");
    return KI_OK;
}

/* Returns an error for a view with a field that the server does not send. A path that cannot be parsed is left to the
 * view. */
static ki_status check_view(const ki_allocator *allocator, const ki_informer_options *options, ki_error *err) {
    const ki_field *fields = options->keep == KI_KEEP_METADATA ? options->view : NULL;
    for (size_t i = 0; fields && fields[i].path && i < KI_VIEW_MAX_FIELDS; i++) {
        ki_path *path = NULL;
        ki_status status = ki_path_parse(allocator, fields[i].path, &path, NULL);
        bool is_kept = status || ki_path_is_of_metadata(path);
        ki_path_free(allocator, path);
        if (status == KI_ERR_NO_MEMORY)
            return ki_error_no_memory(err, "making an informer");
        if (!is_kept)
            return ki_error_set(err, KI_ERR_INVALID, "the view has %.100s, but the cache is to keep only the metadata",
                                fields[i].path);
    }
    return KI_OK;
}

static ki_status new_selection(const ki_allocator *allocator, const ki_resource *resource, bool is_by_name,
                               const ki_informer_options *options, ki_selection **ret_selection, ki_error *err) {
    char set_name[SET_NAME_MAX + sizeof "()"];
    const char *namespace_name = resource->namespaced ? or_empty(options->namespace_name) : "";
    const char *labels = or_empty(options->label_selector), *fields = or_empty(options->field_selector);
    if (options->keep < KI_KEEP_OBJECT || options->keep > KI_KEEP_KEYS)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .keep %d: no such value", (int)options->keep);
    ki_status status = check_view(allocator, options, err);
    if (status)
        return status;
    if (strlen(labels) + strlen(fields) > SELECTORS_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "selectors of more than %d bytes", (int)SELECTORS_MAX);
    if (options->namespace_set) {
        snprintf(set_name, sizeof set_name, "(%s)", options->namespace_set);
        namespace_name = set_name;
    }
    const ki_selection empty = { .allocator = allocator,
                                 .keep = options->keep,
                                 .is_set = options->namespace_set != NULL,
                                 .resource.namespaced = resource->namespaced,
                                 .is_by_name = is_by_name };
    ki_buffer memory;
    ki_buffer_init(&memory, allocator, 0);
    ki_buffer_append(&memory, &empty, sizeof empty);
    append_texts(&memory, resource, namespace_name, labels, fields, ki_keep_name(options->keep),
                 options->keep == KI_KEEP_OBJECT ? "" : ki_keep_name(options->keep));
    ki_selection *selection = (void *)ki_buffer_take(&memory, NULL);
    if (!selection)
        return ki_error_no_memory(err, "making an informer");
    set_texts(selection);
    ki_refcount_init(&selection->refs);
    *ret_selection = selection;
    return KI_OK;
}

ki_status ki_selection_new(const ki_allocator *allocator, const ki_resource *resource,
                           const ki_informer_options *options, ki_selection **ret_selection, ki_error *err) {
    ki_status status = check_resource(resource, err);
    if (!status && options->namespace_set)
        status = check_set(resource, options, err);
    return status ? status : new_selection(allocator, resource, false, options, ret_selection, err);
}

ki_status ki_selection_check_key(const ki_selection *selection, const char *key, ki_error *err) {
    char namespace_name[KI_OBJECT_KEY_MAX];
    bool is_of_one = selection->namespace_name[0] && !selection->is_set; /* a set has a name there */
    if (!ki_key_split(key, namespace_name, sizeof namespace_name) ||
        (namespace_name[0] != '\0') != selection->resource.namespaced)
        return ki_error_set(err, KI_ERR_INVALID, "\"%.100s\" is not a key of %s, which is \"%s\"", key,
                            selection->resource.plural, selection->resource.namespaced ? "namespace/name" : "name");
    if (is_of_one && strcmp(selection->namespace_name, namespace_name) != 0)
        return ki_error_set(err, KI_ERR_INVALID, "\"%.100s\" is not in namespace %s", key, selection->namespace_name);
    return KI_OK;
}

/* --- by name ------------------------------------------------------------------------------------------------------ */

ki_status ki_selection_split_name(const char *name, char plural[KI_SELECTION_PLURAL_SIZE], ki_resource *ret_resource,
                                  ki_error *err) {
    const char *dot = strchr(name, '.');
    size_t size = dot ? (size_t)(dot - name) : 0;
    if (size == 0 || size >= KI_SELECTION_PLURAL_SIZE || !dot[1]) {
        const char *meant = ki_resource_nearest(name);
        return ki_error_set(err, KI_ERR_INVALID,
                            "\"%.100s\" is no built-in resource%s%s%s; one that is not built in is named by plural and "
                            "group: widgets.example.com",
                            name, meant ? ": did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
    }
    memcpy(plural, name, size);
    plural[size] = '\0';
    *ret_resource = (ki_resource){ .group = dot + 1, .version = "", .plural = plural, .kind = "", .namespaced = true };
    return KI_OK;
}

ki_status ki_selection_new_by_name(const ki_allocator *allocator, const ki_resource *name,
                                   const ki_informer_options *options, ki_selection **ret_selection, ki_error *err) {
    return new_selection(allocator, name, true, options, ret_selection, err);
}

static bool is_same(const ki_resource *a, const ki_resource *b) {
    return strcmp(a->version, b->version) == 0 && strcmp(a->kind, b->kind) == 0 && a->namespaced == b->namespaced;
}

ki_status ki_selection_set_found(ki_selection *selection, const ki_resource *resource, ki_error *err) {
    ki_selection *before = atomic_load(&selection->found), *found = NULL;
    if (before && is_same(&before->resource, resource))
        return KI_OK;
    const ki_informer_options options = { .namespace_name = selection->namespace_name,
                                          .label_selector = selection->label_selector,
                                          .field_selector = selection->field_selector,
                                          .keep = selection->keep };
    ki_status status = ki_selection_new(selection->allocator, resource, &options, &found, err);
    if (status || !found)
        return status;
    found->older = before;
    atomic_store(&selection->found, found);
    return KI_OK;
}

ki_selection *ki_selection_found(ki_selection *selection) {
    return selection->is_by_name ? atomic_load(&selection->found) : selection;
}

/* --- references --------------------------------------------------------------------------------------------------- */

bool ki_selection_has_set(const ki_selection *selection, const char *set_name) {
    size_t size = strlen(set_name);
    const char *name = selection->namespace_name;
    return selection->is_set && strncmp(name + 1, set_name, size) == 0 && strcmp(name + 1 + size, ")") == 0;
}

ki_selection *ki_selection_ref(ki_selection *selection) {
    ki_refcount_inc(&selection->refs);
    return selection;
}

void ki_selection_unref(ki_selection *selection) {
    if (!selection || !ki_refcount_dec(&selection->refs))
        return;
    ki_selection *found = atomic_load(&selection->found);
    while (found) {
        ki_selection *older = found->older;
        ki_selection_unref(found);
        found = older;
    }
    ki_free(selection->allocator, selection);
}
