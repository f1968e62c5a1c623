/* The requests of tests/e2e/serve-requests get the responses that a real kube-apiserver gave: status, warnings, reason,
 * causes, and the object as stored. What differs on purpose is marked with a reason, which testing/README.md lists. */
#include "src/base/memory.h"
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#define ANY "<any>"

enum {
    PATH_SIZE = 1024,
    SHOWN = 300, /* bytes of a value in the output */
    README_SIZE = 64 * 1024
};

static yyjson_val *intended; /* the first line: ends of paths that differ on purpose */

/* Returns a copy in which each `from` is replaced. */
static char *replace(const char *text, const char *from, const char *to) {
    ki_buffer out;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        ki_buffer_append(&out, text, (size_t)(at - text));
        ki_buffer_append_string(&out, to);
    }
    ki_buffer_append_string(&out, text);
    assert_int_equal(out.failed, KI_OK);
    char *copy = strdup(out.data);
    ki_buffer_free(&out);
    return copy;
}

/* Compares a text with a recorded one, in which <any> stands for any text. */
static bool is_like(const char *recorded, const char *text) {
    const char *any = strstr(recorded, ANY);
    if (!any)
        return strcmp(recorded, text) == 0;
    if (strncmp(recorded, text, (size_t)(any - recorded)) != 0)
        return false;
    text += any - recorded;
    recorded = any + strlen(ANY);
    const char *next = strstr(recorded, ANY);
    size_t size = next ? (size_t)(next - recorded) : strlen(recorded);
    if (!size)
        return true;
    char *part = strndup(recorded, size);
    bool is = false;
    for (const char *at = text; !is && (at = strstr(at, part)) != NULL; at++)
        is = is_like(recorded, at);
    free(part);
    return is;
}

static bool ends_with(const char *path, const char *end) {
    size_t size = strlen(path), end_size = strlen(end);
    return end_size <= size && strcmp(path + size - end_size, end) == 0;
}

static bool is_intended(const char *path) {
    size_t index, count;
    yyjson_val *key, *val;
    yyjson_obj_foreach(intended, index, count, key, val) {
        if (ends_with(path, yyjson_get_str(key)))
            return true;
    }
    return false;
}

static bool is_nothing(yyjson_val *val) {
    return !val || yyjson_is_null(val);
}

/* Returns true for the managedFields that are not recorded, for the times in them, and for a message that lists causes
 * in a random order. */
static bool is_left_out(yyjson_val *recorded, const char *name) {
    yyjson_val *causes = yyjson_obj_get(yyjson_obj_get(recorded, "details"), "causes");
    return (strcmp(name, "message") == 0 && yyjson_arr_size(causes) > 1) ||
           (strcmp(name, "managedFields") == 0 && !yyjson_obj_get(recorded, name)) ||
           (strcmp(name, "time") == 0 && yyjson_obj_get(recorded, "fieldsType"));
}

static bool compare(yyjson_val *recorded, yyjson_val *found, char *path, bool prints);

/* Appends ".name" to the first `end` bytes of a path. */
static void enter(char *path, size_t end, const char *name) {
    snprintf(path + end, PATH_SIZE - end, ".%s", name ? name : "");
}

static bool compare_members(yyjson_val *recorded, yyjson_val *found, char *path, bool prints) {
    bool same = true;
    size_t end = strlen(path), index, count;
    yyjson_val *key, *val;
    yyjson_obj_foreach(recorded, index, count, key, val) {
        enter(path, end, yyjson_get_str(key));
        if (!is_left_out(recorded, yyjson_get_str(key)))
            same = compare(val, yyjson_obj_get(found, yyjson_get_str(key)), path, prints) && same;
    }
    yyjson_obj_foreach(found, index, count, key, val) {
        const char *name = yyjson_get_str(key);
        enter(path, end, name);
        if (!yyjson_obj_get(recorded, name) && !is_left_out(recorded, name))
            same = compare(NULL, val, path, prints) && same;
    }
    path[end] = '\0';
    return same;
}

