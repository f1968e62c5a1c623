/* test_lease.c: a Lease is read and written as the API server and client-go have it. */
#include "controllers/election/lease.h"

#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define LEASE(metadata, spec) \
    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{" metadata "},\"spec\":{" spec "}}"
#define METADATA "\"name\":\"lock\",\"namespace\":\"ns\",\"resourceVersion\":\"7\""
#define SPEC \
    "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"acquireTime\":\"2026-01-02T03:04:05.000006Z\"," \
    "\"renewTime\":\"2026-01-02T03:04:06.000000Z\",\"leaseTransitions\":3"

static ki_status read_lease(const char *json, ki_lease *ret_lease) {
    return ki_lease_read(&ki_allocator_default, ki_str_of(json), ret_lease, NULL);
}

TEST(a_lease_is_read_field_by_field) {
    ki_lease lease;
    assert_int_equal(read_lease(LEASE(METADATA, SPEC), &lease), KI_OK);
    assert_true(ki_str_equals(lease.resource_version, "7"));
    assert_true(ki_str_equals(lease.record.holder, "me"));
    assert_int_equal(lease.record.duration_s, 15);
    assert_int_equal(lease.record.transitions, 3);
    assert_true(ki_str_equals(lease.record.acquire_time, "2026-01-02T03:04:05.000006Z"));
    assert_true(ki_str_equals(lease.record.renew_time, "2026-01-02T03:04:06.000000Z"));
    ki_lease_clear(&lease);
    assert_null(lease.doc);
}

TEST(what_is_absent_or_out_of_range_has_the_nearest_value) {
    const struct {
        const char *json;
        int64_t duration_s, transitions;
    } cases[] = {
        { LEASE(METADATA, ""), 0, 0 },
        { "{\"metadata\":{" METADATA "}}", 0, 0 },
        { LEASE(METADATA, "\"holderIdentity\":null,\"leaseDurationSeconds\":null,\"renewTime\":null"), 0, 0 },
        { LEASE(METADATA, "\"leaseDurationSeconds\":-1,\"leaseTransitions\":-9223372036854775808"), 0, 0 },
        { LEASE(METADATA, "\"leaseDurationSeconds\":2147483648,\"leaseTransitions\":18446744073709551615"), INT32_MAX,
          INT32_MAX },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_lease lease;
        assert_int_equal(read_lease(cases[i].json, &lease), KI_OK);
        assert_int_equal(lease.record.holder.size, 0);
        assert_int_equal(lease.record.renew_time.size, 0);
        assert_int_equal(lease.record.duration_s, cases[i].duration_s);
        assert_int_equal(lease.record.transitions, cases[i].transitions);
        ki_lease_clear(&lease);
    }
}

TEST(what_is_no_lease_is_rejected) {
    static const char *const cases[] = {
        "",
        "{",
        "null",
        "[]",
        "\"lease\"",
        "{}",
        LEASE("\"name\":\"lock\"", SPEC),
        LEASE("\"name\":\"lock\",\"resourceVersion\":\"\"", SPEC),
        LEASE("\"name\":\"lock\",\"resourceVersion\":7", SPEC),
        LEASE(METADATA, "\"holderIdentity\":1"),
        LEASE(METADATA, "\"leaseDurationSeconds\":\"15\""),
        LEASE(METADATA, "\"leaseDurationSeconds\":1.5"),
        LEASE(METADATA, "\"leaseTransitions\":true"),
        LEASE(METADATA, "\"acquireTime\":[]"),
        LEASE(METADATA, "\"renewTime\":{}"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_lease lease = { .doc = NULL };
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_lease_read(&ki_allocator_default, ki_str_of(cases[i]), &lease, &err), KI_ERR_PROTOCOL);
        assert_non_null(strstr(err.message, "Lease"));
        assert_null(lease.doc);
    }
}

TEST(a_change_of_any_field_shows_that_a_lease_was_written) {
    static const char *const others[] = {
        LEASE("\"name\":\"lock\",\"resourceVersion\":\"8\"",
              "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3"),
        LEASE(METADATA, "\"holderIdentity\":\"you\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3"),
        LEASE(METADATA, "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":16,\"leaseTransitions\":3"),
        LEASE(METADATA, "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"leaseTransitions\":4"),
        LEASE(METADATA, "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3,"
                        "\"renewTime\":\"2026-01-02T03:04:06.000001Z\""),
        LEASE(METADATA, "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3,"
                        "\"acquireTime\":\"2026-01-02T03:04:06.000001Z\""),
    };
    const char *same = LEASE(METADATA, "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3");
    ki_lease lease, again, other, none = { .doc = NULL };
    assert_int_equal(read_lease(same, &lease), KI_OK);
    assert_int_equal(read_lease(same, &again), KI_OK);
    assert_true(ki_lease_is_same(&lease, &again));
    assert_false(ki_lease_is_same(&none, &lease));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(read_lease(others[i], &other), KI_OK);
        assert_false(ki_lease_is_same(&lease, &other));
        ki_lease_clear(&other);
    }
    ki_lease_clear(&lease);
    ki_lease_clear(&again);
}

