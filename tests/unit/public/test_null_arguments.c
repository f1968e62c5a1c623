/* test_null_arguments.c: every public function that returns a status, called with NULL for all pointers, then for one
 * pointer at a time while the others are valid, and for each string of a resource. Such a call returns KI_ERR_INVALID;
 * a pointer of the tables below may be NULL. A function that frees does nothing. Each call is made in a process of its
 * own. The calls are written by tests/null_calls.awk from the headers. */

#include "tests/support/test.h"

#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/events.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-controllers/workqueue.h>
#include <kinformer-print/columns.h>
#include <kinformer-print/jsonpath.h>
#include <kinformer-print/yaml.h>
#include <kinformer-status/server.h>
#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>
#include <kinformer-testing/requests.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>
#include <kinformer/parts/list_watch.h>
#include <kinformer/parts/object_format.h>
#include <kinformer/parts/process_loop.h>
#include <kinformer/parts/queue.h>
#include <kinformer/parts/reflector.h>
#include <kinformer/parts/store.h>

#include "tests/unit/public/given.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RETURNS = -1 /* any status */
};

/* What a call without one parameter returns, if not KI_ERR_INVALID; function NULL: of all other functions. */
static const struct {
    const char *function, *parameter;
    int status;
} exceptions[] = {
    { "ki_controller_new", "options", KI_ERR_INVALID },
    { "ki_elector_new", "options", KI_ERR_INVALID },
    { "ki_event_recorder_new", "options", KI_ERR_INVALID },
    { "ki_client_apply_child", "child", KI_ERR_NO_MEMORY }, /* ki_unstructured_new returns NULL without memory */
    { NULL, "object", KI_ERR_NO_MEMORY },
    { "ki_quantity_read", "ret_units", KI_ERR_PARSE }, /* its text is no quantity */
    { "ki_quantity_read", "ret_milli", KI_ERR_PARSE },
    { "ki_engine_post", "ret_id", KI_OK },
    { "ki_controller_for", "ret_informer", KI_OK },
    { "ki_controller_owns", "ret_informer", KI_ERR_STATE }, /* its controller has no ki_controller_for */
    { "ki_lister_get", "ret_obj", KI_ERR_INVALID },
    { "ki_informer_object_from_json", "ret_obj", KI_ERR_INVALID },
    { "ki_object_with_json", "ret_obj", KI_ERR_INVALID },
    { "ki_workqueue_done", "key", KI_ERR_NOT_FOUND },
    { "ki_columns_new", "definition", KI_OK },
    { "ki_columns_new", "allocator", KI_OK },
    { "ki_yaml_write", "allocator", KI_ERR_CLOSED }, /* malloc; the callback of these tests takes nothing */
    { "ki_informer_add_handler", "ret_registration", KI_OK },
    { "ki_informer_set_transform", "transform", KI_OK },
    { "ki_informer_set_watch_error_handler", "handler", KI_OK },
    { "ki_informer_set_state_handler", "handler", KI_OK },
    { "ki_factory_set_namespaces", "names", KI_ERR_NOT_FOUND }, /* of no namespace, and no informer has a set */
    { "ki_factory_readiness_text", "ret_text", KI_OK },
    { "ki_informer_cancel_version_waits", "handler", KI_ERR_NOT_FOUND },
    { "ki_informer_wait_for_version", "key", KI_ERR_TIMEOUT }, /* a key or a version suffices */
    { "ki_informer_wait_for_version", "resource_version", KI_ERR_TIMEOUT },
    { "ki_informer_wait_for_version_async", "key", KI_OK },
    { "ki_informer_wait_for_version_async", "resource_version", KI_OK },
    { "ki_informer_wait_for_deletion", "uid", KI_ERR_TIMEOUT }, /* any uid */
    { "ki_informer_wait_for_deletion_async", "uid", KI_OK },
    { "ki_object_format_new", "allocator", KI_OK },
    { "ki_reflector_new", "options", KI_ERR_INVALID },
    { "ki_process_loop_new", "options", KI_ERR_INVALID },
    { "ki_store_put", "resource_version", KI_OK },
    { "ki_store_delete", "resource_version", KI_OK },
    { "ki_store_replace", "resource_version", KI_OK },
    { "ki_store_replace", "objects", KI_OK }, /* none */
    { "ki_testing_server_add_fault", "ret_id", KI_OK },
    { "ki_testing_server_requests", "line", KI_OK }, /* all requests */
    { "ki_testing_server_wait_for_requests", "line", KI_OK },
    { "ki_testing_server_wait_for_watches", "resource", KI_OK },
    { "ki_testing_server_delete_all", "resource", KI_OK },
    { "ki_testing_server_put_all", "ret_count", RETURNS },
    { "ki_testing_server_issue_certificate", "groups", KI_ERR_STATE }, /* a server without TLS */
    { NULL, "options", RETURNS },
    { NULL, "namespace_name", RETURNS },
    { NULL, "label_selector", RETURNS },
    { NULL, "field_selector", RETURNS },
    { NULL, "ret_is_deleted", RETURNS },
    { NULL, "ret_results", RETURNS },
    { NULL, "content_type", RETURNS },
    { NULL, "ret_body", RETURNS },
    { NULL, "ret_obj", RETURNS },
    { NULL, "ret_response", RETURNS },
    { NULL, "ret_request", RETURNS },
};