static bool compare_elements(yyjson_val *recorded, yyjson_val *found, char *path, bool prints) {
    bool same = true;
    size_t end = strlen(path);
    for (size_t i = 0; i < yyjson_arr_size(recorded); i++) {
        snprintf(path + end, PATH_SIZE - end, "[%zu]", i);
        same = compare(yyjson_arr_get(recorded, i), yyjson_arr_get(found, i), path, prints) && same;
    }
    path[end] = '\0';
    return same;
}

/* Compares causes and managedFields, which depend on the order of Go's maps and on the second of the request. */
static bool compare_unordered(yyjson_val *recorded, yyjson_val *found) {
    char path[PATH_SIZE] = "";
    size_t index, count, k, found_count;
    yyjson_val *one, *other;
    yyjson_arr_foreach(recorded, index, count, one) {
        bool has = false;
        yyjson_arr_foreach(found, k, found_count, other) {
            has = has || compare(one, other, path, false);
        }
        if (!has)
            return false;
    }
    return yyjson_arr_size(recorded) == yyjson_arr_size(found);
}

static bool compare(yyjson_val *recorded, yyjson_val *found, char *path, bool prints) {
    const char *text = yyjson_get_str(recorded);
    bool same = false;
    bool is_unordered =
        yyjson_arr_size(recorded) > 1 && (ends_with(path, ".causes") || ends_with(path, ".managedFields"));
    if (is_nothing(recorded) && is_nothing(found))
        return true;
    if (yyjson_is_obj(recorded) && (yyjson_is_obj(found) || is_nothing(found)))
        return compare_members(recorded, found, path, prints);
    if (is_unordered)
        same = compare_unordered(recorded, found);
    else if (yyjson_is_arr(recorded) && yyjson_arr_size(recorded) == yyjson_arr_size(found))
        return compare_elements(recorded, found, path, prints);
    else if (text)
        same =
            strcmp(text, ANY) == 0 ? !is_nothing(found) : yyjson_is_str(found) && is_like(text, yyjson_get_str(found));
    else
        same = yyjson_is_num(recorded) ? yyjson_is_num(found) && yyjson_get_num(recorded) == yyjson_get_num(found)
                                       : yyjson_equals(recorded, found);
    if (same || is_intended(path) || !prints)
        return same || is_intended(path);
    char *want = yyjson_val_write(recorded, 0, NULL), *have = yyjson_val_write(found, 0, NULL);
    print_error("  %s: %.*s, not %.*s\n", path, SHOWN, have ? have : "absent", SHOWN, want ? want : "absent");
    free(want);
    free(have);
    return false;
}

/* ---- requests ---- */

/* Returns the response as one value: a list if it is a watch with several events. */
static yyjson_doc *read_response(void) {
    yyjson_doc *doc = yyjson_read(server.text.data, server.text.size, 0);
    if (doc || !server.text.size)
        return doc;
    char *joined = replace(server.text.data, "}\n{", "},\n{");
    ki_buffer list;
    ki_buffer_init(&list, &ki_allocator_default, 0);
    ki_buffer_printf(&list, "[%s]", joined);
    doc = yyjson_read(list.data, list.size, 0);
    ki_buffer_free(&list);
    free(joined);
    return doc;
}

/* Compares the warnings but those of this server itself. */
static bool compare_warnings(yyjson_val *recorded, bool prints) {
    ki_str rest = { server.response.warnings.data, server.response.warnings.size };
    size_t count = 0;
    bool same = true;
    while (rest.size) {
        ki_str line = ki_str_split(rest, '\n', &rest);
        yyjson_val *want = yyjson_arr_get(recorded, count);
        ki_buffer shown;
        if (ki_str_starts_with(line, KI_STR("kinformer serve: ")))
            continue;
        count++;
        ki_buffer_init(&shown, &ki_allocator_default, 0);
        ki_buffer_append_string(&shown, "299 - ");
        ki_buffer_append_json_string(&shown, line);
        if (!want || strcmp(yyjson_get_str(want), shown.data) != 0) {
            same = false;
            if (prints)
                print_error("  warning: %s, not %s\n", shown.data, want ? yyjson_get_str(want) : "absent");
        }
        ki_buffer_free(&shown);
    }
    if (count != yyjson_arr_size(recorded) && prints)
        print_error("  %zu warnings, not %zu\n", count, yyjson_arr_size(recorded));
    return same && count == yyjson_arr_size(recorded);
}

