/* test_socket_lists.c: lists over real sockets when something happens in the middle of them: pages that are empty, a
 * continue token that has expired, changes between page and page and between list and watch, a server that was restored
 * from a backup. What the handler is told is one state of the server and what follows from it, and which requests were
 * made is known to the last. */
#include <kinformer-testing/faults.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/world.h"

enum {
    PAGE = 4,
    FILLERS = 21 /* with what is there 7 pages */,
    REQUESTS_MAX = 256 /* bytes that they take as words */
};

static const char to_continue[] = "\"continue\":\""; /* in a page's metadata, before its items */

/* Lists, no streaming list, in pages of 4 where the server pages. */
static world_plan paged(void) {
    return (world_plan){ .informer = KI_INFORMER_OPTIONS(.page_size = PAGE), .no_streaming_list = true };
}

static void fill(void) {
    for (unsigned i = 0; i < FILLERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "p-%02u", i);
        world_put(name, i);
    }
    world_read_expected();
}

/* As a word: S a streaming list, W a watch, C a page that goes on, L a list in pages, F one without a limit; behind it
 * the version that was asked for: 0, = for another one, nothing for none. */
static void word_of(const char *target, char *ret_word) {
    const char *version = strstr(target, "resourceVersion=");
    bool is_watch = strstr(target, "watch=true") != NULL;
    *ret_word++ = (char)(strstr(target, "sendInitialEvents") ? 'S'
                         : is_watch                          ? 'W'
                         : strstr(target, "continue=")       ? 'C'
                         : strstr(target, "limit=")          ? 'L'
                                                             : 'F');
    if (version && (*ret_word = version[strlen("resourceVersion=")]) != '0' && *ret_word)
        *ret_word = '=';
    ret_word[version && *ret_word] = '\0';
}

/* All requests since the fault, the last of them a watch that is under way. */
static void assert_requests(world *self, const char *expected) {
    char words[REQUESTS_MAX] = "";
    size_t count = 1;
    for (const char *at = expected; *at; at++)
        count += *at == ' ';
    proxy_wait_requests(self->proxy, self->requests_before + count);
    for (size_t i = self->requests_before; i < proxy_requests(self->proxy); i++) {
        char target[256], word[4];
        proxy_target(self->proxy, i, target, sizeof target);
        word_of(target, word);
        size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "%s%s", used ? " " : "", word);
    }
    assert_string_equal(words, expected);
}

static void assert_told(world *self, size_t adds, size_t updates, size_t deletes) {
    told_changes changes = world_changes(self);
    assert_int_equal(changes.adds, adds);
    assert_int_equal(changes.updates, updates);
    assert_int_equal(changes.deletes, deletes);
}

/* Everything was told as added, once, and nothing else. */
static void assert_one_list_was_told(world *self) {
    told now[WORLD_OBJECTS];
    world_wait_for_replay(self);
    world_assert_copy_is_the_servers(self);
    assert_told(self, world_expected(now), 0, 0);
}

static void goes_on(void) {
    world_churn();
    worlds_assert_all_recover(SIZE_MAX);
}

/* ---- a continue token that has expired ---- */

/* Between the first page and the next: on the first page one goes, before it one comes, and on the last one changes. */
static void change_between_pages(void) {
    world_drop("changed");
    world_put("aaa", 1);
    world_patch("p-20", 99);
    ki_testing_server_compact(world_server);
    world_read_expected();
}

WORLD_TEST(a_first_list_whose_token_expires_is_reported_as_one_state) {
    const world_plan plan = paged();
    world *self = &worlds[0];
    worlds_open(1, &plan);
    fill();
    world_fault("too-large,shape=old,verb=list,count=1"); /* a list at "0" has no pages */
    proxy_inject(self->proxy, to_continue, sizeof to_continue - 1, PROXY_STALL, NULL);
    world_start(self);
    proxy_wait_injected(self->proxy);
    change_between_pages();
    proxy_release(self->proxy);
    assert_one_list_was_told(self);
    assert_requests(self, "L0 L C F W=");
    goes_on();
}

/* The store is as it was until the list is whole, and what is told then is the difference. */
WORLD_TEST(a_later_list_whose_token_expires_is_reported_as_one_difference) {
    const world_plan plan = paged();
    world *self = &worlds[0];
    worlds_start(1, &plan);
    fill();
    world_wait_for_replay(self);
    world_put_out_of_reach(self, PROXY_RESET);
    world_wait_out_of_reach(self);
    world_drop("p-00");
    ki_testing_server_compact(world_server);
    const told_changes before = world_changes(self);
    self->requests_before = proxy_requests(self->proxy);
    proxy_inject(self->proxy, to_continue, sizeof to_continue - 1, PROXY_STALL, NULL);
    proxy_refuse(self->proxy, false);
    proxy_wait_injected(self->proxy);
    change_between_pages();
    ki_object *still = ki_informer_get(self->informer, "default/changed");
    assert_non_null(still);
    ki_object_unref(still);
    proxy_release(self->proxy);
    world_wait_for_replay(self);
    world_assert_copy_is_the_servers(self);
    assert_told(self, before.adds + 1, before.updates + 1, before.deletes + 2);
    assert_requests(self, "W= L= L C F W=");
    goes_on();
}

