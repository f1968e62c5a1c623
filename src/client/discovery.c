/* discovery.c: requests a server's resources and keeps the result.
 *
 *     /api and /apis at once ──► both aggregated: read them
 *                            └─► else /api/V and /apis/G/V for each version, AT_ONCE at a time;
 *                                a failed version is recorded
 *
 * A fetch (one round of requests) is used on the loop only. It lives until its last request has ended, also after the
 * discovery was freed. */
#include "src/client/client.h"
#include "src/client/resource_map.h"

#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/base/options.h"

#include <stdio.h>

enum {
    ROOTS = 2,
    AT_ONCE = 16, /* concurrent requests for groups and versions */
    PATH_MAX_SIZE = 3 * KI_DISCOVERY_NAME_MAX
};

static const char *const roots[ROOTS] = { "/api", "/apis" };
static const char accept_aggregated[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

typedef struct pending_callback {
    struct pending_callback *next, *previous;
    ki_discovery_function on_map;
    void *user;
} pending_callback;

typedef struct fetch fetch;

struct ki_discovery {
    /* constant */
    ki_client *client;
    const ki_allocator *allocator;
    int64_t refresh_ms, timeout_ms;
    uint64_t seed;
    /* under `mutex` */
    ki_mutex mutex;
    ki_resource_map *map; /* NULL: no fetch has succeeded yet */
    int64_t fetched_at;
    pending_callback *first; /* callbacks that wait for the next result */
    bool is_closed;
    /* loop only */
    ki_task begin;
    fetch *fetch; /* under way, or NULL */
};

/* One request, for a root or for a group and version. */
typedef struct part {
    fetch *owner;
    ki_response *response; /* NULL: the request failed */
} part;

struct fetch {
    ki_discovery *discovery; /* NULL: the discovery was freed */
    const ki_allocator *allocator;
    part roots[ROOTS];
    ki_error err; /* a root's error, other than 404 */
    ki_group_versions versions;
    part *parts;  /* one for each of `versions` */
    size_t bytes; /* of all successful responses, kept or not */
    size_t next;
    size_t pending; /* requests under way */
};

/* --- the end of a fetch ------------------------------------------------------------------------------------------- */

static void free_fetch(fetch *self) {
    for (int i = 0; i < ROOTS; i++)
        ki_response_unref(self->roots[i].response);
    for (size_t i = 0; self->parts && i < self->versions.count; i++)
        ki_response_unref(self->parts[i].response);
    ki_free(self->allocator, self->parts);
    ki_free(self->allocator, self->versions.items);
    ki_free(self->allocator, self);
}

static pending_callback *take_callbacks(ki_discovery *discovery) {
    ki_mutex_lock(&discovery->mutex);
    pending_callback *list = discovery->first;
    discovery->first = NULL;
    ki_mutex_unlock(&discovery->mutex);
    return list;
}

static void run_callbacks(const ki_allocator *allocator, pending_callback *list, const ki_resource_map *map,
                          const ki_error *err) {
    while (list) {
        pending_callback *next = list->next;
        list->on_map(map, err, list->user);
        ki_free(allocator, list);
        list = next;
    }
}

/* Ends the fetch: keeps the map (takes the reference; NULL: failure) and runs the waiting callbacks. A callback may
 * free the discovery. */
static void finish(fetch *self, ki_resource_map *map, const ki_error *err) {
    ki_discovery *discovery = self->discovery;
    const ki_allocator *allocator = self->allocator;
    discovery->fetch = NULL;
    free_fetch(self);
    if (map) {
        ki_mutex_lock(&discovery->mutex);
        ki_resource_map *old = discovery->map;
        discovery->map = ki_resource_map_ref(map);
        discovery->fetched_at = ki_engine_now(discovery->client->engine);
        ki_mutex_unlock(&discovery->mutex);
        ki_resource_map_unref(old);
    }
    run_callbacks(allocator, take_callbacks(discovery), map, err);
    ki_resource_map_unref(map);
}

static ki_str body_of(const ki_response *response) {
    ki_str body;
    body.data = ki_response_body(response, &body.size);
    return body;
}

static bool is_core(const ki_group_version *version) {
    return !version->group[0];
}

/* Adds the versions of one root in order. A version without a usable response is added as failed. */
static ki_status add_unaggregated(fetch *self, ki_resource_map *map, bool core, ki_error *err) {
    ki_status status = KI_OK;
    for (size_t i = 0; i < self->versions.count && !status; i++) {
        const ki_group_version *version = &self->versions.items[i];
        if (is_core(version) != core)
            continue;
        const ki_response *response = self->parts[i].response;
        status = response ? ki_resource_map_add_list(map, version->group, version->version, version->preferred,
                                                     body_of(response), err)
                          : KI_ERR_PARSE;
        if (status == KI_ERR_PARSE) {
            ki_error_clear(err);
            status = ki_resource_map_add_failed(map, version->group, version->version)
                         ? ki_error_no_memory(err, "reading discovery")
                         : KI_OK;
        }
    }
    return status;
}

static ki_status build(fetch *self, ki_resource_map *map, ki_error *err) {
    ki_status status = KI_OK;
    for (int root = 0; root < ROOTS && !status; root++) {
        const ki_response *response = self->roots[root].response;
        if (response && ki_discovery_is_aggregated(self->allocator, body_of(response)))
            status = ki_resource_map_add_aggregated(map, body_of(response), err);
        else
            status = add_unaggregated(self, map, root == 0, err);
    }
    if (!status && ki_resource_map_close(map))
        status = ki_error_no_memory(err, "reading discovery");
    return status;
}

static void conclude(fetch *self) {
    ki_error err = KI_ERROR_INIT;
    ki_resource_map *map = ki_resource_map_new(self->allocator, self->discovery->seed);
    ki_status status = map ? KI_OK : ki_error_no_memory(&err, "reading discovery");
    if (!status && self->bytes > KI_DISCOVERY_BYTES_MAX)
        status = ki_error_set(&err, KI_ERR_LIMIT, "discovery: the server's documents have more than %d bytes",
                              KI_DISCOVERY_BYTES_MAX);
    if (!status)
        status = build(self, map, &err);
    if (status) {
        ki_resource_map_unref(map);
        map = NULL;
    }
    finish(self, map, status ? &err : NULL);
}

/* --- groups and versions one by one ------------------------------------------------------------------------------- */

static void send_next(fetch *self);

/* Counts the response's bytes. Returns NULL once the sum exceeds the limit. */
static ki_response *keep(fetch *self, const ki_response *response) {
    self->bytes += body_of(response).size;
    return self->bytes > KI_DISCOVERY_BYTES_MAX ? NULL : ki_response_ref(response);
}

static void on_part(const ki_response *response, const ki_error *err, void *user) {
    part *at = user;
    fetch *self = at->owner;
    if (!err)
        at->response = keep(self, response);
    self->pending--;
    if (self->discovery)
        send_next(self);
    else if (self->pending == 0)
        free_fetch(self);
}

static ki_status send_request(fetch *self, const char *path, const char *accept, size_t response_max,
                              ki_response_handler on_response, void *user, ki_error *err) {
    const ki_request_options options = KI_REQUEST_OPTIONS(.timeout_ms = self->discovery->timeout_ms);
    const ki_client_request request =
        KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = path, .accept = accept, .options = &options);
    ki_status status = ki_pending_request_start(self->discovery->client, &request, KI_REQUEST_INTERNAL, response_max,
                                                on_response, user, NULL, err);
    if (!status)
        self->pending++;
    return status;
}

