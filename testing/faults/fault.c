/* fault.c: see fault.h. */
#include "testing/faults/fault.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/request/call.h"
#include "testing/request/known_names.h"

#include <inttypes.h>
#include <stdio.h>

struct kt_fault {
    kt_fault *next;
    uint64_t id;
    kt_fault_kind kind;
    kt_spec spec;
    int64_t added_ms;
    int64_t after_ms; /* milliseconds since the fault was added; so is until_ms */
    int64_t until_ms;
    int64_t count; /* most injections; 0: no limit */
    int64_t every; /* of requests; of actions: milliseconds */
    int64_t percent;
    uint64_t requests; /* that matched */
    uint64_t injected;
    int64_t next_ms; /* of actions */
    bool is_start;   /* kept by kt_faults_keep_start */
};

#define TIMES "n", "every", "count", "percent", "after", "until"
#define REQUEST KT_MATCH_FIELDS, TIMES, NULL
#define ACTION "after", "every", "count", NULL

static const struct {
    const char *name;
    const char *fields[24];
} kinds[KT_FAULT_KINDS] = {
    [KT_FAULT_STATUS] = { "status", { "code", "reason", "message", "retry-after", REQUEST } },
    [KT_FAULT_ERROR_EVENT] = { "error-event", { "code", "reason", "message", "event", REQUEST } },
    [KT_FAULT_TOO_LARGE] = { "too-large", { "shape", "as", "event", REQUEST } },
    [KT_FAULT_GARBAGE] = { "garbage", { "which", REQUEST } },
    [KT_FAULT_CLOSE] = { "close", { REQUEST } },
    [KT_FAULT_DELAY] = { "delay", { "time", REQUEST } },
    [KT_FAULT_EMPTY_PAGE] = { "empty-page", { REQUEST } },
    [KT_FAULT_STALE] = { "stale", { "events", REQUEST } },
    [KT_FAULT_REPEAT] = { "repeat", { "events", REQUEST } },
    [KT_FAULT_END] = { "end", { "event", REQUEST } },
    [KT_FAULT_CUT] = { "cut", { "bytes", REQUEST } },
    [KT_FAULT_SILENT] = { "silent", { "bytes", REQUEST } },
    [KT_FAULT_LOSE] = { "lose", { "event", REQUEST } },
    [KT_FAULT_AGAIN] = { "again", { "event", "times", REQUEST } },
    [KT_FAULT_BAD_EVENT] = { "bad-event", { "event", "which", REQUEST } },
    [KT_FAULT_HUGE_EVENT] = { "huge-event", { "event", "bytes", REQUEST } },
    [KT_FAULT_AHEAD] = { "bookmark-ahead", { "event", REQUEST } },
    [KT_FAULT_SHUFFLE] = { "shuffle", { REQUEST } },
    [KT_FAULT_NO_END] = { "no-end", { REQUEST } },
    [KT_FAULT_NO_BOOKMARK] = { "no-bookmarks", { REQUEST } },
    [KT_FAULT_CHUNKS] = { "chunks", { "size", REQUEST } },
    [KT_FAULT_BANDWIDTH] = { "bandwidth", { "rate", REQUEST } },
    [KT_FAULT_CLOSE_AFTER] = { "close-after", { REQUEST } },
    [KT_FAULT_COMPACT] = { "compact", { ACTION } },
    [KT_FAULT_CLOSE_WATCHES] = { "close-watches", { ACTION } },
    [KT_FAULT_CUT_WATCHES] = { "cut-watches", { ACTION } },
    [KT_FAULT_RESTART] = { "restart", { "down", ACTION } },
    [KT_FAULT_REWIND] = { "rewind", { "events", ACTION } },
    [KT_FAULT_RESTORE] = { "restore", { ACTION } },
};

static bool is_action(kt_fault_kind kind) {
    return kind >= KT_FAULT_COMPACT;
}

void kt_faults_init(kt_faults *faults, const ki_allocator *allocator, uint64_t seed) {
    *faults = (kt_faults){ .allocator = allocator, .random = seed ^ 0x6b74666175746c73u };
}

static void free_fault(const kt_faults *faults, kt_fault *fault) {
    kt_spec_free(&fault->spec);
    ki_free(faults->allocator, fault);
}

void kt_faults_clear(kt_faults *faults) {
    while (faults->first) {
        kt_fault *fault = faults->first;
        faults->first = fault->next;
        free_fault(faults, fault);
    }
    faults->count = 0;
}

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- parsing ---- */

