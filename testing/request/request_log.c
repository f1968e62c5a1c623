/* request_log.c: see request_log.h. */
#include "testing/request/request_log.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/call.h"

enum {
    TEXTS = 8
};

/* The texts of a request, in the order in which they lie behind it. */
typedef struct request_texts {
    ki_str texts[TEXTS]; /* verb, resource, namespace, name, target, user agent, user, body */
    int status;
    uint64_t number;
    int64_t time_ms;
} request_texts;

void kt_request_log_init(kt_request_log *log, const ki_allocator *allocator) {
    *log = (kt_request_log){ .allocator = allocator };
    ki_ring_init(&log->requests, allocator, sizeof(ki_testing_request *));
}

static size_t size_of(const request_texts *from) {
    size_t size = sizeof(ki_testing_request);
    for (size_t i = 0; i < TEXTS; i++)
        size += from->texts[i].size + 1;
    return size;
}

/* Fills a block of size_of() bytes. */
static void fill(void *block, const request_texts *from) {
    ki_testing_request *request = block;
    char *at = (char *)block + sizeof *request;
    const char *texts[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) {
        size_t size = from->texts[i].size;
        if (size)
            memcpy(at, from->texts[i].data, size);
        at[size] = '\0';
        texts[i] = at;
        at += size + 1;
    }
    *request = (ki_testing_request){ .verb = texts[0],
                                     .resource = texts[1],
                                     .namespace_name = texts[2],
                                     .name = texts[3],
                                     .target = texts[4],
                                     .user_agent = texts[5],
                                     .user = texts[6],
                                     .body = texts[7],
                                     .body_size = from->texts[7].size,
                                     .status = from->status,
                                     .number = from->number,
                                     .time_ms = from->time_ms };
}

static request_texts texts_of(const ki_testing_request *request) {
    return (request_texts){ .texts = { ki_str_of(request->verb),
                                       ki_str_of(request->resource),
                                       ki_str_of(request->namespace_name),
                                       ki_str_of(request->name),
                                       ki_str_of(request->target),
                                       ki_str_of(request->user_agent),
                                       ki_str_of(request->user),
                                       { request->body, request->body_size } },
                            .status = request->status,
                            .number = request->number,
                            .time_ms = request->time_ms };
}

static void drop_oldest(kt_request_log *log) {
    ki_testing_request *request = NULL;
    if (!ki_ring_pop(&log->requests, &request))
        return;
    const request_texts texts = texts_of(request);
    KI_ASSERT(log->size >= size_of(&texts));
    log->size -= size_of(&texts);
    ki_free(log->allocator, request);
}

void kt_request_log_clear(kt_request_log *log) {
    while (log->requests.count)
        drop_oldest(log);
    const uint64_t last = log->last;
    ki_ring_free(&log->requests);
    kt_request_log_init(log, log->allocator);
    log->last = last;
}

void kt_request_log_add(kt_request_log *log, const kt_call *call, int status) {
    KT_HOLDS(call->cluster);
    kt_facts_space space;
    const kt_request_facts facts = kt_request_facts_of(call, &space);
    const ki_buffer *decoded = &call->decoded;
    request_texts from = { .texts = { facts.verb, facts.resource, facts.ns, facts.name,
                                      ki_str_of(call->request->target), facts.user_agent, call->user.name,
                                      decoded->size ? (ki_str){ decoded->data, decoded->size } : call->request->body },
                           .status = status,
                           .number = log->last + 1,
                           .time_ms = call->now_ms };
    for (size_t i = 0; i < TEXTS - 1; i++) /* all but the body end at a zero byte, as a target's %00 */
        from.texts[i].size = from.texts[i].size ? strnlen(from.texts[i].data, from.texts[i].size) : 0;
    const size_t size = size_of(&from);
    while (log->requests.count &&
           (log->requests.count >= KI_TESTING_REQUESTS_MAX_COUNT || log->size + size > KI_TESTING_REQUESTS_MAX_BYTES)) {
        drop_oldest(log);
        log->dropped++;
    }
    void *block = ki_alloc(log->allocator, size);
    if (!block || ki_ring_push(&log->requests, &block)) {
        ki_free(log->allocator, block);
        log->is_short = true;
        return;
    }
    fill(block, &from);
    log->last++;
    log->size += size;
    KI_ASSERT(log->requests.count <= KI_TESTING_REQUESTS_MAX_COUNT);
}

static bool is_match(const ki_testing_request *request, const kt_spec *match) {
    ki_str rest;
    const kt_request_facts facts = { .verb = ki_str_of(request->verb),
                                     .resource = { request->resource[0] ? request->resource : NULL,
                                                   strlen(request->resource) },
                                     .ns = ki_str_of(request->namespace_name),
                                     .name = ki_str_of(request->name),
                                     .path = ki_str_split(ki_str_of(request->target), '?', &rest),
                                     .user_agent = ki_str_of(request->user_agent) };
    return kt_request_matches(match, &facts);
}

const ki_testing_request *kt_request_log_next(const kt_request_log *log, const kt_spec *match, uint64_t since,
                                              size_t *at) {
    while (*at < log->requests.count) {
        ki_testing_request *const *place = ki_ring_at(&log->requests, (*at)++);
        if ((*place)->number > since && is_match(*place, match))
            return *place;
    }
    return NULL;
}

size_t kt_request_log_count(const kt_request_log *log, const kt_spec *match, uint64_t since) {
    size_t count = 0, at = 0;
    while (kt_request_log_next(log, match, since, &at))
        count++;
    return count;
}

ki_status kt_request_log_copy(const kt_request_log *log, const kt_spec *match, ki_testing_requests *ret_requests) {
    const size_t count = kt_request_log_count(log, match, 0);
    ki_testing_requests copy = { .dropped = log->dropped, .owner = log->allocator };
    size_t at = 0;
    if (log->is_short)
        return KI_ERR_NO_MEMORY;
    copy.requests = ki_alloc_array(log->allocator, count + 1, sizeof(ki_testing_request *));
    if (!copy.requests)
        return KI_ERR_NO_MEMORY;
    for (const ki_testing_request *request; (request = kt_request_log_next(log, match, 0, &at));) {
        const request_texts texts = texts_of(request);
        void *block = ki_alloc(log->allocator, size_of(&texts));
        if (!block) {
            ki_testing_requests_clear(&copy);
            return KI_ERR_NO_MEMORY;
        }
        fill(block, &texts);
        copy.requests[copy.count++] = block;
    }
    *ret_requests = copy;
    return KI_OK;
}

void ki_testing_requests_clear(ki_testing_requests *requests) {
    if (!requests || !requests->owner)
        return;
    for (size_t i = 0; i < requests->count; i++)
        ki_free(requests->owner, requests->requests[i]);
    ki_free(requests->owner, requests->requests);
    *requests = (ki_testing_requests)KI_TESTING_REQUESTS_INIT;
}