WORLD_TEST(a_token_may_expire_on_any_page) {
    static const char *const requests[] = { "L0 L C F W=", "L0 L C C F W=", "L0 L C C C F W=", "L0 L C C C C F W=" };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        char fault[64];
        const world_plan plan = paged();
        worlds_open(1, &plan);
        fill();
        world_fault("too-large,shape=old,verb=list,count=1");
        snprintf(fault, sizeof fault, "status,code=410,verb=list,n=%zu", i + 2);
        world_fault(fault);
        world_start(&worlds[0]);
        assert_one_list_was_told(&worlds[0]);
        assert_requests(&worlds[0], requests[i]);
        world_assert_faults_injected();
        worlds_close(state);
    }
}

/* ---- pages ---- */

WORLD_TEST(pages_without_objects_are_passed_over_and_none_is_asked_for_twice) {
    static const struct {
        const char *fault, *requests;
    } rows[] = {
        { "empty-page,verb=list,n=1", "L0 L C C C C C C C W=" }, /* the first page */
        { "empty-page,verb=list,n=4", "L0 L C C C C C C C W=" },
        { "empty-page,verb=list,n=7", "L0 L C C C C C C C W=" },                  /* before the last */
        { "empty-page,verb=list,every=2,count=20", "L0 L C C C C C C C C C W=" }, /* before each second */
        { "empty-page,verb=list,count=5", "L0 L C C C C C C C C C C C W=" },      /* before each */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const world_plan plan = paged();
        print_message("%s\n", rows[i].fault);
        worlds_open(1, &plan);
        fill();
        world_fault("too-large,shape=old,verb=list,count=1");
        world_fault(rows[i].fault);
        world_start(&worlds[0]);
        assert_one_list_was_told(&worlds[0]);
        assert_requests(&worlds[0], rows[i].requests);
        world_assert_faults_injected();
        goes_on();
        worlds_close(state);
    }
}

/* A complete HTTP response: a list as the server sends it, with additional metadata. */
static char *list_response(const char *target, const char *more_metadata) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
    static const char metadata[] = "\"metadata\":{";
    ki_testing_text list = KI_TESTING_TEXT_INIT;
    assert_int_equal(ki_testing_server_request(world_server, "GET", target, NULL, NULL, 0, &list, NULL), KI_OK);
    const char *at = strstr(list.data, metadata);
    assert_non_null(at);
    at += strlen(metadata);
    size_t size = strlen(head) + list.size + strlen(more_metadata) + 1;
    char *response = malloc(size);
    assert_non_null(response);
    snprintf(response, size, "%s%.*s%s%s", head, (int)(at - list.data), list.data, more_metadata, at);
    ki_testing_text_clear(&list);
    return response;
}

#define LIST_TARGET "/api/v1/configmaps"

WORLD_TEST(an_empty_continue_token_ends_the_list) {
    static const char *const metadata[] = { "\"continue\":\"\",", "\"continue\":null,",
                                            "\"continue\":\"\",\"remainingItemCount\":0," };
    for (size_t i = 0; i < sizeof metadata / sizeof metadata[0]; i++) {
        const world_plan plan = paged();
        worlds_open(1, &plan);
        fill();
        char *response = list_response(LIST_TARGET, metadata[i]);
        proxy_response(worlds[0].proxy, response, 1);
        world_start(&worlds[0]);
        assert_one_list_was_told(&worlds[0]);
        assert_requests(&worlds[0], "L0 W=");
        goes_on();
        worlds_close(state);
        free(response);
    }
}

WORLD_TEST(a_last_page_may_be_empty) {
    static const char *const metadata[] = { "", "\"continue\":\"\"," };
    for (size_t i = 0; i < sizeof metadata / sizeof metadata[0]; i++) {
        const world_plan plan = paged();
        worlds_open(1, &plan);
        fill();
        char *first = list_response(LIST_TARGET, "\"continue\":\"more\",");
        char *last = list_response(LIST_TARGET "?labelSelector=no%3Dsuch", metadata[i]);
        proxy_response(worlds[0].proxy, first, 1);
        proxy_response(worlds[0].proxy, last, 1);
        world_start(&worlds[0]);
        assert_one_list_was_told(&worlds[0]);
        assert_requests(&worlds[0], "L0 C W=");
        goes_on();
        worlds_close(state);
        free(first);
        free(last);
    }
}

