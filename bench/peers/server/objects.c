/* objects.c: see objects.h. */
#include "bench/peers/server/objects.h"

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

enum {
    PODS_PER_NODE = 100,
    SPARE_PARTS = 20 /* the load makes approximately the number of pods that is asked for: a twentieth more */
};

static const char copy_zeros[] = "000";
static const char version_zeros[] = "000000000000";
static const char stamp_zeros[] = "0000000000000000000";
_Static_assert(sizeof copy_zeros - 1 == COPY_DIGITS, "digits of a copy");
_Static_assert(sizeof version_zeros - 1 == VERSION_DIGITS, "digits of a version");
_Static_assert(sizeof stamp_zeros - 1 == STAMP_DIGITS, "digits of a stamp");

static void need(bool ok, const char *what) {
    if (ok)
        return;
    fprintf(stderr, "server: %s\n", what);
    exit(1);
}

/* Returns the offset of the digits after the text, which the JSON must have. */
static size_t find(const pod_text *text, const char *before) {
    const char *at = strstr(text->json, before);
    need(at, before);
    return (size_t)(at - text->json) + strlen(before);
}

/* Sets `name` to its value with COPY_DIGITS zeros instead of the last characters, or after them. Returns the value. */
static const char *with_digits(yyjson_mut_doc *doc, yyjson_mut_val *metadata, const char *name, bool replaces) {
    const char *value = yyjson_mut_get_str(yyjson_mut_obj_get(metadata, name));
    need(value && strlen(value) > COPY_DIGITS, "a pod without name or uid");
    char text[512];
    snprintf(text, sizeof text, "%.*s%s", (int)(strlen(value) - (replaces ? COPY_DIGITS : 0)), value, copy_zeros);
    yyjson_mut_val *made = yyjson_mut_strcpy(doc, text);
    need(made && yyjson_mut_obj_put(metadata, yyjson_mut_str(doc, name), made), "memory");
    return yyjson_mut_get_str(made);
}

static void make_text(yyjson_mut_doc *doc, const char *name, const char *uid, pod_text *ret_text) {
    char before[1024];
    ret_text->json = yyjson_mut_write(doc, 0, &ret_text->size);
    need(ret_text->json, "memory");
    snprintf(before, sizeof before, "\"name\":\"%.*s", (int)(strlen(name) - COPY_DIGITS), name);
    ret_text->name_at = find(ret_text, before);
    snprintf(before, sizeof before, "\"uid\":\"%.*s", (int)(strlen(uid) - COPY_DIGITS), uid);
    ret_text->uid_at = find(ret_text, before);
    snprintf(before, sizeof before, "\"resourceVersion\":\"");
    ret_text->version_at = find(ret_text, before);
    snprintf(before, sizeof before, "\"" STAMP_NAME "\":\"");
    ret_text->stamp_at = find(ret_text, before);
}

static bool add_pod(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    (void)key, (void)key_size;
    pods *p = user;
    yyjson_doc *parsed = yyjson_read(json, size, 0);
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(parsed, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *metadata = yyjson_mut_obj_get(root, "metadata");
    yyjson_mut_val *annotations = yyjson_mut_obj_get(metadata, "annotations");
    need(parsed && metadata && annotations, "a pod of the load without annotations");
    const char *name = with_digits(doc, metadata, "name", false), *uid = with_digits(doc, metadata, "uid", true);
    /* As a real server sends it in a watch: kind and apiVersion first. */
    yyjson_mut_obj_remove_key(root, "kind");
    yyjson_mut_obj_remove_key(root, "apiVersion");
    need(yyjson_mut_obj_insert(root, yyjson_mut_str(doc, "apiVersion"), yyjson_mut_str(doc, "v1"), 0) &&
             yyjson_mut_obj_insert(root, yyjson_mut_str(doc, "kind"), yyjson_mut_str(doc, "Pod"), 0) &&
             yyjson_mut_obj_put(metadata, yyjson_mut_str(doc, "resourceVersion"), yyjson_mut_str(doc, version_zeros)) &&
             yyjson_mut_obj_put(annotations, yyjson_mut_str(doc, STAMP_NAME), yyjson_mut_str(doc, stamp_zeros)),
         "memory");
    make_text(doc, name, uid, &p->whole[p->loaded]);
    if (p->whole[p->loaded].size > p->longest)
        p->longest = p->whole[p->loaded].size;

    yyjson_mut_val *partial = yyjson_mut_obj(doc);
    need(yyjson_mut_obj_add_str(doc, partial, "kind", "PartialObjectMetadata") &&
             yyjson_mut_obj_add_str(doc, partial, "apiVersion", "meta.k8s.io/v1") &&
             yyjson_mut_obj_remove_key(root, "metadata") && yyjson_mut_obj_add_val(doc, partial, "metadata", metadata),
         "memory");
    yyjson_mut_doc_set_root(doc, partial);
    make_text(doc, name, uid, &p->metadata[p->loaded]);
    p->loaded++;
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(parsed);
    return p->loaded < p->count && p->loaded < LOADED_MAX;
}

void load_pods(pods *p, size_t count, bool managed_fields) {
    *p = (pods){ .count = count };
    if (count == 0)
        return;
    size_t wanted = count < LOADED_MAX ? count : LOADED_MAX;
    p->whole = calloc(wanted, sizeof *p->whole);
    p->metadata = calloc(wanted, sizeof *p->metadata);
    need(p->whole && p->metadata, "memory");
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = NULL;
    const ki_testing_server_options options =
        KI_TESTING_SERVER_OPTIONS(.pods = wanted + wanted / SPARE_PARTS + 100, .nodes = wanted / PODS_PER_NODE + 1,
                                  .seed = 1, .managed_fields = managed_fields);
    need(!ki_testing_server_new(&options, &server, &err), ki_error_message(&err));
    ki_testing_server_each(server, KI_PODS, add_pod, p);
    ki_testing_server_free(server);
    need(p->loaded == wanted, "the load has made too few pods");
}

size_t write_pod(const pods *p, size_t number, bool metadata, uint64_t version, int64_t stamp_ns, char *to) {
    const pod_text *text = (metadata ? p->metadata : p->whole) + number % p->loaded;
    char digits[32];
    memcpy(to, text->json, text->size);
    snprintf(digits, sizeof digits, "%0*zu", (int)COPY_DIGITS, number / p->loaded);
    memcpy(to + text->name_at, digits, COPY_DIGITS);
    memcpy(to + text->uid_at, digits, COPY_DIGITS);
    snprintf(digits, sizeof digits, "%0*" PRIu64, (int)VERSION_DIGITS, version);
    memcpy(to + text->version_at, digits, VERSION_DIGITS);
    snprintf(digits, sizeof digits, "%0*" PRId64, (int)STAMP_DIGITS, stamp_ns);
    memcpy(to + text->stamp_at, digits, STAMP_DIGITS);
    return text->size;
}
