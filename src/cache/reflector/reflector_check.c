/* reflector_check.c: checks whether the server still knows the resource version that the cache watches from.
 *
 * A server that was restored from a backup may be at an older version. Such a server accepts a watch from the newer
 * version and sends nothing until its own versions have caught up. The cache would keep objects that the restore
 * deleted.
 *
 * A healthy server sends a bookmark about once a minute. A check precedes the next watch if two consecutive accepted
 * watches had no event, and the last event, list or check is longer ago than the idle deadline. The check is a list of
 * one object at the version. Success: the watch continues (the server sends no bookmarks). "Too large" or an older
 * version in the response: the reflector relists. */
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/reflector/reflector_steps.h"

enum {
    SILENT_WATCHES = 2 /* watches; the first may have ended because its connection died */
};

void ki_reflector_count_silent_watch(ki_reflector *reflector) {
    if (reflector->watch.is_accepted && !reflector->watch.shows_version && reflector->watches.silent < SILENT_WATCHES)
        reflector->watches.silent++;
}

bool ki_reflector_needs_check(const ki_reflector *reflector) {
    int64_t silence = ki_engine_now(reflector->options.engine) - reflector->watches.version_known_at;
    return reflector->watches.silent >= SILENT_WATCHES && silence >= KI_REFLECTOR_IDLE;
}

static void set_behind(ki_error *err, const char *version, const char *than) {
    ki_error_set(
        err, KI_ERR_TOO_LARGE_RV,
        "the server is at resource version %s and the cache at %s: the server was restored from a backup, or lags",
        version, than);
}

void ki_reflector_fail_behind(ki_reflector *reflector, const char *version) {
    ki_error err = KI_ERROR_INIT;
    set_behind(&err, version, reflector->watch.version);
    reflector->is_unavailable = true;
    ki_reflector_give_up(reflector, &err);
}

static void on_object(ki_object *obj, void *user) {
    (void)obj; /* only the response's version matters */
    (void)user;
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    (void)bad;
    (void)user;
}

static bool may_retry_check(const ki_error *err) {
    return err->http_status == 429 || err->code == KI_ERR_CONNECT || err->code == KI_ERR_UNEXPECTED_EOF ||
           err->code == KI_ERR_TIMEOUT || err->code == KI_ERR_SYSTEM;
}

static void on_failure(ki_reflector *reflector, const ki_error *err) {
    if (err->code == KI_ERR_TOO_LARGE_RV || err->code == KI_ERR_EXPIRED) {
        reflector->is_unavailable = true;
        ki_reflector_list_instead(reflector, err, KI_REFLECT_BEGIN);
        return;
    }
    ki_reflector_fail(reflector, err, may_retry_check(err) ? KI_REFLECT_CHECK : KI_REFLECT_BEGIN);
}

static void on_end(const ki_list_result *result, const ki_error *err, void *user) {
    ki_reflector *reflector = user;
    ki_error behind = KI_ERROR_INIT;
    if (!err && ki_reflector_is_older(result->resource_version, reflector->resource_version)) {
        set_behind(&behind, result->resource_version, reflector->resource_version);
        err = &behind;
    }
    ki_log_write(ki_engine_log(reflector->options.engine), KI_LOG_DEBUG, "reflector", "%s: check ended: %s",
                 reflector->options.name, err ? ki_error_message(err) : "the version is known");
    if (err) {
        on_failure(reflector, err);
        return;
    }
    ki_freshness_succeeded(reflector->shared.freshness);
    ki_reflector_note_version_known(reflector);
    ki_reflector_schedule(reflector, KI_REFLECT_WATCH);
}

void ki_reflector_check(ki_reflector *reflector) {
    ki_list_options options = {
        .resource_version = reflector->resource_version,
        .resource_version_match =
            "NotOlderThan", /* without it, a limit means Exact, and the version may be compacted */
        .limit = 1,
        .idle_timeout_ns = KI_REFLECTOR_IDLE
    };
    ki_list_handler handler = {
        .on_object = on_object, .on_bad_object = on_bad_object, .on_end = on_end, .user = reflector
    };
    ki_list_watch *list_watch = reflector->options.list_watch;
    ki_error err = KI_ERROR_INIT;
    reflector->phase = KI_REFLECTOR_CHECKS;
    ki_log_write(ki_engine_log(reflector->options.engine), KI_LOG_DEBUG, "reflector",
                 "%s: no event in the last watches: check opened at \"%s\"", reflector->options.name,
                 reflector->resource_version);
    ki_reflector_set_state(reflector, KI_STATE_CONNECTING);
    if (ki_error_fill(&err, list_watch->ops->list(list_watch, &options, &handler, &err), "the list function"))
        on_failure(reflector, &err);
}