/* ---- between list and watch ---- */

/* The list is on its way when one of its objects goes, one comes, and one goes and comes again. */
WORLD_TEST(what_happens_between_list_and_watch_is_reported_by_the_watch) {
    static const char last[] = "\"zz-marker\"";
    const world_plan plan = paged();
    world *self = &worlds[0];
    worlds_open(1, &plan);
    fill();
    told listed[WORLD_OBJECTS];
    size_t count = world_expected(listed);
    proxy_inject(self->proxy, last, sizeof last - 1, PROXY_STALL, NULL);
    world_start(self);
    proxy_wait_injected(self->proxy);
    world_drop("p-00");
    world_put("new", 1);
    world_drop("again");
    world_put("again", 1);
    world_read_expected();
    proxy_release(self->proxy);
    world_wait_for_replay(self);
    world_assert_copy_is_the_servers(self);
    assert_told(self, count + 2, 0, 2);
    assert_false(world_has_unknown_delete(self));
    assert_requests(self, "L0 W=");
    assert_int_equal(world_errors(self), 0);
    goes_on();
}

/* ---- restored from a backup ---- */

/* What a handler must be told to come from one state to the other. */
static told_changes difference_of(const told *from, size_t from_count, const told *to, size_t to_count) {
    told_changes changes = { 0, 0, 0 };
    size_t same = 0;
    for (size_t i = 0; i < from_count; i++) {
        for (size_t j = 0; j < to_count; j++) {
            if (strcmp(from[i].uid, to[j].uid) != 0)
                continue;
            same++;
            changes.updates += strcmp(from[i].version, to[j].version) != 0;
        }
    }
    changes.adds = to_count - same;
    changes.deletes = from_count - same;
    return changes;
}

/* While the watch was cut the server went back; then it refuses to go on from where the watch was. */
static void restore_and_fail(const char *const *error_responses, size_t count, bool streams) {
    told before[WORLD_OBJECTS], after[WORLD_OBJECTS];
    told_changes told_before[WORLDS];
    const world_plan plan = { .no_streaming_list = !streams, .may_go_back = true };
    worlds_start(count, &plan);
    fill();
    world_churn();
    world_drop("changed");
    world_read_expected();
    size_t objects = world_expected(before);
    for (size_t i = 0; i < count; i++) {
        world_wait_for_replay(&worlds[i]);
        told_before[i] = world_changes(&worlds[i]);
        world_put_out_of_reach(&worlds[i], PROXY_CLOSE);
    }
    for (size_t i = 0; i < count; i++) {
        world_wait_out_of_reach(&worlds[i]);
        worlds[i].requests_before = proxy_requests(worlds[i].proxy);
    }
    assert_int_equal(ki_testing_server_rewind(world_server, 15, NULL), KI_OK);
    world_put("since", 1); /* at a version that was another object's */
    world_read_expected();
    told_changes change = difference_of(before, objects, after, world_expected(after));
    assert_true(change.adds && change.updates && change.deletes);
    for (size_t i = 0; i < count; i++) {
        proxy_response(worlds[i].proxy, error_responses[i], 1);
        proxy_refuse(worlds[i].proxy, false);
    }
    for (size_t i = 0; i < count; i++) {
        world_wait_for_replay(&worlds[i]);
        world_assert_copy_is_the_servers(&worlds[i]);
        assert_told(&worlds[i], told_before[i].adds + change.adds, told_before[i].updates + change.updates,
                    told_before[i].deletes + change.deletes);
        assert_true(world_has_unknown_delete(&worlds[i]));
        world_assert_few_requests(&worlds[i], 4);
    }
    goes_on();
}

WORLD_TEST(a_server_that_went_back_and_says_so_is_listed_anew) {
    static const char *const error_responses[] = {
        WORLD_RESPONSE("504 Gateway Timeout", WORLD_TOO_LARGE),
        WORLD_RESPONSE("504 Gateway Timeout", WORLD_TOO_LARGE_OLD),
        WORLD_RESPONSE("200 OK", "{\"type\":\"ERROR\",\"object\":" WORLD_TOO_LARGE "}\n"),
        WORLD_RESPONSE("200 OK", "{\"type\":\"ERROR\",\"object\":" WORLD_TOO_LARGE_OLD "}\n"),
        WORLD_RESPONSE("410 Gone", WORLD_STATUS("410", "Expired")),
        WORLD_RESPONSE("200 OK", "{\"type\":\"ERROR\",\"object\":" WORLD_STATUS("410", "Expired") "}\n"),
        WORLD_RESPONSE("500 Internal Server Error", WORLD_STATUS("500", "InternalError")),
    };
    for (int streams = 0; streams < 2; streams++) {
        restore_and_fail(error_responses, sizeof error_responses / sizeof error_responses[0], streams);
        worlds_close(state);
    }
}