/* Sends requests for further versions. A request that cannot be sent counts as failed. */
static void send_next(fetch *self) {
    while (self->next < self->versions.count && self->pending < AT_ONCE && self->bytes <= KI_DISCOVERY_BYTES_MAX) {
        size_t at = self->next++;
        const ki_group_version *version = &self->versions.items[at];
        char path[PATH_MAX_SIZE];
        snprintf(path, sizeof path, "%s%s/%s", is_core(version) ? "/api" : "/apis/", version->group, version->version);
        self->parts[at].owner = self;
        (void)send_request(self, path, NULL, KI_DISCOVERY_GROUP_BYTES_MAX, on_part, &self->parts[at], NULL);
    }
    if (self->pending == 0)
        conclude(self);
}

/* --- the two roots ------------------------------------------------------------------------------------------------ */

/* Runs when both roots have ended. */
static void roots_done(fetch *self) {
    ki_error err = self->err;
    ki_status status = err.code;
    for (int i = 0; i < ROOTS && !status; i++) {
        const ki_response *response = self->roots[i].response;
        if (response && !ki_discovery_is_aggregated(self->allocator, body_of(response)))
            status = ki_group_versions_add(self->allocator, &self->versions, body_of(response), &err);
    }
    if (!status && !self->roots[0].response && !self->roots[1].response)
        status = ki_error_set(&err, KI_ERR_PROTOCOL, "neither /api nor /apis is there: is it a Kubernetes API server?");
    if (!status && self->versions.count) {
        self->parts = ki_alloc_zero(self->allocator, self->versions.count * sizeof *self->parts);
        if (!self->parts)
            status = ki_error_no_memory(&err, "reading discovery");
    }
    if (status) {
        ki_error_prefix(&err, "discovery");
        finish(self, NULL, &err);
        return;
    }
    send_next(self);
}

