/* fetch.h: an object from an informer's cache, or else from the API server: for a program that cannot wait for the
 * cache, or whose role may get objects but not list and watch them.
 *
 *     ki_status status = ki_informer_get_or_fetch(pods, "shop/web-1", 500, &pod, &err);
 *     if (status == KI_ERR_NOT_FOUND) …              there is no such pod
 *     else if (ki_error_is_forbidden(&err)) …        the role may not get pods
 *     else if (status == KI_ERR_TIMEOUT) …           unknown: the object gives 500, or the server is away
 *
 * All who ask for a key at the same time wait for one request (GET). It counts towards the client's rate limit and its
 * requests in flight (client.h), of which an informer takes half: many keys at once wait here, in the order in which
 * they were asked for. The result is remembered, whether an object, "there is none" or an error response, so that a
 * program can ask for each of a thousand log lines a second: an object for 5 s, while the informer is blocked for 10
 * min, or for ki_informer_options.keep_fetched_ms; the rest for 5 s at most. Up to ki_informer_options.keep_fetched_max
 * names are remembered; the oldest go first. What the cache has comes first, and a deletion that the cache sees ends
 * what is remembered of the object.
 *
 * A failed request, for lack of a response or with HTTP 429 or 5xx, is repeated after a growing delay, or after its
 * Retry-After of up to a day, while somebody waits. Until then the failure counts: who cannot wait that long gets it
 * at once. A response counts for its own key only. A failure without a response, if no other request had one since the
 * failed one was sent, counts for every key: the server is away. That is known at once if nothing accepts connections.
 * A server that is frozen, and takes requests without a response, is away only once a request has failed: after
 * KI_CLIENT_TIMEOUT_MS (30 s). Until then, also at each new attempt, each new key costs its first caller the whole time
 * limit. Nobody waits for a request that has taken as long as that wait would: of many who ask for one key in turn, the
 * first waits its time limit for each attempt, and the others do not.
 *
 * A fetched object is made as the informer makes its own, with view and transform; with KI_KEEP_METADATA it has no more
 * than the cache's, with KI_KEEP_VIEW and KI_KEEP_KEYS no content. It is not added to the cache, and handlers are not
 * called for it. Deleted objects that are kept (lister.h) are not returned. But if the server no longer has an object
 * that was fetched before, its last fetched state is kept as a deleted object, for ki_informer_options.keep_deleted_ms:
 * ki_informer_get_or_deleted finds it after KI_ERR_NOT_FOUND. For that it is remembered for as long after its time.
 *
 * The namespaces of a set or of `.allowed_namespaces` do not limit what is fetched. An informer must be started, and
 * may be in any state: not synced, or blocked because its role cannot list. */
#ifndef KINFORMER_FETCH_H
#define KINFORMER_FETCH_H

#include <kinformer/factory.h>

KI_BEGIN_DECLS

/* How long and how much is remembered, unless ki_informer_options.keep_fetched_ms and .keep_fetched_max say more. */
enum {
    KI_FETCH_REMEMBERED_MS = 5000,
    KI_FETCH_BLOCKED_MS = 600000, /* an object, while the informer is blocked */
    KI_FETCH_MAX_REMEMBERED = 1000
};

/* Gets the object under `key` ("namespace/name", or "name") from the cache, else fetches it, within `timeout_ms` (< 0:
 * no limit).
 * Ownership: `*ret_obj` is a reference that the caller releases with ki_object_unref. Threads: any thread of the
 * program, outside handlers. Blocks: yes, unless the cache has the object or the result is remembered.
 * Errors: KI_ERR_NOT_FOUND (there is no such object, or the informer's selectors exclude it; the message has the
 * resource version of the cache, if it has one, after which the server said so), KI_ERR_HTTP (an error
 * response, such as 403: ki_error_is_forbidden), KI_ERR_TIMEOUT (unknown, also before the time limit: category,
 * http_status, reason and retry_after_ms are those of the last failure, whose message follows; http_status 0: no
 * response),
 * KI_ERR_CANCELLED (the informer is stopped or removed), KI_ERR_INVALID (the key, or a namespace that is not the
 * informer's), KI_ERR_PARSE and KI_ERR_LIMIT (the object), KI_ERR_DEADLOCK (called in a handler, on the loop's thread,
 * or on the thread that steps the engine), KI_ERR_STATE (an informer by name whose resource is not found yet; the
 * factory is not started, or nothing drives the engine that it was given),
 * KI_ERR_UNSUPPORTED (an informer with a source of the program's own), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_get_or_fetch(ki_informer *informer, const char *key, int64_t timeout_ms,
                                                        ki_object **ret_obj, ki_error *err);

/* Receives the end of ki_informer_get_or_fetch_async. `obj` is borrowed. `err` is NULL exactly when `obj` is not; its
 * code is one of ki_informer_get_or_fetch. Threads: called on the loop; must not block. */
typedef void (*ki_fetch_handler)(ki_informer *informer, const char *key, const ki_object *obj, const ki_error *err,
                                 void *user) KI_NOEXCEPT;
/* Calls `handler` once with the object under `key`, from the cache or else fetched; does not wait. The handler is never
 * called from inside this function. The timeout counts on the engine's clock. When the informer or the factory stops,
 * also by ki_engine_stop, the handler is called with KI_ERR_CANCELLED, at the latest in ki_factory_free.
 * Ownership: `key` is copied; `user` must stay valid until the call. Threads: any, also in a handler. Blocks: no.
 * Errors, after which the handler is not called: KI_ERR_INVALID, KI_ERR_CANCELLED, KI_ERR_STATE, KI_ERR_UNSUPPORTED,
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_get_or_fetch_async(ki_informer *informer, const char *key,
                                                              int64_t timeout_ms, ki_fetch_handler handler, void *user,
                                                              ki_error *err);
/* Cancels all calls of ki_informer_get_or_fetch_async with this handler and user. The loop then calls the handler with
 * KI_ERR_CANCELLED for each.
 * Threads: any, also in a handler. Blocks: no.
 * Errors: KI_ERR_NOT_FOUND (each has ended, and its call has been made or is coming). */
KI_API KI_MUST_CHECK ki_status ki_informer_cancel_fetches(ki_informer *informer, ki_fetch_handler handler, void *user,
                                                          ki_error *err);

KI_END_DECLS

#endif
