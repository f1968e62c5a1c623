/* informer_options.c: see informer_options.h. */
#include "src/factory/informer_options.h"

#include "src/base/backoff.h"
#include "src/base/error.h"
#include "src/base/options.h"

#include <stdlib.h>
#include <string.h>

/* --- a factory ---------------------------------------------------------------------------------------------------- */

/* Parses a truth value as Go does. */
static bool is_true(const char *text) {
    static const char *const truths[] = { "1", "t", "T", "true", "True", "TRUE" };
    for (size_t i = 0; text && i < sizeof truths / sizeof *truths; i++)
        if (strcmp(text, truths[i]) == 0)
            return true;
    return false;
}

static ki_status check_backoff(int64_t first_ms, int64_t longest_ms, ki_error *err) {
    if (first_ms < 0 || first_ms > KI_BACKOFF_MAX_MS)
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_options: .backoff_first_ms %lld: not 0 to a day",
                            (long long)first_ms);
    if (longest_ms < 0 || longest_ms > KI_BACKOFF_MAX_MS)
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_options: .backoff_longest_ms %lld: not 0 to a day",
                            (long long)longest_ms);
    if (longest_ms && longest_ms < first_ms)
        return ki_error_set(err, KI_ERR_INVALID,
                            "ki_factory_options: .backoff_longest_ms %lld is shorter than .backoff_first_ms %lld",
                            (long long)longest_ms, (long long)first_ms);
    return KI_OK;
}

ki_status ki_factory_options_complete(const ki_factory_options *options, ki_factory_options *ret_given, ki_error *err) {
    if (KI_OPTIONS_TAKE(options, ret_given, "KI_FACTORY_OPTIONS", err))
        return KI_ERR_INVALID;
    if (ret_given->engine && (ret_given->log || ret_given->allocator))
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_options: .%s beside .engine; set it in KI_ENGINE_OPTIONS",
                            ret_given->log ? "log" : "allocator");
    if (ret_given->name && strlen(ret_given->name) > KI_FACTORY_NAME_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "the name of a factory has more than %d bytes",
                            (int)KI_FACTORY_NAME_MAX);
    if (ret_given->keep_fetched_ms < 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_options: .keep_fetched_ms below 0");
    if (is_true(getenv("KUBE_CACHE_MUTATION_DETECTOR")))
        ret_given->detect_mutations = true;
    return check_backoff(ret_given->backoff_first_ms, ret_given->backoff_longest_ms, err);
}

/* --- an informer -------------------------------------------------------------------------------------------------- */

static ki_status check_keep(const ki_informer_options *given, ki_error *err) {
    if (given->keep == KI_KEEP_VIEW && !given->view)
        return ki_error_set(err, KI_ERR_INVALID, "the cache is to keep only the view, but there is no view");
    if (given->keep == KI_KEEP_KEYS && given->view)
        return ki_error_set(err, KI_ERR_INVALID, "a view, but the cache is to keep only the keys");
    return KI_OK;
}

/* Adds the factory's options, and has the program change the result. */
static void apply(const ki_factory_options *factory, const ki_resource *resource, ki_informer_options *given) {
    if (!given->namespace_name && !given->namespace_set)
        given->namespace_name = factory->namespace_name;
    if (!given->resync_ms)
        given->resync_ms = factory->resync_ms;
    if (factory->tweak && resource)
        factory->tweak(resource, given, factory->user);
}

ki_status ki_informer_options_complete(const ki_informer_options *options, const ki_factory_options *factory,
                                       const ki_resource *resource, ki_informer_options *ret_given, ki_error *err) {
    ki_informer_options given;
    if (KI_OPTIONS_TAKE(options, &given, "KI_INFORMER_OPTIONS", err))
        return KI_ERR_INVALID;
    apply(factory, resource, &given);
    if (given.namespace_set && given.namespace_name)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .namespace_name beside .namespace_set");
    if (given.page_size < 0)
        return ki_error_set(err, KI_ERR_INVALID, "a page size below 0");
    ki_status status = check_keep(&given, err);
    if (!status)
        *ret_given = given;
    return status;
}
