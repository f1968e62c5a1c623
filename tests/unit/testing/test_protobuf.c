/* Bodies in protobuf: what client-go writes is read as its JSON; anything else is refused. */
#include "testing/schema/protobuf.h"
#include "testing/values/json.h"
#include "tests/support/rest_server.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <kinformer/allocator.h>

#include <stdio.h>
#include <stdlib.h>

#include "src/base/memory.h"

static const char *const names[] = { "pod",           "deployment",         "configmap",
                                     "service",       "namespace",          "event",
                                     "hpa",           "tokenrequest",       "tokenreview",
                                     "deleteoptions", "controllerrevision", "crd" };
enum {
    NAME_COUNT = sizeof names / sizeof names[0]
};

static ki_str read_data(const char *name, const char *ending) {
    char path[1024];
    snprintf(path, sizeof path, "%s/protobuf/%s.%s", KI_TEST_DATA_DIR, name, ending);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *data = malloc(65536);
    size_t size = fread(data, 1, 65535, file);
    data[size] = '\0';
    fclose(file);
    return (ki_str){ data, size };
}

static void drop(ki_str text) {
    union {
        const char *in;
        void *out;
    } data = { text.data };
    free(data.out);
}

/* Are both the same, nulls of `expected` aside, which protobuf does not have? */
static bool is_same(yyjson_val *expected, yyjson_val *found) {
    size_t index, count, seen = 0;
    yyjson_val *key, *val;
    if (yyjson_is_arr(expected)) {
        if (!yyjson_is_arr(found) || yyjson_arr_size(expected) != yyjson_arr_size(found))
            return false;
        yyjson_arr_foreach(expected, index, count, val) {
            if (!is_same(val, yyjson_arr_get(found, index)))
                return false;
        }
        return true;
    }
    if (!yyjson_is_obj(expected) || !yyjson_is_obj(found))
        return yyjson_equals(expected, found) || (yyjson_is_num(expected) && yyjson_is_num(found) && /* 0 and 0.0 */
                                                  yyjson_get_num(expected) == yyjson_get_num(found));
    yyjson_obj_foreach(expected, index, count, key, val) {
        yyjson_val *other = yyjson_obj_getn(found, yyjson_get_str(key), yyjson_get_len(key));
        if (yyjson_is_null(val) && (!other || yyjson_is_null(other))) {
            seen += other != NULL;
            continue;
        }
        if (!other || !is_same(val, other)) {
            print_error("%s differs\n", yyjson_get_str(key));
            return false;
        }
        seen++;
    }
    return seen == yyjson_obj_size(found);
}

TEST(what_client_go_writes_is_read_as_its_json) {
    for (size_t i = 0; i < NAME_COUNT; i++) {
        ki_str proto = read_data(names[i], "pb"), json = read_data(names[i], "json");
        ki_buffer out;
        const char *why = NULL;
        yyjson_doc *expected = NULL, *found = NULL;
        ki_buffer_init(&out, &ki_allocator_default, 0);
        ki_status status = kt_protobuf_to_json(proto, &out, &why);
        if (status)
            print_error("%s: %s\n", names[i], why);
        assert_int_equal(status, KI_OK);
        assert_int_equal(kt_json_read(&ki_allocator_default, json, &expected, NULL), KI_OK);
        assert_int_equal(kt_json_read(&ki_allocator_default, (ki_str){ out.data, out.size }, &found, NULL), KI_OK);
        bool same = is_same(yyjson_doc_get_root(expected), yyjson_doc_get_root(found));
        if (!same)
            print_error("%s\n%s\n%s\n", names[i], json.data, out.data);
        assert_true(same);
        yyjson_doc_free(expected);
        yyjson_doc_free(found);
        ki_buffer_free(&out);
        drop(proto);
        drop(json);
    }
}

/* Whatever comes: an error, or JSON. */
static void read_anything(ki_str proto) {
    ki_buffer out;
    const char *why = NULL;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    ki_status status = kt_protobuf_to_json(proto, &out, &why);
    if (status) {
        assert_int_equal(status, KI_ERR_PARSE);
        assert_non_null(why);
    } else {
        yyjson_doc *doc = NULL;
        assert_int_equal(kt_json_read(&ki_allocator_default, (ki_str){ out.data, out.size }, &doc, NULL), KI_OK);
        yyjson_doc_free(doc);
    }
    ki_buffer_free(&out);
}

