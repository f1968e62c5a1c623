/* informer_options.c: see informer_options.h. */
#include "src/factory/informer_options.h"

#include "src/base/backoff.h"
#include "src/base/error.h"
#include "src/cache/informer/shared_informer.h"

#include <string.h>

static ki_status check_keep(const ki_informer_options *given, ki_error *err) {
    if (given->keep == KI_KEEP_VIEW && !given->view)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .keep KI_KEEP_VIEW without a .view");
    if (given->keep == KI_KEEP_KEYS && given->view)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .view beside KI_KEEP_KEYS, which keeps none");
    return KI_OK;
}

ki_status ki_backoff_check(int64_t first_ms, int64_t longest_ms, const char *struct_name, ki_error *err) {
    if (first_ms < 0 || first_ms > KI_BACKOFF_MAX_MS)
        return ki_error_set(err, KI_ERR_INVALID, "%s: .backoff_first_ms %lld: not 0 to a day", struct_name,
                            (long long)first_ms);
    if (longest_ms < 0 || longest_ms > KI_BACKOFF_MAX_MS)
        return ki_error_set(err, KI_ERR_INVALID, "%s: .backoff_longest_ms %lld: not 0 to a day", struct_name,
                            (long long)longest_ms);
    if (longest_ms && longest_ms < first_ms)
        return ki_error_set(err, KI_ERR_INVALID, "%s: .backoff_longest_ms %lld is shorter than .backoff_first_ms %lld",
                            struct_name, (long long)longest_ms, (long long)first_ms);
    return KI_OK;
}

/* Adds the factory's options, and has the program change the result. */
static void apply(const ki_informer_defaults *defaults, const ki_resource *resource, ki_informer_options *given) {
    if (!given->namespace_name && !given->namespace_set)
        given->namespace_name = defaults->namespace_name;
    if (!given->resync_ms)
        given->resync_ms = defaults->resync_ms;
    if (!given->backoff_first_ms)
        given->backoff_first_ms = defaults->backoff_first_ms;
    if (!given->backoff_longest_ms)
        given->backoff_longest_ms = defaults->backoff_longest_ms;
    if (defaults->tweak && resource)
        defaults->tweak(resource, given, defaults->user);
}

ki_status ki_informer_options_complete(const ki_informer_options *options, const ki_informer_defaults *defaults,
                                       const ki_resource *resource, ki_informer_options *ret_given, ki_error *err) {
    ki_informer_options given = { .size = sizeof given };
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options without a size: use KI_INFORMER_OPTIONS()");
    if (options)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    apply(defaults, resource, &given);
    if (given.namespace_set && given.namespace_name)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .namespace_name beside .namespace_set");
    if (given.page_size < 0)
        return ki_error_set(err, KI_ERR_INVALID, "a page size below 0");
    if (given.keep_fetched_ms < 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .keep_fetched_ms below 0");
    ki_status status = check_keep(&given, err);
    if (!status)
        status = ki_backoff_check(given.backoff_first_ms, given.backoff_longest_ms, "ki_informer_options", err);
    if (!status)
        *ret_given = given;
    return status;
}