/* Calls that do not return with valid arguments, or have arguments that only another call gives. */
static const char *const untried[] = {
    "ki_registration_wait_for_sync", "ki_engine_run",       "ki_factory_run",
    "ki_reconcile_keys_add",         "ki_index_values_add", "ki_informer_set_namespaces"
};

static int expected(const char *function, const char *parameter) {
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
        if ((!exceptions[i].function || strcmp(exceptions[i].function, function) == 0) &&
            strcmp(exceptions[i].parameter, parameter) == 0)
            return exceptions[i].status;
    }
    return KI_ERR_INVALID;
}

static bool is_untried(const char *function) {
    for (size_t i = 0; i < sizeof untried / sizeof *untried; i++) {
        if (strcmp(untried[i], function) == 0)
            return true;
    }
    return false;
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

enum {
    NOTHING = -1,    /* every pointer is valid */
    EVERYTHING = -2, /* every pointer is NULL */
    NO_STRING = 4    /* a resource has four strings */
};

static void *freed; /* what a function that frees gets */
static int missing; /* what is NULL: NOTHING, EVERYTHING, or an index of tests/null_calls.awk */

static void *pointer(int index, const char *type, const char *name) {
    return missing == EVERYTHING || missing == index ? NULL : given(type, name);
}

static const ki_resource *resource(int index) {
    if (missing == EVERYTHING || missing == index)
        return NULL;
    return given_resource(missing > index ? missing - index - 1 : NO_STRING);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

enum {
    RETURNED = 100 /* and more: the exit status of a child whose call returned; a sanitizer's are less */
};

/* Runs `call` in a child. Returns its result; -1: it did not return. */
static int result_of(int (*call)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(RETURNED + call());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) >= RETURNED ? WEXITSTATUS(status) - RETURNED : -1;
}

#pragma GCC diagnostic ignored "-Wpedantic" /* a void pointer is passed as a function */
#define POINTER(index, type, name) pointer(index, type, name)
#define RESOURCE(index) resource(index)
#define SIZE (sizeof GIVEN_JSON - 1)
#define CALL(name, arguments, names) \
    static int call_##name(void) { \
        return (int)(name)arguments; \
    }
#define FREE(name) \
    static int call_##name(void) { \
        (name)(freed); \
        return KI_OK; \
    }
#include "null_calls.h"
#undef CALL
#undef FREE

static const struct call {
    const char *name;
    int (*call)(void);
    const char *names; /* of what can be NULL; NULL: a function that frees */
} calls[] = {
#define CALL(name, arguments, names) { #name, call_##name, names },
#define FREE(name) { #name, call_##name, NULL },
#include "null_calls.h"
};
enum {
    CALLS = sizeof calls / sizeof *calls
};

/* Returns true if `call` returns, with `wanted` unless that is RETURNS. `what` names what is missing. */
static bool ends_with(const struct call *call, const char *what, int wanted) {
    int result = result_of(call->call);
    if (result == wanted || (wanted == RETURNS && result >= 0))
        return true;
    print_error("%s without %s: %s\n", call->name, what, result < 0 ? "crash" : ki_status_name((ki_status)result));
    return false;
}