static void on_root(const ki_response *response, const ki_error *err, void *user) {
    part *at = user;
    fetch *self = at->owner;
    if (!err)
        at->response = keep(self, response);
    else if (!ki_error_is_not_found(err))
        self->err = *err; /* a 404 of one root leaves the other usable */
    self->pending--;
    if (self->pending > 0)
        return;
    if (self->discovery)
        roots_done(self);
    else
        free_fetch(self);
}

static void begin_fetch(ki_task *task, void *user) {
    (void)task;
    ki_discovery *discovery = user;
    if (discovery->fetch)
        return; /* the running fetch serves all waiting callbacks */
    ki_error err = KI_ERROR_INIT;
    fetch *self = ki_alloc_zero(discovery->allocator, sizeof *self);
    if (!self) {
        ki_error_no_memory(&err, "requesting resources");
        run_callbacks(discovery->allocator, take_callbacks(discovery), NULL, &err);
        return;
    }
    self->discovery = discovery;
    self->allocator = discovery->allocator;
    self->err = err;
    discovery->fetch = self;
    for (int i = 0; i < ROOTS; i++) {
        self->roots[i].owner = self;
        if (send_request(self, roots[i], accept_aggregated, KI_DISCOVERY_BYTES_MAX / ROOTS, on_root, &self->roots[i],
                         &err))
            self->err = err;
    }
    if (self->pending == 0)
        finish(self, NULL, &err);
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

ki_status ki_discovery_new(ki_client *client, const ki_discovery_options *options, ki_discovery **ret_discovery,
                           ki_error *err) {
    ki_discovery_options given;
    if (!client || !ret_discovery)
        return ki_error_set(err, KI_ERR_INVALID, "ki_discovery_new: client or ret_discovery is NULL");
    if (ki_engine_check_process(client->engine, err))
        return KI_ERR_STATE;
    if (KI_OPTIONS_TAKE(options, &given, "KI_DISCOVERY_OPTIONS", err))
        return KI_ERR_INVALID;
    ki_discovery *discovery = ki_alloc_zero(client->allocator, sizeof *discovery);
    if (!discovery)
        return ki_error_no_memory(err, "making a discovery");
    ki_status status = ki_mutex_init(&discovery->mutex, err);
    if (status) {
        ki_free(client->allocator, discovery);
        return status;
    }
    discovery->client = client;
    discovery->allocator = client->allocator;
    discovery->refresh_ms = given.refresh_ms > 0 ? given.refresh_ms : KI_DISCOVERY_REFRESH_MS;
    discovery->timeout_ms = given.timeout_ms > 0 ? given.timeout_ms : KI_CLIENT_TIMEOUT_MS;
    /* The seed only has to differ between programs. */
    discovery->seed = (uint64_t)(uintptr_t)discovery ^ (uint64_t)ki_engine_now(client->engine);
    ki_task_init(&discovery->begin, client->engine, begin_fetch, discovery);
    *ret_discovery = discovery;
    return KI_OK;
}

static void close_on_loop(void *user) {
    ki_discovery *discovery = user;
    ki_error err = KI_ERROR_INIT;
    ki_mutex_lock(&discovery->mutex);
    discovery->is_closed = true;
    ki_mutex_unlock(&discovery->mutex);
    ki_task_cancel(&discovery->begin);
    if (discovery->fetch)
        discovery->fetch->discovery = NULL; /* its requests end by themselves and free it */
    discovery->fetch = NULL;
    ki_error_set(&err, KI_ERR_CANCELLED, "the discovery was freed");
    run_callbacks(discovery->allocator, take_callbacks(discovery), NULL, &err);
}

void ki_discovery_free(ki_discovery *discovery) {
    if (!discovery || ki_engine_is_forked(discovery->client->engine))
        return;
    ki_engine_call(discovery->client->engine, close_on_loop, discovery);
    ki_resource_map_unref(discovery->map);
    ki_mutex_destroy(&discovery->mutex);
    ki_free(discovery->allocator, discovery);
}

ki_status ki_discovery_refresh(ki_discovery *discovery, ki_discovery_function on_map, void *user, ki_error *err) {
    if (!discovery || !on_map)
        return ki_error_set(err, KI_ERR_INVALID, "ki_discovery_refresh: the discovery or the callback is missing");
    if (ki_engine_check_process(discovery->client->engine, err))
        return KI_ERR_STATE;
    pending_callback *more = ki_alloc_zero(discovery->allocator, sizeof *more);
    if (!more)
        return ki_error_no_memory(err, "requesting resources");
    *more = (pending_callback){ .on_map = on_map, .user = user };
    ki_mutex_lock(&discovery->mutex);
    bool closed = discovery->is_closed || ki_engine_is_stopping(discovery->client->engine);
    if (!closed) {
        KI_LIST_APPEND(discovery->first, more);
        ki_task_post(&discovery->begin);
    }
    ki_mutex_unlock(&discovery->mutex);
    if (!closed)
        return KI_OK;
    ki_free(discovery->allocator, more);
    return ki_error_set(err, KI_ERR_STATE, "the client's engine has ended");
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

typedef struct waiter {
    ki_refcount refs;
    ki_engine *engine;
    const ki_allocator *allocator;
    bool done; /* set by ki_engine_notify */
    ki_resource_map *map;
    ki_error err;
} waiter;

static void drop(waiter *waiting) {
    if (!ki_refcount_dec(&waiting->refs))
        return;
    ki_resource_map_unref(waiting->map);
    ki_free(waiting->allocator, waiting);
}

static void on_map(const ki_resource_map *map, const ki_error *err, void *user) {
    waiter *waiting = user;
    waiting->map = ki_resource_map_ref(map);
    if (err)
        waiting->err = *err;
    ki_engine_notify(waiting->engine, &waiting->done);
    drop(waiting);
}

static int64_t longest_wait_ns(const ki_discovery *discovery) {
    int64_t ms = discovery->timeout_ms;
    return ms > INT64_MAX / KI_MILLISECONDS(8) ? -1 : KI_MILLISECONDS(4 * ms);
}

static ki_status refresh_now(ki_discovery *discovery, ki_resource_map **ret_map, ki_error *err) {
    ki_client *client = discovery->client;
    if (ki_engine_on_loop(client->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for discovery on the loop's own thread");
    waiter *waiting = ki_alloc_zero(client->allocator, sizeof *waiting);
    if (!waiting)
        return ki_error_no_memory(err, "requesting resources");
    *waiting = (waiter){ .engine = client->engine, .allocator = client->allocator, .err = KI_ERROR_INIT };
    ki_refcount_init(&waiting->refs);
    ki_refcount_inc(&waiting->refs); /* for the callback */
    ki_status status = ki_discovery_refresh(discovery, on_map, waiting, err);
    if (status)
        drop(waiting);
    else
        status = ki_engine_await(client->engine, &waiting->done, longest_wait_ns(discovery), client->may_drive, err);
    if (!status && waiting->err.code) {
        status = waiting->err.code;
        if (err)
            *err = waiting->err;
    }
    if (!status)
        *ret_map = ki_resource_map_ref(waiting->map);
    drop(waiting);
    return status;
}

/* Returns a reference to the kept map if it is younger than `max_age_ms`; else NULL. */
static ki_resource_map *cached_map(ki_discovery *discovery, int64_t max_age_ms) {
    int64_t now = ki_engine_now(discovery->client->engine);
    ki_resource_map *map = NULL;
    ki_mutex_lock(&discovery->mutex);
    if (discovery->map && (now - discovery->fetched_at) / KI_MILLISECONDS(1) < max_age_ms)
        map = ki_resource_map_ref(discovery->map);
    ki_mutex_unlock(&discovery->mutex);
    return map;
}

ki_status ki_discovery_get(ki_discovery *discovery, ki_resource_map **ret_map, ki_error *err) {
    if (!discovery || !ret_map)
        return ki_error_set(err, KI_ERR_INVALID, "ki_discovery_get: discovery or ret_map is NULL");
    if (ki_engine_check_process(discovery->client->engine, err))
        return KI_ERR_STATE;
    ki_resource_map *map = cached_map(discovery, KI_DISCOVERY_TTL_MS);
    if (!map)
        return refresh_now(discovery, ret_map, err);
    *ret_map = map;
    return KI_OK;
}

static ki_status not_found(const ki_resource_map *map, const char *name, ki_error *err) {
    size_t cursor = 0;
    if (ki_resource_map_in_category(map, name, &cursor))
        return ki_error_set(err, KI_ERR_NOT_FOUND,
                            "\"%.100s\" is a category of resources: use ki_resource_map_in_category", name);
    const char *meant = ki_resource_map_nearest(map, name);
    const char *failed = ki_resource_map_failed_for(map, name);
    return ki_error_set(err, KI_ERR_NOT_FOUND, "%s%s%s \"%.100s\"%s%s%s",
                        failed ? "could not read the resources of " : "the server has no resource",
                        failed ? failed : "", failed ? ", which can have" : "", name, meant ? "; did you mean " : "",
                        meant ? meant : "", meant ? "?" : "");
}

ki_status ki_discovery_find(ki_discovery *discovery, const char *name, ki_resource_map **ret_map,
                            const ki_discovered **ret_found, ki_error *err) {
    ki_resource_map *map = NULL;
    if (!discovery || !name || !ret_map || !ret_found)
        return ki_error_set(err, KI_ERR_INVALID, "ki_discovery_find: an argument is missing");
    ki_status status = ki_discovery_get(discovery, &map, err);
    if (status)
        return status;
    const ki_discovered *found = ki_resource_map_find(map, name);
    ki_resource_map *recent = found ? NULL : cached_map(discovery, discovery->refresh_ms);
    if (!found && !recent) { /* the resource may be new */
        ki_resource_map_unref(map);
        status = refresh_now(discovery, &map, err);
        if (status)
            return status;
        found = ki_resource_map_find(map, name);
    }
    ki_resource_map_unref(recent);
    if (!found) {
        status = not_found(map, name, err);
        ki_resource_map_unref(map);
        return status;
    }
    *ret_map = map;
    *ret_found = found;
    return KI_OK;
}
