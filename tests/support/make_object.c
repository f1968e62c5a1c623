/* make_object.c: see make_object.h. */
#include "tests/support/make_object.h"

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/pack.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void give_up(const char *what) {
    fprintf(stderr, "make_object: %s\n", what);
    exit(2);
}

static ki_object_format *format; /* shared by the whole program */

static void make_format(void) {
    ki_error err = KI_ERROR_INIT;
    if (ki_object_format_new(NULL, NULL, &format, &err))
        give_up(ki_error_message(&err));
    ki_body_contexts *contexts = getenv("KI_TEST_PACK") ? ki_body_contexts_new(&ki_allocator_default) : NULL;
    if (contexts)
        ki_object_format_set_pack(format, contexts, 1);
    ki_body_contexts_unref(contexts);
}

ki_object *make_object_from_json(const char *json) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = NULL;
    pthread_once(&once, make_format);
    if (ki_object_from_json(format, ki_str_of(json), "v1", "ConfigMap", &obj, &err))
        give_up(ki_error_message(&err));
    return obj;
}

static void check(ki_status status) {
    if (status)
        give_up("no memory");
}

ki_object *make_object(const char *key, const char *resource_version, const char *labels) {
    ki_str rest;
    ki_str first = ki_str_split(ki_str_of(key), '/', &rest);
    bool namespaced = rest.data != NULL;
    ki_str name = namespaced ? rest : first;
    ki_buffer json;
    ki_buffer_init(&json, &ki_allocator_default, 0);
    check(ki_buffer_printf(&json, "{\"metadata\":{\"name\":\"%.*s\"", (int)name.size, name.data));
    if (namespaced)
        check(ki_buffer_printf(&json, ",\"namespace\":\"%.*s\"", (int)first.size, first.data));
    check(ki_buffer_printf(&json, ",\"resourceVersion\":\"%s\",\"labels\":{", resource_version));
    rest = ki_str_of(labels);
    for (bool more = false; rest.size; more = true) {
        ki_str value;
        ki_str label = ki_str_split(rest, ',', &rest);
        label = ki_str_split(label, '=', &value);
        check(ki_buffer_printf(&json, "%s\"%.*s\":\"%.*s\"", more ? "," : "", (int)label.size, label.data,
                               (int)value.size, value.data ? value.data : ""));
    }
    check(ki_buffer_append_string(&json, "}}}"));
    ki_object *obj = make_object_from_json(json.data);
    ki_buffer_free(&json);
    return obj;
}