static const char *reason_of(yyjson_val *response) {
    const char *reason = yyjson_get_str(yyjson_obj_get(response, "reason"));
    return reason ? reason : "";
}

static bool is_as_recorded(yyjson_val *row, int code, yyjson_val *found, bool prints) {
    char path[PATH_SIZE] = "";
    yyjson_val *recorded = yyjson_obj_get(row, "response");
    if (code != yyjson_get_int(yyjson_obj_get(row, "code"))) {
        if (prints)
            print_error("  %d, not %d: %.*s\n", code, yyjson_get_int(yyjson_obj_get(row, "code")), SHOWN,
                        server.text.data);
        return false;
    }
    if (yyjson_get_bool(yyjson_obj_get(row, "brief")))
        return strcmp(reason_of(recorded), code < 300 ? "" : reason_of(found)) == 0;
    bool same = compare_warnings(yyjson_obj_get(row, "warnings"), prints);
    if (!yyjson_is_str(recorded))
        return compare(recorded, found, path, prints) && same;
    return strcmp(yyjson_get_str(recorded), server.text.data) == 0 && same;
}

/* Returns true if a response that differs on purpose has the status and the reason that the table gives. */
static bool is_ours(yyjson_val *ours, int code, yyjson_val *found, bool prints) {
    int want = yyjson_get_int(yyjson_obj_get(ours, "code"));
    const char *reason = code < 300 ? "" : reason_of(found);
    bool same = code == want && strcmp(reason, reason_of(ours)) == 0;
    if (!same && prints)
        print_error("  %d %s, not %d %s: %.*s\n", code, reason, want, reason_of(ours), SHOWN, server.text.data);
    return same;
}

/* Sends the request of a row and compares the response. `next` is the last continue token. */
static bool check_row(yyjson_val *row, char **next) {
    char ns[64];
    const char *table = yyjson_get_str(yyjson_obj_get(row, "table"));
    assert_non_null(table);
    snprintf(ns, sizeof ns, "table-%s", table ? table : "");
    for (char *c = ns; *c; c++)
        *c = *c == '_' ? '-' : *c;
    const char *given = yyjson_get_str(yyjson_obj_get(row, "body"));
    char *named = replace(yyjson_get_str(yyjson_obj_get(row, "target")), "NS", ns);
    char *target = replace(named, "<continue>", *next), *body = replace(given ? given : "", "NS", ns);
    const kt_user user = { .name = KI_STR("jane") };
    const kt_request request = { .method = yyjson_get_str(yyjson_obj_get(row, "method")),
                                 .target = target,
                                 .content_type = yyjson_get_str(yyjson_obj_get(row, "type")),
                                 .user_agent = "tests/1.0",
                                 .body = ki_str_of(body),
                                 .user = &user,
                                 .from_network = true };
    int code = rest_request(&server, &request);
    if (server.response.watch)
        rest_watch_read(&server, server.response.watch);
    char *text = replace(server.text.data ? server.text.data : "", ns, "NS");
    ki_buffer_reset(&server.text, SIZE_MAX);
    ki_buffer_append_string(&server.text, text);
    yyjson_doc *doc = read_response();
    yyjson_val *found = yyjson_doc_get_root(doc);
    const char *token = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(found, "metadata"), "continue"));
    if (token && token[0]) {
        free(*next);
        *next = strdup(token);
    }
    yyjson_val *ours = yyjson_obj_get(row, "ours");
    bool same = is_as_recorded(row, code, found, false);
    bool fine = ours ? !same && is_ours(ours, code, found, false) : same;
    if (!fine)
        print_error("%s %s %.*s\n", request.method, target, SHOWN, body);
    if (!fine && ours && same)
        print_error("  the recorded response, although %s\n", yyjson_get_str(yyjson_obj_get(row, "differs")));
    else if (!fine && ours)
        is_ours(ours, code, found, true);
    else if (!fine)
        is_as_recorded(row, code, found, true);
    yyjson_doc_free(doc);
    free(text);
    free(body);
    free(target);
    free(named);
    return fine;
}