static ki_status find_kind(const char *line, kt_fault_kind *ret_kind, ki_error *err) {
    ki_str rest, name = ki_str_split(ki_str_of(line), ',', &rest);
    for (unsigned i = 0; i < KT_FAULT_KINDS; i++) {
        if (ki_str_equals(name, kinds[i].name)) {
            *ret_kind = (kt_fault_kind)i;
            return KI_OK;
        }
    }
    char all[512];
    size_t size = 0;
    for (unsigned i = 0; i < KT_FAULT_KINDS && size < sizeof all; i++)
        size += (size_t)snprintf(all + size, sizeof all - size, "%s%s", i ? ", " : "", kinds[i].name);
    return ki_error_set(err, KI_ERR_INVALID, "there is no fault \"%.*s\"; there are %s",
                        (int)(name.size < 64 ? name.size : 64), name.data ? name.data : "", all);
}

static bool is_watch_fault(kt_fault_kind kind) {
    switch (kind) {
    case KT_FAULT_ERROR_EVENT:
    case KT_FAULT_REPEAT:
    case KT_FAULT_END:
    case KT_FAULT_LOSE:
    case KT_FAULT_AGAIN:
    case KT_FAULT_BAD_EVENT:
    case KT_FAULT_HUGE_EVENT:
    case KT_FAULT_AHEAD:
    case KT_FAULT_SHUFFLE:
    case KT_FAULT_NO_END:
    case KT_FAULT_NO_BOOKMARK:
        return true;
    default:
        return false;
    }
}

static bool is_list_fault(kt_fault_kind kind) {
    return kind == KT_FAULT_EMPTY_PAGE;
}

static bool is_read_fault(kt_fault_kind kind) {
    return kind == KT_FAULT_STALE || kind == KT_FAULT_TOO_LARGE;
}

/* Checks that the fault can match a request. */
static ki_status check_matches(const kt_fault *fault, ki_error *err) {
    const char *name = kinds[fault->kind].name;
    ki_status status = kt_known_names_check(&fault->spec, KT_NAMES_OF_FAULT, err);
    ki_str of = kt_spec_get(&fault->spec, "verb");
    bool list = kt_spec_list_has(of, KI_STR("list")), watch = kt_spec_list_has(of, KI_STR("watch"));
    if (!status && is_watch_fault(fault->kind) && !watch)
        status = ki_error_set(err, KI_ERR_INVALID, "%s is for watches and streaming lists: verb=watch", name);
    if (!status && is_list_fault(fault->kind) && !list)
        status = ki_error_set(err, KI_ERR_INVALID, "%s is for lists: verb=list", name);
    if (!status && is_read_fault(fault->kind) && !list && !watch)
        status = ki_error_set(err, KI_ERR_INVALID, "%s is for lists and watches: verb=list+watch", name);
    int64_t n = 0;
    (void)kt_spec_number(&fault->spec, "n", 1, INT64_MAX, &n, NULL);
    if (!status && n && !is_action(fault->kind) && fault->every && n % fault->every)
        status =
            ki_error_set(err, KI_ERR_INVALID, "n=%lld is never an every=%lld", (long long)n, (long long)fault->every);
    if (!status && fault->until_ms < fault->after_ms)
        status = ki_error_set(err, KI_ERR_INVALID, "until= is before after=");
    return status;
}

/* Returns the least number of the argument event=. Events are counted from 1; 0 is before the first event. */
static int64_t first_event(kt_fault_kind kind) {
    return kind == KT_FAULT_END || kind == KT_FAULT_ERROR_EVENT || kind == KT_FAULT_TOO_LARGE ? 0 : 1;
}

