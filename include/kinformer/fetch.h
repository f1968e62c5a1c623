/* fetch.h: an object from an informer's cache, or else from the API server: for a program that cannot wait for the
 * cache, or whose role may get objects but not list and watch them.
 *
 *     ki_status status = ki_informer_get_or_fetch(pods, "shop/web-1", 500, &pod, &err);
 *     if (status == KI_ERR_NOT_FOUND) …              there is no such pod
 *     else if (ki_error_is_forbidden(&err)) …        the role may not get pods
 *     else if (status == KI_ERR_TIMEOUT) …           unknown: the object gives 500, or the server is away
 *
 * One request (GET) serves all who ask for a key at the same time. It counts towards the client's rate limit and its
 * requests in flight (client.h). An informer takes half of these; further keys wait in the order in which they were
 * asked for.
 *
 * The result is remembered, so that a program can ask for each line of a log. An object is remembered for 5 s, or for
 * 10 min while the informer is blocked, or for ki_factory_options.keep_fetched_ms; "there is none" and an error
 * response for 5 s at most. Up to ki_factory_options.keep_fetched_max names are remembered; the oldest go first. An
 * object of the cache comes before a remembered one. A deletion that the cache sees ends what is remembered.
 *
 * If the cache has got the object when the response comes, the newer one of both is the result. It is the cache's also
 * if the server has none: the result is then as old as the cache, whose watch brings the deletion.
 *
 * A request that fails without a response, or with HTTP 429 or 5xx, is repeated while somebody waits: after a growing
 * delay, or after its Retry-After of up to a day. A caller whose time limit ends before the next attempt gets the
 * failure at once. A response counts for its own key. A failure without a response counts for every key, unless another
 * request has had a response since the failed one was sent: the server is away. That is known at once if nothing
 * accepts connections. A server that takes requests and does not respond counts as away after KI_CLIENT_TIMEOUT_MS
 * (30 s). Until then, and at each new attempt, the first caller of each key waits for its whole time limit. A caller
 * does not wait for a request that has already taken as long as the caller's time limit.
 *
 * A fetched object is made as the informer makes its own, with view and transform; with KI_KEEP_METADATA it has no more
 * than the cache's, with KI_KEEP_VIEW and KI_KEEP_KEYS no content. It is not added to the cache, and handlers are not
 * called for it. Deleted objects that are kept (lister.h) are not returned. If the server no longer has an object that
 * was fetched before, the last fetched state becomes a deleted object, for ki_informer_options.keep_deleted_ms:
 * ki_informer_get_or_deleted returns it after KI_ERR_NOT_FOUND.
 *
 * The namespaces of a set do not limit what is fetched. An informer must be started, and
 * may be in any state: not synced, or blocked because its role cannot list. */
#ifndef KINFORMER_FETCH_H
#define KINFORMER_FETCH_H

#include <kinformer/factory.h>

KI_BEGIN_DECLS

/* How long and how much is remembered, unless ki_factory_options.keep_fetched_ms and .keep_fetched_max say more. */
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
