/* reflector_alone.c: a reflector of the program's own, without an informer: the functions of
 * <kinformer/parts/reflector.h>. */
#include "src/cache/reflector/reflector.h"

#include "src/base/error.h"
#include "src/base/memory.h"

typedef struct reflector_alone {
    ki_reflector reflector; /* first */
    ki_unreadable unreadable;
    char *name; /* owned */
} reflector_alone;

static ki_status open_reflector(reflector_alone *alone, ki_reflector_options *given, ki_error *err) {
    static const ki_informer_options defaults = { .size = sizeof defaults };
    const ki_allocator *allocator = ki_engine_allocator(given->engine);
    uint64_t seed = (uint64_t)(ki_engine_random(given->engine) * (double)UINT32_MAX);
    alone->name = ki_strdup(allocator, given->name ? given->name : "objects");
    if (!alone->name)
        return ki_error_no_memory(err, "making a reflector");
    given->name = alone->name;
    if (!given->given)
        given->given = &defaults;
    ki_status status = ki_unreadable_init(&alone->unreadable, allocator, seed, err);
    if (status)
        return status;
    const ki_reflector_shared shared = { .unreadable = &alone->unreadable };
    ki_reflector_open(&alone->reflector, given, &shared);
    return KI_OK;
}

ki_status ki_reflector_new(const ki_reflector_options *options, ki_reflector **ret_reflector, ki_error *err) {
    ki_reflector_options given = { .size = sizeof given };
    if (!ret_reflector || !options)
        return ki_error_missing(err, "ki_reflector_new");
    if (options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_reflector_options without a size: use KI_REFLECTOR_OPTIONS()");
    memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    if (!given.engine || !given.queue)
        return ki_error_missing(err, "ki_reflector_new");
    if (ki_list_watch_check(given.list_watch, err))
        return KI_ERR_INVALID;
    if (ki_engine_check_process(given.engine, err))
        return KI_ERR_STATE;
    const ki_allocator *allocator = ki_engine_allocator(given.engine);
    reflector_alone *alone = ki_alloc_zero(allocator, sizeof *alone);
    if (!alone)
        return ki_error_no_memory(err, "making a reflector");
    ki_status status = open_reflector(alone, &given, err);
    if (status) {
        ki_reflector_close(&alone->reflector);
        ki_free(allocator, alone->name);
        ki_free(allocator, alone);
        return status;
    }
    *ret_reflector = &alone->reflector;
    return KI_OK;
}

const char *ki_reflector_resource_version(const ki_reflector *reflector) {
    return reflector ? reflector->resource_version : "";
}

void ki_reflector_free(ki_reflector *reflector) {
    if (!reflector || ki_engine_is_forked(reflector->options.engine))
        return;
    const ki_allocator *allocator = ki_engine_allocator(reflector->options.engine);
    reflector_alone *alone = (reflector_alone *)reflector;
    ki_reflector_close(reflector);
    ki_unreadable_destroy(&alone->unreadable);
    ki_free(allocator, alone->name);
    ki_free(allocator, alone);
}