static void assert_in_file(const char *name, const char *sentence) {
    static char text[README_SIZE];
    FILE *in = fopen(name, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    if (!strstr(text, sentence))
        fail_msg("%s does not say: %s", name, sentence);
}

static void assert_in_readme(const char *reason) {
    assert_in_file(KI_TEST_DATA_DIR "/../../testing/README.md", reason);
}

static void check_table(const char *table) {
    FILE *in = fopen(KI_TEST_DATA_DIR "/real_responses.jsonl", "r");
    char *line = NULL, *next = strdup("");
    size_t room = 0, rows = 0, bad = 0;
    assert_non_null(in);
    yyjson_doc *first = NULL;
    while (getline(&line, &room, in) > 0) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        yyjson_val *row = yyjson_doc_get_root(doc);
        assert_non_null(doc);
        if (!first) {
            size_t index, count;
            yyjson_val *key, *reason;
            first = doc;
            intended = yyjson_obj_get(row, "intended");
            yyjson_obj_foreach(intended, index, count, key, reason) {
                assert_in_readme(yyjson_get_str(reason));
            }
            continue;
        }
        if (yyjson_equals_str(yyjson_obj_get(row, "table"), table)) {
            rows++;
            bad += !check_row(row, &next);
            if (yyjson_obj_get(row, "differs"))
                assert_in_readme(yyjson_get_str(yyjson_obj_get(row, "differs")));
        }
        yyjson_doc_free(doc);
    }
    fclose(in);
    yyjson_doc_free(first);
    free(line);
    free(next);
    assert_true(rows > 10);
    if (bad)
        fail_msg("%zu of %zu responses are not the real server's", bad, rows);
}

#define TABLE_TEST(name, table) \
    REST_TEST(name) { \
        check_table(table); \
    }

TABLE_TEST(custom_resources_drop_null_and_count_generations, "custom")
TABLE_TEST(each_kind_stores_its_status_and_generation, "kinds_status")
TABLE_TEST(each_kind_is_replaced_with_and_without_a_version, "kinds_updates")
TABLE_TEST(an_apply_takes_nulls_uids_versions_and_duplicate_keys, "apply")
TABLE_TEST(times_are_parsed_and_metadata_stays, "times")
TABLE_TEST(field_selectors_know_unset_fields, "selectors")
TABLE_TEST(services_get_addresses_and_ports, "services")
TABLE_TEST(pods_jobs_bindings_and_dry_runs, "pods")
TABLE_TEST(templates_and_numbers_of_workloads_are_checked, "workloads")
TABLE_TEST(lists_watches_and_namespaces_that_end, "lists")
TABLE_TEST(deletes_respond_with_the_object_or_a_status, "deletes")
TABLE_TEST(quantities_are_stored_in_their_canonical_form, "quantities")
TABLE_TEST(scales_are_applied_and_requests_for_certificates_approved, "subresources")
TABLE_TEST(objects_of_rarer_kinds_get_their_defaults, "defaults")
TABLE_TEST(values_that_a_kind_does_not_take_are_rejected, "values")
TABLE_TEST(values_that_users_write_by_mistake_are_rejected, "rejections")

REST_TEST(the_readmes_give_the_number_of_requests) {
    FILE *in = fopen(KI_TEST_DATA_DIR "/real_responses.jsonl", "r");
    char *line = NULL, sentence[64];
    size_t room = 0, rows = 0, others = 0;
    assert_non_null(in);
    assert_true(getline(&line, &room, in) > 0); /* what differs in every response */
    while (getline(&line, &room, in) > 0) {
        rows++;
        others += strstr(line, "\"differs\":") != NULL;
    }
    free(line);
    fclose(in);
    snprintf(sentence, sizeof sentence, "a table of %zu requests", rows);
    assert_in_readme(sentence);
    assert_in_file(KI_TEST_DATA_DIR "/../e2e/README.md", sentence);
    snprintf(sentence, sizeof sentence, "The responses to %zu of them", rows - others);
    assert_in_readme(sentence);
}