TEST(every_public_function_takes_null_for_invalid) {
    int wrong = 0;
    missing = EVERYTHING;
    for (size_t i = 0; i < CALLS; i++) {
        bool is_status = strcmp(calls[i].name, "ki_error_set") == 0 || strcmp(calls[i].name, "ki_block_signals") == 0;
        wrong += !ends_with(&calls[i], "any argument", calls[i].names && !is_status ? KI_ERR_INVALID : KI_OK);
    }
    assert_int_equal(wrong, 0);
}

/* Otherwise a check of another argument could hide a missing check. */
TEST(the_given_arguments_are_valid) {
    int wrong = 0;
    missing = NOTHING;
    for (size_t i = 0; i < CALLS; i++) {
        if (!calls[i].names || is_untried(calls[i].name) || result_of(calls[i].call) != KI_ERR_INVALID)
            continue;
        print_error("%s: invalid argument\n", calls[i].name);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

TEST(every_public_function_takes_one_null_for_invalid) {
    int wrong = 0;
    for (size_t i = 0; i < CALLS; i++) {
        const char *end = calls[i].names ? calls[i].names : "";
        for (missing = 0; *end; missing++) {
            char what[64];
            int size = (int)strcspn(end, " ");
            snprintf(what, sizeof what, "%.*s", size, end);
            end += size + (end[size] == ' ');
            if (strcmp(what, "err") != 0 && strcmp(what, "user") != 0)
                wrong += !ends_with(&calls[i], what, expected(calls[i].name, what));
        }
    }
    assert_int_equal(wrong, 0);
}

/* --- after a fork ------------------------------------------------------------------------------------------------- */

/* Returns true if one of the parameters belongs to an engine. */
static bool has_engine(const char *names) {
    static const char *const owned[] = { "engine", "factory",   "client",     "informer",
                                         "queue",  "discovery", "controller", "elector" };
    for (const char *end = names; *end; end += strcspn(end, " "), end += *end == ' ') {
        for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
            if (strcspn(end, " ") == strlen(owned[i]) && strncmp(end, owned[i], strlen(owned[i])) == 0)
                return true;
        }
    }
    return false;
}

static int calls_that_do_not_say_wrong_state(void) {
    int wrong = 0, checked = 0;
    missing = NOTHING;
    for (size_t i = 0; i < CALLS; i++) {
        bool is_alone = strncmp(calls[i].name, "ki_queue_", strlen("ki_queue_")) == 0; /* parts/queue.h */
        if (!calls[i].names || is_alone || !has_engine(calls[i].names))
            continue;
        checked++;
        wrong += !ends_with(&calls[i], "its own process", KI_ERR_STATE);
    }
    assert_true(checked > 50);
    return wrong;
}

static int calls_that_do_not_free(void) {
    static const char *const owners[] = { "ki_engine",          "ki_factory",      "ki_client",  "ki_workqueue",
                                          "ki_discovery",       "ki_controller",   "ki_elector", "ki_event_recorder",
                                          "ki_pending_request", "ki_status_server" };
    int wrong = 0;
    size_t checked = 0;
    for (size_t i = 0; i < CALLS; i++) {
        for (size_t j = 0; !calls[i].names && j < sizeof owners / sizeof *owners; j++) {
            char type[64];
            size_t size = strlen(owners[j]);
            if (strncmp(calls[i].name, owners[j], size) != 0 || strcmp(calls[i].name + size, "_free") != 0)
                continue;
            snprintf(type, sizeof type, "%s *", owners[j]);
            freed = given(type, "");
            checked++;
            wrong += !ends_with(&calls[i], "its own process", KI_OK);
        }
    }
    freed = NULL;
    assert_int_equal(checked, sizeof owners / sizeof *owners);
    return wrong;
}

TEST(a_process_forked_after_the_start_gets_wrong_state_and_can_free) {
    ki_error err = KI_ERROR_INIT;
    if (!given_start(&err))
        fail_msg("%s", ki_error_message(&err));
    int wrong = calls_that_do_not_say_wrong_state() + calls_that_do_not_free();
    given_stop();
    assert_int_equal(wrong, 0);
}
