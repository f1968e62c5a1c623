/* patch.c: strategic merge, and what server-side apply needs of it. Recursive: bodies are limited in depth (json.h). */
#include "testing/patch.h"

#include "testing/json.h"

/* By which member the objects of a list are told apart; NULL: the list is replaced as a whole. */
static const char *merge_key(ki_str list) {
    static const struct {
        const char *list;
        const char *key;
    } keys[] = {
        { "containers", "name" },
        { "initContainers", "name" },
        { "ephemeralContainers", "name" },
        { "volumes", "name" },
        { "env", "name" },
        { "imagePullSecrets", "name" },
        { "volumeMounts", "mountPath" },
        { "volumeDevices", "devicePath" },
        { "conditions", "type" },
        { "addresses", "type" },
        { "ownerReferences", "uid" },
        { "hostAliases", "ip" },
        { "secrets", "name" },
        { "topologySpreadConstraints", "topologyKey" },
        { "podIPs", "ip" },
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (ki_str_equals(list, keys[i].list))
            return keys[i].key;
    }
    return NULL;
}

/* A container's ports are told apart by containerPort, a service's by port. */
static const char *key_of_list(ki_str list, yyjson_val *patch) {
    if (ki_str_equals(list, "ports"))
        return yyjson_obj_get(yyjson_arr_get_first(patch), "containerPort") ? "containerPort" : "port";
    return merge_key(list);
}

static yyjson_val *find_element(yyjson_val *list, const char *key, yyjson_val *value) {
    yyjson_val *element;
    size_t index, count;
    yyjson_arr_foreach(list, index, count, element) {
        if (kt_json_equal(yyjson_obj_get(element, key), value))
            return element;
    }
    return NULL;
}

static bool is_directive(ki_str key) {
    return key.size && key.data[0] == '$';
}

static bool deletes(yyjson_val *patch) {
    return ki_str_equals(kt_json_get_str(patch, "$patch"), "delete");
}

static yyjson_mut_val *merge_list(yyjson_mut_doc *doc, const char *key, yyjson_val *old, yyjson_val *patch,
                                  bool is_apply) {
    yyjson_mut_val *merged = yyjson_mut_arr(doc);
    yyjson_val *element;
    size_t index, count;
    bool fine = merged != NULL;
    yyjson_arr_foreach(old, index, count, element) {
        yyjson_val *change = find_element(patch, key, yyjson_obj_get(element, key));
        if (change && !is_apply && deletes(change))
            continue;
        fine = fine && yyjson_mut_arr_append(merged, change ? kt_patch_strategic(doc, element, change, is_apply)
                                                            : yyjson_val_mut_copy(doc, element));
    }
    yyjson_arr_foreach(patch, index, count, element) {
        if ((!is_apply && yyjson_obj_get(element, "$patch")) || find_element(old, key, yyjson_obj_get(element, key)))
            continue;
        fine = fine && yyjson_mut_arr_append(merged, kt_patch_strategic(doc, NULL, element, is_apply));
    }
    return fine ? merged : NULL;
}

/* `old` without the values of `patch`. */
static yyjson_mut_val *subtract(yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *patch) {
    yyjson_mut_val *left = yyjson_mut_arr(doc);
    yyjson_val *element, *dropped;
    size_t index, count, i, n;
    bool fine = left != NULL;
    yyjson_arr_foreach(old, index, count, element) {
        bool drop = false;
        yyjson_arr_foreach(patch, i, n, dropped) {
            drop = drop || kt_json_equal(element, dropped);
        }
        fine = fine && (drop || yyjson_mut_arr_append(left, yyjson_val_mut_copy(doc, element)));
    }
    return fine ? left : NULL;
}