TEST(every_beginning_and_every_changed_byte_is_rejected_or_read) {
    static const unsigned char changes[] = { 0x01, 0x80, 0xff, 0x07, 0x7f };
    for (size_t i = 0; i < NAME_COUNT; i++) {
        ki_str proto = read_data(names[i], "pb");
        for (size_t size = 0; size <= proto.size; size++) {
            char *copy = malloc(size ? size : 1); /* so that a step too far is seen */
            memcpy(copy, proto.data, size);
            read_anything((ki_str){ copy, size });
            for (size_t c = 0; size && c < sizeof changes; c++) {
                char *whole = malloc(proto.size);
                memcpy(whole, proto.data, proto.size);
                whole[size - 1] = (char)(whole[size - 1] ^ (char)changes[c]);
                read_anything((ki_str){ whole, proto.size });
                free(whole);
            }
            free(copy);
        }
        drop(proto);
    }
}

/* Puts `text` in front of `*size` bytes with their length between. */
static void wrap(char *data, size_t *size, ki_str text) {
    char length[10];
    size_t count = 0;
    for (size_t left = *size;; left >>= 7) {
        length[count++] = (char)(left >= 128 ? (left & 127) | 128 : left);
        if (left < 128)
            break;
    }
    memmove(data + text.size + count, data, *size);
    memcpy(data, text.data, text.size);
    memcpy(data + text.size, length, count);
    *size += text.size + count;
}

TEST(messages_in_messages_have_a_limit) {
    /* A schema whose `not` is a schema whose `not` …, in spec.versions[0].schema.openAPIV3Schema. */
    char data[8192];
    size_t size = 0;
    for (int i = 0; i < 200; i++)
        wrap(data, &size, KI_STR("\xe2\x01"));
    wrap(data, &size, KI_STR("\x0a"));
    wrap(data, &size, KI_STR("\x22"));
    wrap(data, &size, KI_STR("\x3a"));
    wrap(data, &size, KI_STR("\x12"));
    wrap(data, &size,
         KI_STR("k8s\0\x0a\x33\x0a\x17"
                "apiextensions.k8s.io/v1\x12\x18"
                "CustomResourceDefinition\x12"));
    ki_buffer out;
    const char *why = NULL;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    assert_int_equal(kt_protobuf_to_json((ki_str){ data, size }, &out, &why), KI_ERR_PARSE);
    assert_string_equal(why, "exceeded max depth");
    ki_buffer_free(&out);
}

TEST(lack_of_memory_is_reported_and_loses_nothing) {
    ki_str proto = read_data("crd", "pb");
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_buffer out;
        const char *why = NULL;
        ki_buffer_init(&out, &memory.allocator, 0);
        ki_status status = kt_protobuf_to_json(proto, &out, &why);
        ki_buffer_free(&out);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
    }
    drop(proto);
}

TEST(typed_clients_create_and_delete_in_protobuf) {
    rest_server server;
    rest_server_start(&server, NULL);
    ki_str namespace = read_data("namespace", "pb"), map = read_data("configmap", "pb"),
           options = read_data("deleteoptions", "pb");
    assert_int_equal(rest_send_bytes(&server, "POST", "/api/v1/namespaces", KT_PROTOBUF_TYPE, namespace), 201);
    assert_true(rest_has(&server, "\"kubernetes.io/metadata.name\":\"n\""));
    // The map's key "" is read, and then rejected as in a JSON body.
    assert_int_equal(rest_send_bytes(&server, "POST", "/api/v1/namespaces/n/configmaps", KT_PROTOBUF_TYPE, map), 422);
    assert_true(rest_has(&server, "\"field\":\"data[]\""));
    assert_int_equal(rest_send(&server, "POST", "/api/v1/namespaces/n/configmaps", "application/json",
                               "{\"metadata\":{\"name\":\"m\"}}"),
                     201);
    assert_int_equal(rest_send_bytes(&server, "DELETE", "/api/v1/namespaces/n/configmaps/m", KT_PROTOBUF_TYPE, options),
                     409);
    assert_true(rest_has(&server, "the UID in the precondition (u) does not match"));
    assert_int_equal(rest_send_bytes(&server, "POST", "/api/v1/namespaces/n/pods", KT_PROTOBUF_TYPE, map), 400);
    assert_true(rest_has(&server, "ConfigMap in version \\\"v1\\\" cannot be handled as a Pod"));
    assert_int_equal(rest_send(&server, "POST", "/api/v1/namespaces", KT_PROTOBUF_TYPE, "{\"metadata\":{}}"), 400);
    assert_true(rest_has(&server, "does not appear to be a protobuf message"));
    assert_int_equal(
        rest_send_bytes(&server, "POST", "/api/v1/namespaces", KT_PROTOBUF_TYPE, (ki_str){ namespace.data, 20 }), 400);
    drop(namespace);
    drop(map);
    drop(options);
    rest_server_stop(&server);
}
