/* test_faulty_server.c: an informer with threads over real sockets, against the embedded server and those of its faults
 * that a whole informer has to meet: whatever the server does wrong, the copy ends equal to what the server has. */
#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

enum {
    PATIENCE_MS = 90000,
    ROUNDS_MAX = 2000,
    FIRST = 30, /* objects that are there at first */
    MORE = 20
};

static ki_testing_server *server;
static ki_factory *factory;
static ki_informer *maps;

static int tear_down(void **state) {
    (void)state;
    ki_factory_free(factory);
    ki_testing_server_free(server);
    factory = NULL;
    server = NULL;
    return 0;
}

static void must(ki_status status, const ki_error *err) {
    if (status)
        fail_msg("%s", ki_error_message(err));
}

static void put(const char *name, int number) {
    char json[200];
    ki_error err = KI_ERROR_INIT;
    int size = snprintf(json, sizeof json,
                        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                        "\"default\"},\"data\":{\"n\":\"%d\"}}",
                        name, number);
    must(ki_testing_server_put(server, KI_CONFIGMAPS, json, (size_t)size, &err), &err);
}

static void put_many(const char *prefix, int count, int value) {
    for (int i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s-%d", prefix, i);
        put(name, value);
    }
}

/* `paged`: the first list comes in pages. */
static void begin(const char *fault, bool paged) {
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    must(ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.no_streaming_list = paged), &server, &err), &err);
    put_many("first", FIRST, 1);
    must(ki_testing_server_add_fault(server, fault, NULL, &err), &err);
    must(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = "/dev/null", .server = ki_testing_server_url(server)), &config,
                       &err),
         &err);
    must(ki_factory_new(config, NULL, &factory, &err), &err);
    ki_config_free(config);
    must(ki_factory_informer(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.page_size = paged ? 7 : 0), &maps, &err),
         &err);
    must(ki_factory_start(factory, &err), &err);
    must(ki_informer_wait_for_sync(maps, PATIENCE_MS, &err), &err);
}

static bool is_in_copy(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    ki_snapshot *now = user;
    char name[100];
    char version[60];
    snprintf(name, sizeof name, "%.*s", (int)key_size, key);
    const ki_object *obj = ki_snapshot_get(now, name);
    if (!obj)
        fail_msg("%s is not in the copy", name);
    snprintf(version, sizeof version, "\"resourceVersion\":\"%s\"", ki_object_resource_version(obj));
    if (!memmem(json, size, version, strlen(version)))
        fail_msg("%s is in the copy at version %s", name, ki_object_resource_version(obj));
    return true;
}

/* Once the copy has the very last object, it equals what the server has. The first of two may come with a list, which
 * is taken key by key; the second comes after all of that. */
static void assert_equal_in_the_end(int round) {
    ki_error err = KI_ERROR_INIT;
    char last[2][40], key[100];
    for (int i = 0; i < 2; i++) {
        snprintf(last[i], sizeof last[i], "zz%s-last-%d", i ? "z" : "", round);
        snprintf(key, sizeof key, "default/%s", last[i]);
        put(last[i], 1);
        must(ki_informer_wait_for_version(maps, key, NULL, PATIENCE_MS, &err), &err);
    }
    ki_snapshot *now = ki_informer_snapshot(maps);
    assert_int_equal(ki_snapshot_count(now), ki_testing_server_count(server, KI_CONFIGMAPS));
    ki_testing_server_each(server, KI_CONFIGMAPS, is_in_copy, now);
    ki_snapshot_free(now);
}

TEST_WITH(NULL, tear_down, a_server_that_does_wrong_leaves_no_difference) {
    static const struct {
        const char *fault;
        bool paged;
    } rows[] = {
        { "shuffle,verb=watch,count=1", false },
        { "again,event=35,times=3,verb=watch,count=1", false },
        { "end,event=35,verb=watch,count=1", false },
        { "close-after,verb=list,count=3", true },
        { "close,count=2", false },
        { "too-large,verb=list,count=1", true },
        { "chunks,size=1,verb=watch,count=1", true },
        { "garbage,verb=list,count=1", true },
        { "bad-event,event=35,which=1,verb=watch,count=1", false },
        { "huge-event,event=35,bytes=40000000,verb=watch,count=1", false },
        { "bookmark-ahead,event=35,verb=watch,count=1", false },
        { "no-bookmarks,verb=watch,count=1", false },
        { "error-event,code=410,event=35,verb=watch,count=1", false },
        { "error-event,code=500,event=35,verb=watch,count=1", false },
        { "too-large,as=event,event=0,verb=watch,count=1", false },
        { "too-large,shape=old,as=event,event=0,verb=watch,count=1", false },
        { "too-large,shape=old,verb=list,count=1", true },
        { "stale,events=10,verb=list+watch,count=1", false },
        { "stale,events=10,verb=list,count=1", true },
        { "cut,bytes=9000,verb=watch,count=1", false },
        { "cut,bytes=900,verb=list,count=2", true },
        { "status,code=429,retry-after=1,verb=list+watch,count=1", false },
        { "empty-page,verb=list,count=1", true },
        { "restart,down=1s", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_testing_text faults = KI_TESTING_TEXT_INIT;
        ki_error err = KI_ERROR_INIT;
        print_message("%s\n", rows[i].fault);
        begin(rows[i].fault, rows[i].paged);
        bool is_injected = false;
        for (int round = 1; !is_injected; round++) { /* one, unless a fault of the whole server is late */
            put_many("more", MORE, 2 * round);
            put_many("first", MORE, 2 * round);
            put_many("more", MORE, 2 * round + 1); /* an object that was skipped comes with its next change */
            assert_equal_in_the_end(round);
            must(ki_testing_server_faults(server, &faults, &err), &err);
            is_injected = !strstr(faults.data, "\"injected\":0");
            if (!is_injected && round == ROUNDS_MAX)
                fail_msg("the fault is not injected: %s", faults.data);
            ki_testing_text_clear(&faults);
        }
        tear_down(NULL);
    }
}