/* Lists of finalizers are sets. */
static yyjson_mut_val *unite(yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *patch) {
    yyjson_mut_val *all = yyjson_mut_arr(doc);
    yyjson_val *element;
    size_t index, count, i, n;
    bool fine = all != NULL;
    yyjson_arr_foreach(old, index, count, element) {
        fine = fine && yyjson_mut_arr_append(all, yyjson_val_mut_copy(doc, element));
    }
    yyjson_arr_foreach(patch, index, count, element) {
        yyjson_val *known;
        bool there = false;
        yyjson_arr_foreach(old, i, n, known) {
            there = there || kt_json_equal(known, element);
        }
        fine = fine && (there || yyjson_mut_arr_append(all, yyjson_val_mut_copy(doc, element)));
    }
    return fine ? all : NULL;
}

static yyjson_mut_val *merge_value(yyjson_mut_doc *doc, ki_str name, yyjson_val *old, yyjson_val *patch,
                                   bool is_apply) {
    const char *key = yyjson_is_arr(patch) ? key_of_list(name, patch) : NULL;
    if (key)
        return merge_list(doc, key, old, patch, is_apply);
    if (yyjson_is_arr(patch) && ki_str_equals(name, "finalizers"))
        return unite(doc, old, patch);
    return kt_patch_strategic(doc, old, patch, is_apply);
}

/* The members that the patch adds or changes, and the list directives. */
static bool put_members(yyjson_mut_doc *doc, yyjson_mut_val *merged, yyjson_val *old, yyjson_val *patch,
                        bool is_apply) {
    static const char from_list[] = "$deleteFromPrimitiveList/";
    yyjson_val *key, *val;
    size_t index, count;
    yyjson_obj_foreach(patch, index, count, key, val) {
        ki_str name = kt_json_str(key);
        yyjson_mut_val *made;
        if (!is_apply && ki_str_starts_with(name, KI_STR(from_list))) {
            name.data += sizeof from_list - 1;
            name.size -= sizeof from_list - 1;
            made = subtract(doc, yyjson_obj_getn(old, name.data, name.size), val);
        } else if ((!is_apply && is_directive(name)) || yyjson_is_null(val)) {
            if (!is_apply && yyjson_is_null(val))
                yyjson_mut_obj_remove_keyn(merged, name.data, name.size);
            continue;
        } else {
            made = merge_value(doc, name, yyjson_obj_getn(old, name.data, name.size), val, is_apply);
        }
        yyjson_mut_val *copy = yyjson_mut_strncpy(doc, name.data, name.size);
        if (!made || !copy || !yyjson_mut_obj_put(merged, copy, made))
            return false;
    }
    return true;
}

yyjson_mut_val *kt_patch_strategic(yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *patch, bool is_apply) {
    if (!yyjson_is_obj(patch))
        return yyjson_val_mut_copy(doc, patch);
    bool replaces = !is_apply && ki_str_equals(kt_json_get_str(patch, "$patch"), "replace");
    bool keeps = yyjson_is_obj(old) && !replaces && (is_apply || !deletes(patch));
    yyjson_mut_val *merged = keeps ? yyjson_val_mut_copy(doc, old) : yyjson_mut_obj(doc);
    if (!merged || !put_members(doc, merged, keeps ? old : NULL, patch, is_apply))
        return NULL;
    return merged;
}

void kt_patch_prune(yyjson_mut_val *obj, yyjson_val *before, yyjson_val *now) {
    yyjson_val *key, *fields;
    size_t index, count;
    yyjson_obj_foreach(before, index, count, key, fields) {
        ki_str name = kt_json_str(key);
        if (!ki_str_starts_with(name, KI_STR("f:")))
            continue;
        name.data += 2;
        name.size -= 2;
        yyjson_val *still = yyjson_obj_getn(now, name.data, name.size);
        yyjson_mut_val *member = yyjson_mut_obj_getn(obj, name.data, name.size);
        if (yyjson_obj_size(fields) && yyjson_mut_is_obj(member))
            kt_patch_prune(member, fields, still);
        else if (!still)
            yyjson_mut_obj_remove_keyn(obj, name.data, name.size);
    }
}
