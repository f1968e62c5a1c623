/* managed_fields.h: metadata.managedFields: one entry for each manager, operation and subresource, with the fields
 * that the manager owns. */
#ifndef KT_CLUSTER_MANAGED_FIELDS_H
#define KT_CLUSTER_MANAGED_FIELDS_H

#include "testing/cluster/write.h"
#include "testing/schema/typed.h"

enum {
    KT_UPDATE_MANAGERS_MAX = 10 /* entries of updates; the oldest are merged beyond it, as in the real server */
};

typedef struct kt_manager {
    ki_str name;
    ki_str api_version;
    ki_str time;
    ki_str subresource;
    bool is_apply;
    kt_set *fields;
} kt_manager;

typedef struct kt_managers {
    kt_manager *list;
    size_t count;
    size_t own; /* index of the writer's entry; `count`: it has none yet */
} kt_managers;

/* Reads the entries of `previous`. Adds the entry "before-first-apply" if an apply finds an object without entries. */
void kt_managed_fields_read(kt_arena *arena, const kt_write *write, yyjson_val *previous, yyjson_val *old_root,
                            kt_managers *ret);
/* Removes fields that nobody owns (such as metadata.uid) and fields that the write's subresource cannot change. */
kt_set *kt_managed_fields_strip(kt_arena *arena, const kt_write *write, const kt_set *set);

/* Writes the array after a change from `old_root` (NULL: a new object) to `root` to `out`. `previous` is the old
 * array or NULL. */
ki_status kt_managed_fields_write(const kt_write *write, yyjson_val *previous, yyjson_val *old_root, yyjson_val *root,
                                  ki_buffer *out);

#endif
