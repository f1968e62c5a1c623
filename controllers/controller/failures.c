/* failures.c: see failures.h. */
#include "controllers/controller/failures.h"

#include "src/base/assert.h"
#include "src/engine/engine.h"

#include <stdio.h>
#include <string.h>

/* Returns the place of the key; the count if the key is not kept. */
static size_t place_of(const ki_failures *failures, const char *key) {
    size_t at = 0;
    while (at < failures->count && strncmp(failures->kept[at].shown.key, key, KI_CONTROLLER_KEY_MAX - 1) != 0)
        at++;
    return at;
}

static bool is_worse(const ki_failures *failures, size_t a, size_t b) {
    const ki_controller_failure *left = &failures->kept[a].shown, *right = &failures->kept[b].shown;
    if (left->is_retried != right->is_retried)
        return right->is_retried;
    if (left->failures != right->failures)
        return left->failures > right->failures;
    return failures->kept[a].failed_at > failures->kept[b].failed_at;
}

static size_t least_bad(const ki_failures *failures) {
    size_t least = 0;
    for (size_t at = 1; at < failures->count; at++)
        if (is_worse(failures, least, at))
            least = at;
    return least;
}

static void remove_at(ki_failures *failures, size_t at) {
    KI_ASSERT(at < failures->count && failures->count <= KI_FAILURES_KEPT + 1);
    failures->kept[at] = failures->kept[--failures->count];
}

void ki_failures_note(ki_failures *failures, const char *key, int requeues, bool is_retried, const ki_error *cause,
                      int64_t now) {
    KI_ASSERT(failures->count <= KI_FAILURES_KEPT && cause->code);
    size_t at = place_of(failures, key);
    bool is_new = at == failures->count;
    ki_controller_failure *shown = &failures->kept[at].shown;
    *shown = (ki_controller_failure){ .failures = (is_new ? requeues : shown->failures) + 1,
                                      .is_retried = is_retried,
                                      .cause = *cause };
    snprintf(shown->key, sizeof shown->key, "%s", key);
    failures->kept[at].failed_at = now;
    failures->count += is_new;
    if (failures->count > KI_FAILURES_KEPT)
        remove_at(failures, least_bad(failures));
    KI_ASSERT(failures->count <= KI_FAILURES_KEPT);
}

void ki_failures_remove(ki_failures *failures, const char *key) {
    size_t at = place_of(failures, key);
    if (at < failures->count)
        remove_at(failures, at);
}

void ki_failures_worst(const ki_failures *failures, int64_t now, ki_controller_failure *ret_failure) {
    size_t worst = 0;
    *ret_failure = (ki_controller_failure){ .key = "" };
    for (size_t at = 1; at < failures->count; at++)
        if (is_worse(failures, at, worst))
            worst = at;
    if (!failures->count)
        return;
    *ret_failure = failures->kept[worst].shown;
    ret_failure->ago_ms = (now - failures->kept[worst].failed_at) / KI_MILLISECONDS(1);
}
