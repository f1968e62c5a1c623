/* objects.c: see objects.h. */
#include "bench/peers/server/objects.h"

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

enum {
    PODS_PER_NODE = 100,
    SPARE_PARTS = 20 /* the load makes approximately the number of pods that is asked for: a twentieth more */
};

static const char copy_zeros[] = "000";
static const char version_zeros[] = "000000000000";
static const char stamp_zeros[] = "0000000000000000000";
static const char label_zeros[] = "000000000000";
_Static_assert(sizeof copy_zeros - 1 == COPY_DIGITS, "digits of a copy");
_Static_assert(sizeof version_zeros - 1 == VERSION_DIGITS, "digits of a version");
_Static_assert(sizeof stamp_zeros - 1 == STAMP_DIGITS, "digits of a stamp");
_Static_assert(sizeof label_zeros - 1 == LABEL_DIGITS, "digits of a label");

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
    ret_text->version_at = find(ret_text, "\"resourceVersion\":\"");
    ret_text->stamp_at = find(ret_text, "\"" STAMP_NAME "\":\"");
    ret_text->label_at = find(ret_text, "\"" LABEL_NAME "\":\"");
    static const char time[] = "\"lastTransitionTime\":\"";
    const char *at = strstr(ret_text->json, time);
    ret_text->status_at = at ? (size_t)(at - ret_text->json) + sizeof time - 1 : 0;
}

/* Returns an object of the metadata, which is made if it is missing, with a member of its own. */
static yyjson_mut_val *with_member(yyjson_mut_doc *doc, yyjson_mut_val *metadata, const char *object, const char *name,
                                   const char *value) {
    yyjson_mut_val *val = yyjson_mut_obj_get(metadata, object);
    if (!val)
        val = yyjson_mut_obj_add_obj(doc, metadata, object);
    need(val && yyjson_mut_obj_put(val, yyjson_mut_str(doc, name), yyjson_mut_str(doc, value)), "memory");
    return val;
}

static void add_pod(pods *p, yyjson_doc *parsed, yyjson_val *val) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, val), *metadata = yyjson_mut_obj_get(root, "metadata");
    yyjson_mut_doc_set_root(doc, root);
    need(parsed && metadata, "a pod without metadata");
    with_member(doc, metadata, "labels", LABEL_NAME, label_zeros);
    with_member(doc, metadata, "annotations", STAMP_NAME, stamp_zeros);
    const char *name = with_digits(doc, metadata, "name", false), *uid = with_digits(doc, metadata, "uid", true);
    /* As a real server sends it in a watch: kind and apiVersion first. */
    yyjson_mut_obj_remove_key(root, "kind");
    yyjson_mut_obj_remove_key(root, "apiVersion");
    need(yyjson_mut_obj_insert(root, yyjson_mut_str(doc, "apiVersion"), yyjson_mut_str(doc, "v1"), 0) &&
             yyjson_mut_obj_insert(root, yyjson_mut_str(doc, "kind"), yyjson_mut_str(doc, "Pod"), 0) &&
             yyjson_mut_obj_put(metadata, yyjson_mut_str(doc, "resourceVersion"), yyjson_mut_str(doc, version_zeros)),
         "memory");
    make_text(doc, name, uid, &p->whole[p->loaded]);
    if (p->whole[p->loaded].size > p->longest)
        p->longest = p->whole[p->loaded].size;
    p->bytes += p->whole[p->loaded].size;

    yyjson_mut_val *partial = yyjson_mut_obj(doc);
    need(yyjson_mut_obj_add_str(doc, partial, "kind", "PartialObjectMetadata") &&
             yyjson_mut_obj_add_str(doc, partial, "apiVersion", "meta.k8s.io/v1") &&
             yyjson_mut_obj_remove_key(root, "metadata") && yyjson_mut_obj_add_val(doc, partial, "metadata", metadata),
         "memory");
    yyjson_mut_doc_set_root(doc, partial);
    make_text(doc, name, uid, &p->metadata[p->loaded]);
    p->loaded++;
    yyjson_mut_doc_free(doc);
}

