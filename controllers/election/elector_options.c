/* elector_options.c: checks a program's elector options, fills in defaults, copies them. */
#include "controllers/election/elector_parts.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    NAMESPACE_MAX = 63,   /* RFC 1123 label */
    NAME_MAX_BYTES = 253, /* RFC 1123 subdomain */
    HOST_MAX = 128,
    RANDOM_NUMBERS = 4
};

/* client-go's JitterFactor, 1.2, as a fraction. */
#define JITTER_NUMERATOR 12
#define JITTER_DENOMINATOR 10

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* Accepts lower case letters, digits, '-' and, with `may_have_dots`, '.': safe in a path and in a metric's label. */
static ki_status check_name(const char *option, const char *text, size_t size_max, bool may_have_dots, ki_error *err) {
    if (!text || !text[0])
        return ki_error_set(err, KI_ERR_INVALID, "an elector without a %s", option);
    for (const char *c = text; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || (may_have_dots && *c == '.')))
            return ki_error_set(
                err, KI_ERR_INVALID,
                "the %s of an elector: '%.80s' has a character that is not allowed in a Kubernetes name", option, text);
    if (strlen(text) > size_max)
        return ki_error_set(err, KI_ERR_LIMIT, "the %s of an elector has more than %zu bytes", option, size_max);
    return KI_OK;
}

static ki_status check_identity(const char *identity, ki_error *err) {
    if (identity && !identity[0])
        return ki_error_set(err, KI_ERR_INVALID, "the identity of an elector is empty");
    if (identity && strlen(identity) > KI_IDENTITY_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "the identity of an elector has more than %d bytes", KI_IDENTITY_MAX);
    return KI_OK;
}

/* Checks the durations by the rules of client-go's NewLeaderElector. */
static ki_status check_times(const ki_elector_options *given, ki_error *err) {
    const int64_t most_ms = (int64_t)INT32_MAX * 1000; /* leaseDurationSeconds is an int32 */
    if (given->lease_duration_ms < 0 || given->renew_deadline_ms < 0 || given->retry_period_ms < 0)
        return ki_error_set(err, KI_ERR_INVALID, "a duration of an elector is negative");
    if (given->lease_duration_ms > most_ms)
        return ki_error_set(err, KI_ERR_INVALID, "the lease duration of an elector is more than %lld ms",
                            (long long)most_ms);
    if (given->lease_duration_ms <= given->renew_deadline_ms)
        return ki_error_set(err, KI_ERR_INVALID,
                            "the lease duration (%lld ms) must be longer than the renew deadline (%lld ms)",
                            (long long)given->lease_duration_ms, (long long)given->renew_deadline_ms);
    if (given->renew_deadline_ms <= given->retry_period_ms ||
        given->renew_deadline_ms <= given->retry_period_ms * JITTER_NUMERATOR / JITTER_DENOMINATOR)
        return ki_error_set(err, KI_ERR_INVALID,
                            "the renew deadline (%lld ms) must be longer than 1.2 times the retry period (%lld ms)",
                            (long long)given->renew_deadline_ms, (long long)given->retry_period_ms);
    return KI_OK;
}

ki_status ki_elector_take_options(const ki_elector_options *options, ki_elector_options *ret_given, ki_error *err) {
    ki_elector_options given;
    if (KI_OPTIONS_TAKE(options, &given, "KI_ELECTOR_OPTIONS", err))
        return KI_ERR_INVALID;
    if (!given.lease_duration_ms)
        given.lease_duration_ms = KI_LEASE_DURATION_MS;
    if (!given.renew_deadline_ms)
        given.renew_deadline_ms = KI_RENEW_DEADLINE_MS;
    if (!given.retry_period_ms)
        given.retry_period_ms = KI_RETRY_PERIOD_MS;
    ki_status status = check_name("namespace", given.namespace_name, NAMESPACE_MAX, false, err);
    if (!status)
        status = check_name("name", given.name, NAME_MAX_BYTES, true, err);
    if (!status)
        status = check_identity(given.identity, err);
    if (!status)
        status = check_times(&given, err);
    if (!status)
        *ret_given = given;
    return status;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

typedef struct draw {
    ki_engine *engine;
    uint32_t numbers[RANDOM_NUMBERS];
} draw;

static void draw_numbers(void *user) {
    draw *self = user;
    for (int i = 0; i < RANDOM_NUMBERS; i++)
        self->numbers[i] = (uint32_t)(ki_engine_random(self->engine) * ((double)UINT32_MAX + 1));
}

/* Returns "HOST_0123456789abcdef0123456789abcdef"; NULL on lack of memory. */
static char *make_identity(const ki_elector *elector) {
    char host[HOST_MAX] = "", text[KI_IDENTITY_MAX + 1];
    draw random = { .engine = elector->engine };
    if (gethostname(host, sizeof host - 1))
        host[0] = '\0';
    ki_engine_call(elector->engine, draw_numbers, &random);
    snprintf(text, sizeof text, "%s_%08x%08x%08x%08x", host, random.numbers[0], random.numbers[1], random.numbers[2],
             random.numbers[3]);
    return ki_strdup(elector->allocator, text);
}

/* Writes a Lease without sending it, to find now an identity that cannot be written. */
static ki_status try_to_write(const ki_elector *elector, ki_error *err) {
    const ki_lease_place place = { elector->given.namespace_name, elector->given.name };
    const ki_lease_record record = { .holder = ki_str_of(elector->given.identity) };
    char *json = NULL;
    size_t size;
    ki_status status = ki_lease_write(elector->allocator, &place, NULL, &record, &json, &size, err);
    ki_free(elector->allocator, json);
    if (status == KI_ERR_INVALID)
        return ki_error_set(err, KI_ERR_INVALID, "the identity of an elector is not UTF-8");
    return status;
}

ki_status ki_elector_set_names(ki_elector *elector, const ki_elector_options *given, ki_error *err) {
    elector->given.namespace_name = ki_strdup(elector->allocator, given->namespace_name);
    elector->given.name = ki_strdup(elector->allocator, given->name);
    elector->given.identity = given->identity ? ki_strdup(elector->allocator, given->identity) : make_identity(elector);
    if (!elector->given.namespace_name || !elector->given.name || !elector->given.identity)
        return ki_error_no_memory(err, "making an elector");
    return try_to_write(elector, err);
}