/* Checks all arguments when the fault is added, so that later reads cannot fail. */
static ki_status check_arguments(const kt_fault *fault, ki_error *err) {
    const struct {
        const char *name;
        int64_t min, max;
    } numbers[] = {
        { "code", 400, 599 },  { "retry-after", 0, 86400 }, { "event", first_event(fault->kind), 1000000000 },
        { "which", 0, 1000 },  { "events", 1, 1000000000 }, { "bytes", 0, 1000000000000 },
        { "times", 1, 1000 },  { "size", 1, 1 << 20 },      { "rate", 1, 1000000000000 },
        { "n", 1, 1000000000 }
    };
    const kt_spec *spec = &fault->spec;
    int64_t value = 0, huge = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ki_status status = kt_spec_number(spec, numbers[i].name, numbers[i].min, numbers[i].max, &value, err);
        if (status)
            return status;
    }
    ki_status status = kt_spec_duration_ms(spec, "time", &value, err);
    if (!status)
        status = kt_spec_duration_ms(spec, "down", &value, err);
    if (!status && fault->kind == KT_FAULT_HUGE_EVENT)
        status = kt_spec_number(spec, "bytes", 1, KT_FAULT_BYTES_MAX, &huge, err);
    ki_str shape = kt_spec_get(spec, "shape"), as = kt_spec_get(spec, "as");
    if (!status && shape.data && !ki_str_equals(shape, "new") && !ki_str_equals(shape, "old"))
        status = ki_error_set(err, KI_ERR_INVALID, "shape is new or old");
    if (!status && as.data && !ki_str_equals(as, "event"))
        status = ki_error_set(err, KI_ERR_INVALID, "as is event");
    ki_str reason = kt_spec_get(spec, "reason");
    for (size_t i = 0; i < reason.size && !status; i++) {
        if (reason.data[i] == '"' || reason.data[i] == '\\' || (unsigned char)reason.data[i] < ' ')
            status = ki_error_set(err, KI_ERR_INVALID, "a reason is one word");
    }
    if (!status && fault->kind == KT_FAULT_STATUS && !kt_spec_get(spec, "code").size)
        status = ki_error_set(err, KI_ERR_INVALID, "a status needs its code: status,code=503");
    if (!status && fault->kind == KT_FAULT_DELAY && !kt_spec_get(spec, "time").size)
        status = ki_error_set(err, KI_ERR_INVALID, "a delay needs its time: delay,time=500ms");
    return status ? status : check_matches(fault, err);
}

static ki_status read_times(kt_fault *fault, ki_error *err) {
    const kt_spec *spec = &fault->spec;
    fault->until_ms = INT64_MAX;
    fault->percent = 100;
    ki_status status = kt_spec_duration_ms(spec, "after", &fault->after_ms, err);
    if (!status)
        status = kt_spec_duration_ms(spec, "until", &fault->until_ms, err);
    if (!status)
        status = kt_spec_number(spec, "count", 1, 1000000000, &fault->count, err);
    if (!status)
        status = kt_spec_number(spec, "percent", 1, 100, &fault->percent, err);
    if (!status)
        status = is_action(fault->kind) ? kt_spec_duration_ms(spec, "every", &fault->every, err)
                                        : kt_spec_number(spec, "every", 1, 1000000000, &fault->every, err);
    return status ? status : check_arguments(fault, err);
}

ki_status kt_faults_add(kt_faults *faults, const char *line, int64_t now_ms, uint64_t *ret_id, ki_error *err) {
    kt_fault_kind kind = KT_FAULT_STATUS;
    ki_status status = find_kind(line, &kind, err);
    if (status)
        return status;
    if (faults->count == KT_FAULTS_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "there are %d faults, and no room for more", (int)KT_FAULTS_MAX);
    kt_fault *fault = ki_alloc_zero(faults->allocator, sizeof *fault);
    if (!fault)
        return ki_error_no_memory(err, "adding a fault");
    char what[64];
    snprintf(what, sizeof what, "the fault %s", kinds[kind].name);
    fault->kind = kind;
    fault->added_ms = now_ms;
    status = kt_spec_parse(faults->allocator, what, kinds[kind].fields, line, &fault->spec, err);
    if (!status)
        status = read_times(fault, err);
    if (status) {
        free_fault(faults, fault);
        return status;
    }
    fault->next_ms = now_ms + fault->after_ms;
    fault->id = ++faults->last_id;
    kt_fault **end = &faults->first;
    while (*end)
        end = &(*end)->next;
    *end = fault;
    faults->count++;
    if (ret_id)
        *ret_id = fault->id;
    if (faults->changed)
        faults->changed(faults->user);
    return KI_OK;
}

ki_status kt_faults_remove(kt_faults *faults, uint64_t id, ki_error *err) {
    for (kt_fault **place = &faults->first; *place; place = &(*place)->next) {
        kt_fault *fault = *place;
        if (fault->id != id)
            continue;
        *place = fault->next;
        faults->count--;
        free_fault(faults, fault);
        return KI_OK;
    }
    return ki_error_set(err, KI_ERR_NOT_FOUND, "there is no fault %" PRIu64, id);
}