static bool add_loaded(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    (void)key, (void)key_size;
    pods *p = user;
    yyjson_doc *parsed = yyjson_read(json, size, 0);
    add_pod(p, parsed, yyjson_doc_get_root(parsed));
    yyjson_doc_free(parsed);
    return p->loaded < p->count && p->loaded < LOADED_MAX;
}

static void reserve(pods *p, size_t count) {
    p->whole = calloc(count, sizeof *p->whole);
    p->metadata = calloc(count, sizeof *p->metadata);
    need(p->whole && p->metadata, "memory");
}

void read_pods(pods *p, const char *path) {
    yyjson_read_err cause;
    yyjson_doc *parsed = yyjson_read_file(path, 0, NULL, &cause);
    if (!parsed)
        fprintf(stderr, "server: %s: %s\n", path, cause.msg);
    yyjson_val *list = yyjson_doc_get_root(parsed), *items = yyjson_obj_get(list, "items"), *item;
    size_t index, count;
    need((yyjson_equals_str(yyjson_obj_get(list, "kind"), "List") ||
          yyjson_equals_str(yyjson_obj_get(list, "kind"), "PodList")) &&
             yyjson_arr_size(items) > 0,
         "the file has no list of pods: kubectl get pods -A -o json makes one");
    need(yyjson_arr_size(items) <= LOADED_MAX, "the file has too many pods");
    *p = (pods){ .count = yyjson_arr_size(items) };
    reserve(p, p->count);
    yyjson_arr_foreach(items, index, count, item) {
        const char *kind = yyjson_get_str(yyjson_obj_get(item, "kind"));
        need(!kind || strcmp(kind, "Pod") == 0, "the file has objects that are no pods");
        add_pod(p, parsed, item);
    }
    yyjson_doc_free(parsed);
}

void load_pods(pods *p, size_t count, bool managed_fields) {
    *p = (pods){ .count = count };
    if (count == 0)
        return;
    size_t wanted = count < LOADED_MAX ? count : LOADED_MAX;
    reserve(p, wanted);
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = NULL;
    const ki_testing_server_options options =
        KI_TESTING_SERVER_OPTIONS(.pods = wanted + wanted / SPARE_PARTS + 100, .nodes = wanted / PODS_PER_NODE + 1,
                                  .seed = 1, .managed_fields = managed_fields);
    need(!ki_testing_server_new(&options, &server, &err), ki_error_message(&err));
    ki_testing_server_each(server, KI_PODS, add_loaded, p);
    ki_testing_server_free(server);
    need(p->loaded == wanted, "the load has made too few pods");
}

/* Writes `size` digits. */
static void write_digits(char *to, int size, uint64_t number) {
    char digits[32];
    snprintf(digits, sizeof digits, "%0*" PRIu64, size, number);
    memcpy(to, digits, (size_t)size);
}

size_t write_pod(const pods *p, size_t number, bool metadata, const pod_change *change, char *to) {
    const pod_text *text = (metadata ? p->metadata : p->whole) + number % p->loaded;
    memcpy(to, text->json, text->size);
    write_digits(to + text->name_at, COPY_DIGITS, number / p->loaded);
    write_digits(to + text->uid_at, COPY_DIGITS, number / p->loaded);
    write_digits(to + text->version_at, VERSION_DIGITS, change->version);
    write_digits(to + text->stamp_at, STAMP_DIGITS, (uint64_t)change->stamp_ns);
    write_digits(to + text->label_at, LABEL_DIGITS, change->label);
    if (change->status_s && text->status_at) {
        char time[TIME_SIZE + 1];
        struct tm parts;
        time_t seconds = change->status_s;
        strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
        memcpy(to + text->status_at, time, TIME_SIZE);
    }
    return text->size;
}
