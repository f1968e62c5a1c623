/* certificate.c: the checkup's look at the client certificate of the configuration. Sends no request. */
#include "state.h"
#include "validity.h"

#include "src/auth/config.h"
#include "src/base/error.h"
#include "src/engine/engine.h"

#include <time.h>

enum {
    DATE_SIZE = 40,
    EXPIRY_WARNING_S = 7 * 24 * 3600,
    SECOND_NS = 1000000000
};

/* Writes "2006-01-02T15:04:05Z", for years up to 9999. */
static void write_date(int64_t seconds, char ret_text[DATE_SIZE]) {
    time_t at = (time_t)seconds;
    struct tm date = { .tm_mday = 1 };
    gmtime_r(&at, &date);
    strftime(ret_text, DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &date);
}

ki_status ki_checkup_certificate(ki_checkup_state *state, ki_check_result *ret_result, ki_error *err) {
    const ki_secret *pem = &state->config->client_certificate;
    const char *file = state->config->client_certificate_file.data;
    char from[DATE_SIZE], until[DATE_SIZE], today[DATE_SIZE];
    ki_validity validity;
    *ret_result = KI_CHECK_OK;
    ki_status status = pem->data ? ki_certificate_validity(ki_engine_allocator(state->engine),
                                                           (ki_str){ pem->data, pem->size }, &validity)
                                 : KI_ERR_PARSE;
    if (status == KI_ERR_NO_MEMORY)
        return ki_error_no_memory(err, "reading the client certificate");
    if (status) /* no certificate, or one that only the server can judge */
        return KI_OK;
    int64_t now_s = ki_engine_wall_now(state->engine) / SECOND_NS;
    write_date(validity.begins_s, from);
    write_date(validity.ends_s, until);
    write_date(now_s, today);
    bool is_early = now_s<validity.begins_s, is_late = now_s> validity.ends_s;
    if (is_early || is_late) {
        ki_checkup_find(state, "the client certificate%s%.300s %s %s", file ? " " : "", file ? file : "",
                        is_early ? "is not valid before" : "expired on", is_early ? from : until);
        ki_checkup_remedy(state, "get a new client certificate, or fix this machine's clock, which shows %s", today);
        *ret_result = KI_CHECK_FAILED;
    } else if (validity.ends_s - now_s < EXPIRY_WARNING_S) {
        ki_checkup_remedy(state, "the client certificate%s%.300s expires on %s: get a new one", file ? " " : "",
                          file ? file : "", until);
        *ret_result = KI_CHECK_WARNING;
    }
    return KI_OK;
}