void kt_faults_keep_start(kt_faults *faults) {
    for (kt_fault *fault = faults->first; fault; fault = fault->next)
        fault->is_start = true;
}

void kt_faults_return_to_start(kt_faults *faults, int64_t now_ms) {
    for (kt_fault **place = &faults->first; *place;) {
        kt_fault *fault = *place;
        if (!fault->is_start) {
            *place = fault->next;
            faults->count--;
            free_fault(faults, fault);
            continue;
        }
        fault->requests = fault->injected = 0;
        fault->added_ms = now_ms;
        fault->next_ms = now_ms + fault->after_ms;
        place = &fault->next;
    }
    if (faults->first && faults->changed)
        faults->changed(faults->user);
}

ki_status kt_faults_injected(const kt_faults *faults, uint64_t id, uint64_t *ret_count, ki_error *err) {
    for (const kt_fault *fault = faults->first; fault; fault = fault->next) {
        if (fault->id != id)
            continue;
        *ret_count = fault->injected;
        return KI_OK;
    }
    return ki_error_set(err, KI_ERR_NOT_FOUND, "there is no fault %" PRIu64, id);
}

ki_status kt_faults_append(const kt_faults *faults, ki_buffer *out) {
    ki_buffer_append_string(out, "{\"faults\":[");
    for (const kt_fault *fault = faults->first; fault; fault = fault->next) {
        ki_buffer_printf(out, "%s{\"id\":%" PRIu64 ",\"fault\":", fault == faults->first ? "" : ",", fault->id);
        ki_buffer_append_json_string(out, ki_str_of(fault->spec.text));
        ki_buffer_printf(out, ",\"requests\":%" PRIu64 ",\"injected\":%" PRIu64 "}", fault->requests, fault->injected);
    }
    return ki_buffer_append_string(out, "]}");
}

/* ---- matching ---- */

/* Returns true if a fault can apply to a call. Faults of watches or lists ignore other requests and do not count
 * them. */
static bool can_apply(const kt_fault *fault, const kt_call *call) {
    bool watch = call->storage && kt_call_is_watch(call);
    bool list = call->storage && !call->name.size && !watch && strcmp(call->request->method, "GET") == 0;
    if (fault->kind == KT_FAULT_SHUFFLE || fault->kind == KT_FAULT_NO_END)
        return watch && ki_str_equals(kt_call_param(call, "sendInitialEvents"), "true");
    if (is_watch_fault(fault->kind))
        return watch;
    if (is_list_fault(fault->kind))
        return list && !ki_str_starts_with(kt_call_param(call, "continue"), KI_STR("again."));
    if (is_read_fault(fault->kind))
        return watch || list;
    return !is_action(fault->kind);
}

static bool is_due(kt_faults *faults, kt_fault *fault, const kt_call *call, const kt_request_facts *facts) {
    int64_t age = call->now_ms - fault->added_ms;
    if (!can_apply(fault, call) || age < fault->after_ms || age > fault->until_ms ||
        !kt_request_matches(&fault->spec, facts))
        return false;
    fault->requests++;
    int64_t n = 0;
    (void)kt_spec_number(&fault->spec, "n", 1, INT64_MAX, &n, NULL);
    if (fault->count && fault->injected >= (uint64_t)fault->count)
        return false;
    if (n && fault->requests != (uint64_t)n)
        return false;
    if (fault->every && fault->requests % (uint64_t)fault->every)
        return false;
    if (fault->percent < 100 && next_random(&faults->random) % 100 >= (uint64_t)fault->percent)
        return false;
    fault->injected++;
    return true;
}

void kt_injection_free(kt_injection *injection, const ki_allocator *allocator) {
    ki_free(allocator, injection->error_frame);
    injection->error_frame = NULL;
}

/* Returns an argument that check_arguments has checked. */
static int64_t number(const kt_fault *fault, const char *name, int64_t otherwise) {
    (void)kt_spec_number(&fault->spec, name, 0, INT64_MAX, &otherwise, NULL);
    return otherwise;
}

static ki_status error_event(kt_call *call, const kt_fault *fault, kt_injection *injection) {
    ki_free(call->allocator, injection->error_frame);
    injection->error_at = number(fault, "event", 1);
    injection->error_frame = kt_fault_error_frame(call, &fault->spec);
    return injection->error_frame ? KI_OK : KI_ERR_NO_MEMORY;
}