/* Writes what `base_json` becomes with a record, NULL: as a new Lease. */
static char *write_lease(const char *base_json, const ki_lease_record *record) {
    ki_lease base = { .doc = NULL };
    char *json = NULL;
    size_t size;
    if (base_json)
        assert_int_equal(read_lease(base_json, &base), KI_OK);
    const ki_lease_place place = { "ns", "lock" };
    assert_int_equal(
        ki_lease_write(&ki_allocator_default, &place, base_json ? &base : NULL, record, &json, &size, NULL), KI_OK);
    assert_int_equal(strlen(json), size);
    ki_lease_clear(&base);
    return json;
}

static ki_lease_record some_record(void) {
    return (ki_lease_record){ .holder = ki_str_of("me"),
                              .duration_s = 15,
                              .transitions = 3,
                              .acquire_time = ki_str_of("2026-01-02T03:04:05.000006Z"),
                              .renew_time = ki_str_of("2026-01-02T03:04:06.000000Z") };
}

#define WRITTEN_SPEC \
    "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"acquireTime\":\"2026-01-02T03:04:05.000006Z\"," \
    "\"renewTime\":\"2026-01-02T03:04:06.000000Z\",\"leaseTransitions\":3"

TEST(a_lease_is_written_with_what_else_it_had) {
    const struct {
        const char *base, *written;
    } cases[] = {
        { NULL, LEASE("\"name\":\"lock\",\"namespace\":\"ns\"", WRITTEN_SPEC) },
        { LEASE(METADATA ",\"uid\":\"u\",\"annotations\":{\"x\":\"y\"},\"managedFields\":[{}]",
                "\"strategy\":\"OldestEmulationVersion\",\"preferredHolder\":\"you\""),
          LEASE(METADATA ",\"uid\":\"u\",\"annotations\":{\"x\":\"y\"}", WRITTEN_SPEC) },
        { LEASE(METADATA ",\"labels\":{\"a\":\"0\",\"c\":\"3\"}", SPEC),
          LEASE(METADATA ",\"labels\":{\"a\":\"0\",\"c\":\"3\"}", WRITTEN_SPEC) },
        { LEASE(METADATA ",\"labels\":null", SPEC), LEASE(METADATA ",\"labels\":null", WRITTEN_SPEC) },
    };
    const ki_lease_record record = some_record();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *json = write_lease(cases[i].base, &record);
        assert_string_equal(json, cases[i].written);
        ki_free(&ki_allocator_default, json);
    }
}

TEST(a_record_survives_writing_and_reading) {
    const ki_lease_record records[] = { some_record(), { .duration_s = 1 } };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        ki_lease lease;
        char *json = write_lease(LEASE(METADATA, ""), &records[i]);
        assert_int_equal(read_lease(json, &lease), KI_OK);
        const ki_lease expected = { .resource_version = ki_str_of("7"), .record = records[i] };
        assert_true(ki_lease_is_same(&lease, &expected));
        ki_lease_clear(&lease);
        ki_free(&ki_allocator_default, json);
    }
}

TEST(a_holder_that_is_no_utf8_is_rejected) {
    const ki_lease_place place = { "ns", "lock" };
    const ki_lease_record record = { .holder = ki_str_of("\xff") };
    char *json = NULL;
    size_t size;
    assert_int_equal(ki_lease_write(&ki_allocator_default, &place, NULL, &record, &json, &size, NULL), KI_ERR_INVALID);
    assert_null(json);
}

TEST(without_memory_nothing_is_read_or_written_and_nothing_leaks) {
    const char *json = LEASE(METADATA ",\"labels\":{\"b\":\"2\"}", SPEC);
    const ki_lease_record record = some_record();
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_lease lease = { .doc = NULL };
        char *written = NULL;
        size_t size;
        const ki_lease_place place = { "ns", "lock" };
        ki_status status = ki_lease_read(&memory.allocator, ki_str_of(json), &lease, NULL);
        if (!status)
            status = ki_lease_write(&memory.allocator, &place, &lease, &record, &written, &size, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_free(&memory.allocator, written);
        ki_lease_clear(&lease);
    }
}
