/* owners.c: see owners.h. Reads the uids in an object's text: the server wrote it without spaces, and within a string a
 * quote has a backslash. */
#include "testing/cluster/owners.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"

/* Returns the next uid of an owner at or after `*at`, which moves behind it; NULL: there is none. */
static ki_str next_uid(const kt_object *obj, const char **at) {
    static const char name[] = "\"uid\":\"";
    const char *end = obj->json.data + obj->meta_end;
    const char *found = *at ? memmem(*at, (size_t)(end - *at), name, sizeof name - 1) : NULL;
    *at = found ? found + sizeof name - 1 : NULL;
    const char *quote = found ? memchr(*at, '"', (size_t)(end - *at)) : NULL;
    return quote ? (ki_str){ *at, (size_t)(quote - *at) } : (ki_str){ NULL, 0 };
}

/* Returns the place of the object's owners; NULL: it names none. */
static const char *find_owners(const kt_object *obj) {
    static const char name[] = "\"ownerReferences\":";
    return memmem(obj->json.data + obj->meta_start, obj->meta_end - obj->meta_start, name, sizeof name - 1);
}

ki_status kt_owners_add(kt_storage *store, kt_object *obj) {
    kt_cluster *cluster = store->cluster;
    const char *first = find_owners(obj);
    size_t count = 0;
    for (const char *at = first; next_uid(obj, &at).data;)
        count++;
    if (count == 0)
        return KI_OK;
    kt_owners *owners = ki_alloc_zero(&cluster->allocator, sizeof *owners + count * sizeof owners->each[0]);
    if (!owners)
        return KI_ERR_NO_MEMORY;
    KT_HOLDS(cluster);
    KI_ASSERT(!obj->owners);
    obj->owners = owners;
    const char *at = first;
    for (; owners->count < count; owners->count++) {
        kt_dependent *dependent = &owners->each[owners->count];
        dependent->store = store;
        dependent->obj = obj;
        if (ki_multimap_add(&cluster->dependents, &dependent->node, next_uid(obj, &at))) {
            kt_owners_remove(cluster, obj);
            return KI_ERR_NO_MEMORY;
        }
    }
    return KI_OK;
}

void kt_owners_remove(kt_cluster *cluster, kt_object *obj) {
    kt_owners *owners = obj ? obj->owners : NULL;
    if (!owners)
        return;
    while (owners->count)
        ki_multimap_remove(&cluster->dependents, &owners->each[--owners->count].node);
    ki_free(&cluster->allocator, owners);
    obj->owners = NULL;
}

kt_dependent *kt_owners_first(const kt_cluster *cluster, ki_str uid) {
    return (kt_dependent *)ki_multimap_first(&cluster->dependents, uid); /* `node` is first in it */
}