static ki_status apply(kt_call *call, const kt_fault *fault, kt_injection *injection) {
    const kt_spec *spec = &fault->spec;
    switch (fault->kind) {
    case KT_FAULT_STATUS:
        return kt_fault_respond_status(call, spec);
    case KT_FAULT_ERROR_EVENT:
        return error_event(call, fault, injection);
    case KT_FAULT_TOO_LARGE:
        if (kt_call_is_watch(call) && kt_spec_get(spec, "as").size)
            return error_event(call, fault, injection);
        return kt_fault_respond_too_large(call, spec);
    case KT_FAULT_GARBAGE:
        return kt_fault_respond_garbage(call, spec);
    case KT_FAULT_CLOSE:
        injection->close = true;
        break;
    case KT_FAULT_CLOSE_AFTER:
        injection->close_after = true;
        break;
    case KT_FAULT_DELAY:
        (void)kt_spec_duration_ms(spec, "time", &injection->delay_ms, NULL);
        break;
    case KT_FAULT_EMPTY_PAGE:
        return kt_fault_empty_page(call);
    case KT_FAULT_STALE:
        injection->stale_by = number(fault, "events", 1);
        break;
    case KT_FAULT_REPEAT:
        injection->repeat_by = number(fault, "events", 1);
        break;
    case KT_FAULT_END:
        injection->end_at = number(fault, "event", 0);
        break;
    case KT_FAULT_CUT:
        injection->cut_at = number(fault, "bytes", 0);
        break;
    case KT_FAULT_SILENT:
        injection->silent_at = number(fault, "bytes", 0);
        break;
    case KT_FAULT_LOSE:
        injection->lose = number(fault, "event", 1);
        break;
    case KT_FAULT_AGAIN:
        injection->again.at = number(fault, "event", 1);
        injection->again.times = number(fault, "times", 1);
        break;
    case KT_FAULT_BAD_EVENT:
        injection->bad = number(fault, "event", 1);
        injection->bad_which = number(fault, "which", 0);
        break;
    case KT_FAULT_HUGE_EVENT:
        injection->huge = number(fault, "event", 1);
        injection->huge_bytes = number(fault, "bytes", 4 * 1024 * 1024);
        break;
    case KT_FAULT_AHEAD:
        injection->ahead = number(fault, "event", 1);
        break;
    case KT_FAULT_SHUFFLE:
        injection->shuffle = true;
        break;
    case KT_FAULT_NO_END:
        injection->no_end = true;
        break;
    case KT_FAULT_NO_BOOKMARK:
        injection->no_bookmark = true;
        break;
    case KT_FAULT_CHUNKS:
        injection->chunk = number(fault, "size", 1);
        break;
    case KT_FAULT_BANDWIDTH:
        injection->bytes_a_second = number(fault, "rate", 1024);
        break;
    default:
        break;
    }
    return KI_OK;
}

ki_status kt_faults_inject(kt_faults *faults, kt_call *call, kt_injection *injection) {
    ki_status status = KI_OK;
    kt_facts_space space;
    const kt_request_facts facts = kt_request_facts_of(call, &space);
    for (kt_fault *fault = faults->first; fault && !status; fault = fault->next) {
        if (!is_due(faults, fault, call, &facts))
            continue;
        if (!injection->any)
            injection->random = next_random(&faults->random);
        injection->any = true;
        status = apply(call, fault, injection);
    }
    return status;
}

bool kt_faults_next_action(kt_faults *faults, int64_t now_ms, kt_action *ret_action, int64_t *ret_next_ms) {
    *ret_next_ms = INT64_MAX;
    for (kt_fault *fault = faults->first; fault; fault = fault->next) {
        int64_t times = fault->count ? fault->count : fault->every ? INT64_MAX : 1;
        if (!is_action(fault->kind) || (int64_t)fault->injected >= times)
            continue;
        if (fault->next_ms > now_ms) {
            *ret_next_ms = fault->next_ms < *ret_next_ms ? fault->next_ms : *ret_next_ms;
            continue;
        }
        fault->injected++;
        fault->next_ms = now_ms + (fault->every ? fault->every : 1);
        *ret_action = (kt_action){ .kind = fault->kind, .events = number(fault, "events", 1) };
        (void)kt_spec_duration_ms(&fault->spec, "down", &ret_action->down_ms, NULL);
        return true;
    }
    return false;
}
