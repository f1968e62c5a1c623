/* test_type_lookup.c: what is read from the responses of discovery. The server is a table of paths. */

#include "src/base/error.h"
#include "src/client/type_lookup.h"
#include "src/object/format.h"
#include "testing/memory/transport.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

#define RESOURCES(names) "{\"kind\":\"APIResourceList\",\"groupVersion\":\"example.com/v1\",\"resources\":[" names "]}"
#define GROUPS(groups) "{\"kind\":\"APIGroupList\",\"groups\":[" groups "]}"
#define GROUP(name, version) \
    "{\"name\":\"" name "\",\"versions\":[{\"groupVersion\":\"x\",\"version\":\"" version "\"}]}"

typedef struct response {
    int status; /* 0: the connection is cut */
    const char *body;
} response;

static const response plain = { 404, "404 page not found\n" }, html = { 404, "<html>no such page</html>" };

typedef struct fixture {
    test_engine engine;
    ki_transport *transport;
    ki_type_lookup lookup;
    response of_version, of_groups;
    char asked[256];
    int calls;
    ki_type_found found;
    ki_status err;
} fixture;

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    fixture *f = user;
    size_t used = strlen(f->asked);
    snprintf(f->asked + used, sizeof f->asked - used, "%s ", request->target);
    const response *what = strcmp(request->target, "/apis") == 0 ? &f->of_groups : &f->of_version;
    const ki_response_head head = { what->status, -1, "" };
    if (what->status &&
        (!kt_memory_call_head(call, &head) || !kt_memory_call_data(call, what->body, strlen(what->body))))
        return;
    ki_error cut = KI_ERROR_INIT;
    ki_error_set(&cut, KI_ERR_UNEXPECTED_EOF, "cut");
    kt_memory_call_end(call, what->status ? NULL : &cut);
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    (void)user;
}

static void on_found(ki_type_found found, const ki_error *err, void *user) {
    fixture *f = user;
    f->err = err ? err->code : KI_OK;
    f->calls++;
    f->found = found;
}

static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };

static void set_up(fixture *f, const ki_allocator *allocator) {
    memset(f, 0, sizeof *f);
    assert_true(test_engine_open(&f->engine, allocator, 1));
    const kt_memory_server server = { serve, abandoned, f };
    assert_int_equal(kt_memory_transport_new(f->engine.engine, &server, &f->transport, NULL), KI_OK);
    ki_type_lookup_init(&f->lookup, f->engine.engine, f->transport, &foos);
}

static void tear_down(fixture *f) {
    ki_document_request_cancel(&f->lookup.request);
    ki_transport_free(f->transport);
    test_engine_close(&f->engine);
}

