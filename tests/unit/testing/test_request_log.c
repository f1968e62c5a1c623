/* test_request_log.c: the record of clients' requests when memory is short or the record is full. */
#include "testing/request/request_log.h"

#include "testing/cluster/cluster.h"
#include "testing/rest/rest.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>

static void get(kt_cluster *cluster, const char *target) {
    const kt_request request = { .method = "GET", .target = target, .user_agent = "t", .from_network = true };
    kt_response response;
    if (!kt_rest_handle(cluster, &request, 1, &response))
        kt_response_free(&response);
}

TEST(a_request_that_could_not_be_recorded_is_not_silent) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    size_t failures = 0;
    while (scarce_memory_next(&memory)) {
        kt_cluster *cluster = NULL;
        kt_spec all = { 0 };
        ki_testing_requests requests = KI_TESTING_REQUESTS_INIT;
        assert_int_equal(kt_cluster_new(&memory.allocator, NULL, &cluster, NULL), KI_OK);
        scarce_memory_begin(&memory);
        get(cluster, "/version");
        kt_request_log *log = kt_cluster_requests(cluster);
        size_t recorded = kt_request_log_count(log, &all, 0);
        ki_status status = kt_request_log_copy(log, &all, &requests);
        if (!status) {
            assert_int_equal(requests.count, recorded);
        } else {
            assert_int_equal(status, KI_ERR_NO_MEMORY);
            assert_null(requests.requests);
            failures++;
        }
        ki_testing_requests_clear(&requests);
        kt_request_log_clear(log);
        assert_false(log->is_short);
        kt_cluster_free(cluster);
    }
    assert_true(failures >= 4); /* the record, its place in the list, and both parts of the copy */
}

TEST(the_record_has_the_last_requests) {
    enum {
        MORE = 7
    };
    kt_cluster *cluster = NULL;
    kt_spec all = { 0 };
    ki_testing_requests requests = KI_TESTING_REQUESTS_INIT;
    assert_int_equal(kt_cluster_new(NULL, NULL, &cluster, NULL), KI_OK);
    for (int i = 0; i < KI_TESTING_REQUESTS_MAX_COUNT + MORE; i++) {
        char target[64];
        snprintf(target, sizeof target, "/version?n=%d", i);
        get(cluster, target);
    }
    assert_int_equal(kt_request_log_copy(kt_cluster_requests(cluster), &all, &requests), KI_OK);
    assert_int_equal(requests.count, KI_TESTING_REQUESTS_MAX_COUNT);
    assert_int_equal(requests.dropped, MORE);
    assert_string_equal(requests.requests[0]->target, "/version?n=7");
    assert_string_equal(requests.requests[0]->resource, "");
    ki_testing_requests_clear(&requests);
    kt_cluster_free(cluster);
}

TEST(a_dropped_request_gives_all_its_bytes_back) {
    kt_cluster *cluster = NULL;
    assert_int_equal(kt_cluster_new(NULL, NULL, &cluster, NULL), KI_OK);
    kt_request_log *log = kt_cluster_requests(cluster);
    get(cluster, "/api/v1/namespaces/default/pods/x%00yyyyyyyyyyyyyyyyyyyyyyyyyy");
    kt_spec all = { 0 };
    assert_int_equal(kt_request_log_count(log, &all, 0), 1);
    assert_true(log->size > 0);
    for (int i = 0; i < KI_TESTING_REQUESTS_MAX_COUNT; i++)
        get(cluster, "/version");
    size_t size = log->size;
    get(cluster, "/version");
    assert_int_equal(log->size, size); /* one like it gave way */
    assert_int_equal(size % KI_TESTING_REQUESTS_MAX_COUNT, 0);
    kt_cluster_free(cluster);
}