TEST(only_a_list_of_resources_decides) {
    static const struct {
        response of_version, of_groups;
        ki_type_found found;
    } rows[] = {
        { { 200, RESOURCES("{\"name\":\"bars\"},{\"name\":\"foos\"}") }, { 0, NULL }, KI_TYPE_THERE },
        { { 200, RESOURCES("{\"name\":\"bars\"},{\"name\":\"foos/status\"}") }, { 0, NULL }, KI_TYPE_MISSING },
        { { 200, RESOURCES("") }, { 0, NULL }, KI_TYPE_MISSING },
        { { 404, "404 page not found\n" }, { 200, GROUPS(GROUP("apps", "v1")) }, KI_TYPE_MISSING },
        { { 404, "404 page not found\n" }, { 200, GROUPS(GROUP("example.com", "v2")) }, KI_TYPE_MISSING },
        { { 404, "404 page not found\n" }, { 200, GROUPS(GROUP("example.com", "v1")) }, KI_TYPE_UNCERTAIN },
        { { 404, "<html>no such page</html>" }, { 404, "<html>no such page</html>" }, KI_TYPE_UNCERTAIN },
        { { 200, "<html>all is well</html>" }, { 0, NULL }, KI_TYPE_UNCERTAIN },
        { { 404, "" }, { 200, "<html>all is well</html>" }, KI_TYPE_UNCERTAIN },
        { { 404, "" }, { 200, "{\"kind\":\"APIGroupList\"}" }, KI_TYPE_UNCERTAIN },
        { { 404, "" }, { 403, GROUPS("") }, KI_TYPE_UNCERTAIN },
        { { 200, "{\"kind\":\"APIResourceList\"}" }, { 0, NULL }, KI_TYPE_UNCERTAIN },
        { { 200, "{\"kind\":\"Status\",\"resources\":[]}" }, { 0, NULL }, KI_TYPE_UNCERTAIN },
        { { 503, RESOURCES("") }, { 0, NULL }, KI_TYPE_UNCERTAIN },
        { { 0, NULL }, { 0, NULL }, KI_TYPE_UNCERTAIN },
        { { 404, "" }, { 0, NULL }, KI_TYPE_UNCERTAIN },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        set_up(&f, NULL);
        f.of_version = rows[i].of_version;
        f.of_groups = rows[i].of_groups;
        assert_int_equal(ki_type_lookup_begin(&f.lookup, on_found, &f, NULL), KI_OK);
        assert_int_equal(f.calls, 0);
        assert_true(test_engine_settle(&f.engine));
        assert_int_equal(f.calls, 1);
        assert_int_equal(f.found, rows[i].found);
        int last = f.of_version.status == 404 ? f.of_groups.status : f.of_version.status;
        assert_int_equal(f.err, last == 0 ? KI_ERR_UNEXPECTED_EOF : last == 200 || last == 404 ? KI_OK : KI_ERR_HTTP);
        assert_string_equal(f.asked,
                            f.of_version.status == 404 ? "/apis/example.com/v1 /apis " : "/apis/example.com/v1 ");
        tear_down(&f);
    }
}

TEST(a_cancelled_lookup_calls_nothing) {
    fixture f;
    set_up(&f, NULL);
    f.of_version = plain;
    f.of_groups = html;
    assert_int_equal(ki_type_lookup_begin(&f.lookup, on_found, &f, NULL), KI_OK);
    ki_document_request_cancel(&f.lookup.request);
    ki_document_request_cancel(&f.lookup.request);
    assert_true(test_engine_settle(&f.engine));
    assert_int_equal(f.calls, 0);
    tear_down(&f);
}

TEST(a_cancelled_source_reports_no_type) {
    fixture f;
    set_up(&f, NULL);
    f.of_version = plain;
    f.of_groups = html;
    ki_object_format *format = NULL;
    ki_list_watch *source = NULL;
    const selected of = { .resource = foos };
    assert_int_equal(ki_object_format_new(ki_engine_allocator(f.engine.engine), NULL, &format, NULL), KI_OK);
    assert_int_equal(source_of(&of, f.engine.engine, f.transport, format, NULL, &source), KI_OK);
    assert_int_equal(source->ops->find_type(source, on_found, &f, NULL), KI_OK);

    source->ops->cancel(source);

    assert_true(test_engine_settle(&f.engine));
    assert_int_equal(f.calls, 0);
    source->ops->free(source);
    ki_object_format_unref(format);
    tear_down(&f);
}

TEST(without_memory_nothing_is_certain) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        fixture f;
        set_up(&f, &memory.allocator);
        f.of_version = plain;
        f.of_groups = (response){ 200, GROUPS("") };
        scarce_memory_begin(&memory);
        ki_status status = ki_type_lookup_begin(&f.lookup, on_found, &f, NULL);
        assert_true(test_engine_settle(&f.engine));
        if (status)
            assert_int_equal(status, KI_ERR_NO_MEMORY);
        assert_int_equal(f.calls, status ? 0 : 1);
        if (f.calls && f.found != KI_TYPE_MISSING)
            assert_true(scarce_memory_failed(&memory) && f.found == KI_TYPE_UNCERTAIN);
        tear_down(&f);
    }
}
