/* network.c: an exchange from the request to the end: choice of server and connection, response, delivery in chunks. */
#include "sim/world.h"

#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "testing/request/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_CUT INT64_C(-1)

enum {
    READ_SIZE = 16 * 1024, /* bytes read from a watch at once */
    CHUNKS_AT_ONCE = 48    /* chunks of one delivery */
};

/* Frees the exchange once neither the client, nor the agenda, nor the server uses it. */
static void release(sim_exchange *exchange) {
    if (exchange->call || exchange->pending_actions || exchange->has_response)
        return;
    sim_network *network = &exchange->world->network;
    KI_LIST_REMOVE(network->first, exchange);
    ki_buffer_free(&exchange->out);
    ki_buffer_free(&exchange->held_events);
    free(exchange->socket);
    free(exchange->target);
    free(exchange);
}

static void drop_response(sim_exchange *exchange) {
    if (exchange->has_response)
        kt_response_free(&exchange->response);
    exchange->has_response = false;
}

static void schedule(sim_exchange *exchange, int64_t at, sim_action action) {
    exchange->pending_actions++;
    sim_at(exchange->world, at, action, exchange, 0);
}

/* --- connections -------------------------------------------------------------------------------------------------- */

/* Returns a connection with room for a request, opened if necessary; NULL if there is no descriptor for it. */
static sim_connection *open_stream(sim_network *network, unsigned server) {
    const sim_world *world = network->world;
    unsigned streams_max = world->now < network->few_streams_until ? 1 : SIM_STREAMS_MAX;
    sim_connection *closed = NULL;
    for (size_t i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        sim_connection *connection = &network->connections[i];
        if (!connection->streams)
            closed = closed ? closed : connection;
        else if (connection->server == server && !connection->is_retired && connection->streams < streams_max) {
            connection->streams++;
            return connection;
        }
    }
    if (!closed || world->now < network->no_descriptors_until)
        return NULL;
    *closed = (sim_connection){ .server = server, .streams = 1 };
    return closed;
}

/* Leaves the connection. A silent connection takes no new requests after the first end: the transport closes it. */
static void close_stream(sim_exchange *exchange) {
    sim_connection *connection = exchange->connection;
    exchange->connection = NULL;
    if (!connection)
        return;
    connection->is_retired = connection->is_retired || connection->is_silent;
    connection->streams--;
}

/* The bookmark of the overtaken event has arrived and the event has not: no client can detect this loss. */
static void lose_overtaken_event(sim_exchange *exchange) {
    if (!exchange->overtaken_key)
        return;
    sim_key *key = &exchange->world->truth.keys[exchange->overtaken_key - 1];
    key->is_poisoned = key->has_undetectable_loss = true;
}

void sim_exchange_lose_half(sim_exchange *exchange) {
    exchange->out.size -= (exchange->out.size - exchange->sent) / 2;
    lose_overtaken_event(exchange);
}

static void fall_silent(sim_exchange *exchange) {
    if (!exchange->is_silent) {
        exchange->silent_since = exchange->world->now;
        exchange->handler_time_before = exchange->world->handler_time;
    }
    exchange->is_silent = true;
    if (exchange->arrived < exchange->out.size)
        lose_overtaken_event(exchange); /* now: the client cancels later, perhaps after the last writes */
}

void sim_exchange_silence(sim_exchange *exchange) {
    fall_silent(exchange);
    if (!exchange->connection)
        return;
    exchange->connection->is_silent = true;
    for (sim_exchange *at = exchange->world->network.first; at; at = at->next) {
        if (at->connection == exchange->connection)
            fall_silent(at);
    }
}

/* --- delivering --------------------------------------------------------------------------------------------------- */

static void arrive(void *user, uint64_t argument);

static void schedule_delivery(sim_exchange *exchange, int64_t delay) {
    if (exchange->is_delivery_scheduled || !exchange->call)
        return;
    int64_t at = exchange->world->now + delay;
    if (at < exchange->last_delivery_at)
        at = exchange->last_delivery_at;
    exchange->last_delivery_at = at;
    exchange->is_delivery_scheduled = true;
    schedule(exchange, at, arrive);
}

/* Returns true if all of `out` was delivered and holds an ERROR event. Its line break may be missing: the client can
 * cancel before it. */
static bool is_error_delivered(const sim_exchange *exchange) {
    static const char error[] = "{\"type\":\"ERROR\"";
    const ki_buffer *out = &exchange->out;
    return exchange->is_watch && exchange->has_head && exchange->status == 200 && out->size > 0 &&
           out->size - exchange->sent <= 1 && memmem(out->data, out->size, error, sizeof error - 1);
}

/* Leaves the connection and runs the oracles. */
static void note_end(sim_exchange *exchange, bool is_cancelled) {
    close_stream(exchange);
    lose_overtaken_event(exchange);
    exchange->has_sent_error |= is_error_delivered(exchange);
    sim_requester_note_end(exchange, is_cancelled);
}

static bool is_from_before_restore(const sim_exchange *exchange) {
    return exchange->restores < exchange->world->truth.restores;
}

/* Ends the exchange for the client. */
static void end_call(sim_exchange *exchange, ki_status status) {
    kt_memory_call *call = exchange->call;
    ki_error err = KI_ERROR_INIT;
    exchange->call = NULL;
    note_end(exchange, false);
    if (status)
        ki_error_set(&err, status, "%s",
                     status == KI_ERR_CONNECT  ? "the simulated server refused the connection"
                     : status == KI_ERR_SYSTEM ? "no simulated descriptor is left"
                                               : "the simulated connection was cut");
    SIM_TRACE(exchange->world, "request %llu: ends, %s", (unsigned long long)exchange->number,
              status ? ki_status_name(status) : "cleanly");
    sim_digest_add(exchange->world, exchange->number * 31 + (uint64_t)status);
    drop_response(exchange);
    bool is_old = is_from_before_restore(exchange);
    sim_world *world = exchange->world;
    kt_memory_call_end(call, status ? &err : NULL);
    if (is_old)
        sim_client_note_restore(world);
}

/* In every other response Retry-After is a date (RFC 9110 §10.2.3). The transport converts it to seconds with the wall
 * clock, which is off by wall_jump when the head arrives. */
static void convert_retry_date(sim_exchange *exchange) {
    enum {
        RETRY_AFTER_MAX_S = 60 /* so that the client is in time for the check after the faults */
    };
    int64_t seconds = exchange->retry_after_s - exchange->world->wall_jump / SIM_SECOND;
    if (exchange->retry_after_s <= 0 || exchange->number % 2)
        return;
    exchange->retry_after_s = seconds < 0 ? 0 : seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : (int)seconds;
}

/* Delivers the status once. Returns false if the client cancelled. */
static bool deliver_head(sim_exchange *exchange) {
    if (exchange->has_head || exchange->end_status == KI_ERR_CONNECT || exchange->end_status == KI_ERR_SYSTEM)
        return true;
    exchange->has_head = true;
    sim_world *world = exchange->world;
    convert_retry_date(exchange);
    ki_response_head head = { .status = exchange->status,
                              .retry_after_ms = exchange->retry_after_s < 0 ? -1 : exchange->retry_after_s * 1000,
                              .content_type = "application/json" };
    if (exchange->status != 200 && exchange->retry_after_s > 0)
        exchange->requester->not_before = world->now + exchange->retry_after_s * SIM_SECOND;
    if (exchange->is_fetch)
        sim_fetches_note_status(exchange);
    exchange->requester->accepted_watches +=
        exchange->status == 200 && exchange->is_watch && !exchange->is_streaming_list;
    SIM_TRACE(world, "request %llu: status %d", (unsigned long long)exchange->number, exchange->status);
    return kt_memory_call_head(exchange->call, &head);
}

static size_t next_chunk_size(sim_exchange *exchange) {
    size_t left = exchange->out.size - exchange->arrived;
    if (exchange->chunk && left > exchange->chunk) {
        left = exchange->chunk < 4 ? exchange->chunk
                                   : 1 + (size_t)sim_below(&exchange->world->network.random, exchange->chunk);
    }
    if (exchange->cut_after >= 0 && left > (size_t)exchange->cut_after)
        left = (size_t)exchange->cut_after;
    return left;
}

static void schedule_reading(sim_exchange *exchange);

/* Puts some chunks into the client's socket. */
static void take_in(sim_exchange *exchange) {
    for (unsigned i = 0; i < CHUNKS_AT_ONCE && exchange->arrived < exchange->out.size && exchange->cut_after != 0;
         i++) {
        if (exchange->chunk_count == exchange->chunk_capacity) {
            exchange->chunk_capacity = exchange->chunk_capacity ? exchange->chunk_capacity * 2 : CHUNKS_AT_ONCE;
            exchange->socket = sim_realloc(exchange->socket, exchange->chunk_capacity * sizeof *exchange->socket);
        }
        size_t size = next_chunk_size(exchange);
        exchange->socket[exchange->chunk_count++] = (sim_chunk){ size, exchange->world->now };
        exchange->arrived += size;
        if (exchange->cut_after > 0)
            exchange->cut_after -= (int64_t)size;
    }
    exchange->is_cut = exchange->is_cut || (exchange->cut_after == 0 && exchange->arrived < exchange->out.size);
}

static void arrive(void *user, uint64_t argument) {
    sim_exchange *exchange = user;
    (void)argument;
    exchange->is_delivery_scheduled = false;
    if (exchange->call && !exchange->is_silent) {
        take_in(exchange);
        schedule_reading(exchange);
        if (exchange->arrived < exchange->out.size && !exchange->is_cut)
            schedule_delivery(exchange, sim_between(&exchange->world->network.random, 0, 20) * SIM_MILLISECOND);
    }
    exchange->pending_actions--;
    release(exchange);
}

/* --- the client reads --------------------------------------------------------------------------------------------- */

/* The client has decoded all that it has read. Returns false if the client cancelled. */
static bool note_decoded(sim_exchange *exchange) {
    if (exchange->is_paused)
        return true;
    if (exchange->event_at != SIM_NEVER)
        sim_witness_note_event(&exchange->world->client.informers[exchange->informer].witness, exchange->event_at);
    exchange->event_at = SIM_NEVER;
    if (is_from_before_restore(exchange))
        sim_client_note_restore(exchange->world);
    return kt_memory_call_read(exchange->call, exchange->reading_at);
}

/* Returns false if the client cancelled. */
static bool read_chunk(sim_exchange *exchange) {
    sim_world *world = exchange->world;
    sim_chunk chunk = exchange->socket[0];
    memmove(exchange->socket, exchange->socket + 1, --exchange->chunk_count * sizeof *exchange->socket);
    const char *data = exchange->out.data + exchange->sent;
    exchange->sent += chunk.size;
    world->network.bytes_read += chunk.size;
    exchange->reading_at = chunk.arrived_at;
    sim_digest_add(world, ki_hash(data, chunk.size, (uint64_t)world->now));
    if (world->trace)
        sim_trace(world, "request %llu: %.*s", (unsigned long long)exchange->number, (int)chunk.size, data);
    bool is_open = kt_memory_call_late_data(exchange->call, data, chunk.size);
    sim_frames_delivered(exchange, exchange->sent - chunk.size, exchange->sent);
    if (world->memory.per_mille && exchange->informer < world->client.informer_count)
        world->client.informers[exchange->informer].witness.is_uncertain = true;
    return is_open && note_decoded(exchange);
}

/* Ends the reading if everything was read. */
static void end_reading(sim_exchange *exchange) {
    if (exchange->is_cut) {
        end_call(exchange, KI_ERR_UNEXPECTED_EOF);
        return;
    }
    if (exchange->sent < exchange->out.size)
        return;
    exchange->has_sent_error |= is_error_delivered(exchange); /* `out` is emptied now */
    ki_buffer_reset(&exchange->out, READ_SIZE);
    exchange->sent = exchange->arrived = exchange->arrivals.frame_begin = 0;
    if (exchange->overtaken_key) {
        exchange->requester->overtaken_key = exchange->overtaken_key;
        exchange->requester->overtaken_at = exchange->world->now;
    }
    exchange->overtaken_key = 0;
    if (exchange->is_ended && !exchange->is_silent)
        end_call(exchange, exchange->end_status);
}

static void read_socket(void *user, uint64_t argument) {
    sim_exchange *exchange = user;
    (void)argument;
    exchange->is_reading_scheduled = false;
    bool is_open = exchange->call && !exchange->is_paused && deliver_head(exchange);
    if (is_open && exchange->reading_at != SIM_NEVER)
        is_open = note_decoded(exchange);
    while (is_open && exchange->chunk_count && !exchange->is_paused)
        is_open = read_chunk(exchange);
    if (is_open && !exchange->chunk_count && !exchange->is_paused)
        end_reading(exchange);
    exchange->pending_actions--; /* only now: the exchange must exist while the client is called */
    release(exchange);
}

static void schedule_reading(sim_exchange *exchange) {
    if (exchange->is_reading_scheduled || exchange->is_paused)
        return;
    exchange->is_reading_scheduled = true;
    exchange->pending_actions++;
    sim_at_client(exchange->world, exchange->world->now, read_socket, exchange, 0);
}

void sim_exchange_pause(sim_exchange *exchange, bool is_paused) {
    exchange->is_paused = is_paused;
    schedule_reading(exchange);
}

void sim_exchange_end(sim_exchange *exchange, ki_status status) {
    exchange->is_ended = true;
    exchange->end_status = status;
    if (status == KI_ERR_UNEXPECTED_EOF)
        exchange->cut_after = exchange->cut_after < 0 ? 0 : exchange->cut_after;
    drop_response(exchange);
    if (!exchange->call)
        release(exchange);
    else
        schedule_delivery(exchange, exchange->latency);
}

void sim_exchange_append(sim_exchange *exchange, const char *text) {
    ki_buffer_append_string(&exchange->out, text);
    schedule_delivery(exchange, exchange->latency);
}

/* --- the server's watch ------------------------------------------------------------------------------------------- */

static void run_scheduled_read(void *user, uint64_t argument);

static void schedule_read(sim_exchange *exchange, int64_t at) {
    exchange->is_read_scheduled = true;
    schedule(exchange, at, run_scheduled_read);
}

/* The server's watch has a bookmark or its end to send. */
static void on_deadline(void *user, uint64_t argument) {
    sim_exchange *exchange = user;
    (void)argument;
    exchange->pending_actions--;
    exchange->deadline = INT64_MAX;
    if (exchange->has_response && exchange->call)
        sim_exchange_wake(exchange);
    release(exchange);
}

/* Reads what the server's watch has, and schedules its next deadline. */
static void read_watch(sim_exchange *exchange) {
    sim_world *world = exchange->world;
    kt_watch_state state = KT_WATCH_MORE;
    ki_buffer frames;
    ki_buffer_init(&frames, &ki_allocator_default, 0);
    while (state == KT_WATCH_MORE) {
        if (kt_watch_read(exchange->response.watch, sim_server_now_ms(world), &frames, READ_SIZE, NULL, &state)) {
            sim_fail(world, "reading a server's watch failed");
            state = KT_WATCH_ENDED;
        }
    }
    sim_tamper_frames(exchange, &frames);
    ki_buffer_free(&frames);
    if (state == KT_WATCH_ENDED) {
        exchange->is_ended = true;
        exchange->end_status = KI_OK;
    } else {
        int64_t deadline =
            (kt_watch_deadline(exchange->response.watch) - (int64_t)SIM_START_MS * 1000) * SIM_MILLISECOND;
        if (deadline < exchange->deadline) {
            exchange->deadline = deadline;
            schedule(exchange, deadline, on_deadline);
        }
    }
    if (exchange->out.size > exchange->sent || exchange->is_ended || !exchange->has_head)
        schedule_delivery(exchange, exchange->latency);
}

static void run_scheduled_read(void *user, uint64_t argument) {
    sim_exchange *exchange = user;
    (void)argument;
    exchange->is_read_scheduled = false;
    exchange->pending_actions--;
    if (exchange->has_response && exchange->response.watch && exchange->call && !exchange->is_ended)
        read_watch(exchange);
    release(exchange);
}

void sim_exchange_wake(sim_exchange *exchange) {
    if (!exchange->is_read_scheduled)
        schedule_read(exchange, exchange->world->now);
}

static void wake_exchange(void *user) {
    sim_exchange_wake(user);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

char *sim_exchange_object(sim_exchange *exchange, uint32_t key) {
    sim_world *world = exchange->world;
    char target[96];
    snprintf(target, sizeof target, "/api/v1/namespaces/ns%u/configmaps/cm-%u", sim_key_ns(key),
             (unsigned)(key % SIM_NAME_MAX));
    const kt_request request = { .method = "GET", .target = target, .accept = "application/json" };
    kt_response response = { 0 };
    char *text = NULL;
    if (kt_rest_handle(world->servers[exchange->server].cluster, &request, sim_server_now_ms(world), &response))
        return NULL;
    if (response.status == 200 && response.body.size) {
        text = sim_strdup(response.body.data);
        text[strcspn(text, "\n")] = '\0';
    }
    kt_response_free(&response);
    return text;
}

/* A watch from no version begins with what there is. A deletion since the list before it is never sent, and no client
 * without consistency checks can know of it. Before another such watch the client must list again. */
static void lose_deletions(const sim_exchange *exchange) {
    sim_world *world = exchange->world;
    const sim_informer *informer = &world->client.informers[exchange->informer];
    bool has_list = informer->witness.lists > exchange->requester->lists_watched;
    exchange->requester->lists_watched = informer->witness.lists;
    if (!has_list)
        return;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        sim_key *state = &world->truth.keys[key];
        char path[32];
        snprintf(path, sizeof path, "/namespaces/ns%u/", sim_key_ns(key));
        bool is_covered = !strstr(exchange->target, "/namespaces/") || strstr(exchange->target, path);
        if (!is_covered || !informer->witness.expected[key] ||
            sim_truth_is_selected(&world->truth, &informer->selection, state->n))
            continue;
        SIM_TRACE(world, "request %llu: the deletion of %s is never sent", (unsigned long long)exchange->number,
                  sim_key_text(key));
        state->is_poisoned = state->has_undetectable_loss = true;
        sim_world_repair_again(world);
    }
}

/* Lets the server respond. */
static void serve(sim_exchange *exchange) {
    sim_world *world = exchange->world;
    sim_server *server = &world->servers[exchange->server];
    if (exchange->is_consistent)
        sim_server_catch_up(server);
    kt_request request = { .method = "GET", .target = exchange->target, .accept = "application/json" };
    if (kt_rest_handle(server->cluster, &request, sim_server_now_ms(world), &exchange->response)) {
        sim_fail(world, "server %u cannot respond", server->index);
        sim_exchange_end(exchange, KI_ERR_UNEXPECTED_EOF);
        return;
    }
    exchange->has_response = true;
    exchange->status = exchange->response.status;
    exchange->retry_after_s = exchange->response.retry_after_s;
    if (exchange->response.watch) {
        if (exchange->is_consistent && !exchange->is_streaming_list && !world->plan.consistency_check_ms)
            lose_deletions(exchange);
        kt_watch_set_wake(exchange->response.watch, wake_exchange, exchange);
        read_watch(exchange);
        return;
    }
    ki_buffer_append(&exchange->out, exchange->response.body.data, exchange->response.body.size);
    if (!exchange->is_fetch)
        sim_tamper_list(exchange);
    drop_response(exchange);
    exchange->is_ended = true;
    schedule_delivery(exchange, exchange->latency);
}

static void reach_server(void *user, uint64_t argument) {
    sim_exchange *exchange = user;
    (void)argument;
    exchange->pending_actions--;
    sim_world *world = exchange->world;
    if (exchange->call && exchange->is_fetch)
        sim_fetches_note_served(exchange);
    if (exchange->call && !exchange->connection)
        sim_exchange_end(exchange, KI_ERR_SYSTEM);
    else if (exchange->call && world->servers[exchange->server].down_until > world->now)
        sim_exchange_end(exchange, KI_ERR_CONNECT);
    else if (exchange->call && !sim_respond(exchange))
        serve(exchange);
    release(exchange);
}

/* Returns the value of a parameter of the query, up to the end of the target; NULL: none. */
static const char *parameter(const char *target, const char *name) {
    size_t size = strlen(name);
    for (const char *at = strpbrk(target, "?&"); at; at = strpbrk(at + 1, "?&")) {
        if (strncmp(at + 1, name, size) == 0 && at[1 + size] == '=')
            return at + 2 + size;
    }
    return NULL;
}

static void parse_target(sim_exchange *exchange) {
    const char *target = exchange->target;
    const char *version = parameter(target, "resourceVersion");
    exchange->is_watch = parameter(target, "watch") != NULL;
    exchange->is_streaming_list = parameter(target, "sendInitialEvents") != NULL;
    exchange->is_continuation = parameter(target, "continue") != NULL;
    exchange->is_version_check = !exchange->is_watch && parameter(target, "resourceVersionMatch") != NULL &&
                                 strncmp(parameter(target, "resourceVersionMatch"), "NotOlderThan", 12) == 0;
    exchange->is_paged = parameter(target, "limit") != NULL && !exchange->is_version_check;
    exchange->is_consistent = exchange->is_continuation || !version;
    exchange->revision = version ? strtoull(version, NULL, 10) : 0;
    exchange->in_initial_events = exchange->is_streaming_list;
    exchange->arrivals.is_past_initial = !exchange->is_streaming_list;
}

/* Returns a random server, or the one that lags most while the fault to-laggard lasts. */
static unsigned choose_server(sim_network *network) {
    const sim_world *world = network->world;
    if (world->now >= network->laggard_until)
        return (unsigned)sim_below(&network->random, world->plan.servers);
    unsigned chosen = 0;
    for (unsigned i = 1; i < world->plan.servers; i++) {
        if (world->servers[i].applied < world->servers[chosen].applied)
            chosen = i;
    }
    return chosen;
}

static void on_request(kt_memory_call *call, const ki_request *request, void *user) {
    sim_world *world = user;
    sim_network *network = &world->network;
    sim_exchange *exchange = sim_alloc(sizeof *exchange);
    *exchange = (sim_exchange){ .world = world,
                                .call = call,
                                .cut_after = NO_CUT,
                                .retry_after_s = -1,
                                .deadline = INT64_MAX,
                                .reading_at = SIM_NEVER,
                                .event_at = SIM_NEVER };
    KI_LIST_PREPEND(network->first, exchange);
    exchange->number = ++world->requests;
    exchange->sent_at = world->now;
    exchange->restores = world->truth.restores;
    exchange->target = sim_strdup(request->target);
    ki_buffer_init(&exchange->out, &ki_allocator_default, 0);
    ki_buffer_init(&exchange->held_events, &ki_allocator_default, 0);
    parse_target(exchange);
    int requester = sim_socket_requester(request);
    exchange->is_fetch = requester >= sim_fetch_requester_number(0);
    exchange->fetched_key = exchange->is_fetch ? (uint32_t)(requester - sim_fetch_requester_number(0)) : 0;
    exchange->informer = exchange->is_fetch ? SIM_NO_INFORMER : (unsigned)requester / SIM_SENDERS;
    exchange->is_beside = exchange->is_fetch || requester % SIM_SENDERS >= SIM_CONSISTENCY_CHECK;
    exchange->requester = &network->requesters[requester];
    sim_requester_check(exchange);
    exchange->server = choose_server(network);
    exchange->connection = open_stream(network, exchange->server);
    if (exchange->connection && exchange->connection->is_silent)
        fall_silent(exchange);
    bool slow = world->now < network->slow_until;
    exchange->latency = sim_between(&network->random, 0, slow ? 4000 : 40) * SIM_MILLISECOND;
    if (world->now < network->small_chunks_until)
        exchange->chunk = sim_chance(&network->random, 50) ? 1 : (size_t)sim_between(&network->random, 2, 60);
    kt_memory_call_set_user(call, exchange);
    sim_digest_add(world, ki_hash(request->target, strlen(request->target), (uint64_t)world->now));
    SIM_TRACE(world, "request %llu: server %u, %s", (unsigned long long)exchange->number, exchange->server,
              request->target);
    schedule(exchange, world->now + exchange->latency, reach_server);
}

static void on_cancelled(kt_memory_call *call, void *user) {
    const sim_world *world = user;
    sim_exchange *exchange = kt_memory_call_user(call);
    exchange->call = NULL;
    SIM_TRACE(world, "request %llu: the client cancels it", (unsigned long long)exchange->number);
    note_end(exchange, true);
    drop_response(exchange);
    release(exchange);
}

/* --- the network and its faults ----------------------------------------------------------------------------------- */

void sim_network_make(sim_world *world) {
    world->network = (sim_network){ .world = world,
                                    .server = { .serve = on_request, .abandoned = on_cancelled, .user = world },
                                    .random = sim_random_from(world->plan.seed, 11) };
}

void sim_network_free(sim_world *world) {
    sim_requesters_reset(world);
    while (world->network.first) {
        sim_exchange *exchange = world->network.first;
        exchange->call = NULL;
        exchange->pending_actions = 0;
        drop_response(exchange);
        release(exchange);
    }
}

void sim_network_end_all(sim_world *world) {
    for (sim_exchange *exchange = world->network.first, *next; exchange; exchange = next) {
        next = exchange->next;
        sim_exchange_end(exchange, KI_ERR_UNEXPECTED_EOF);
    }
}

bool sim_network_has_old_data(const sim_world *world) {
    for (const sim_exchange *exchange = world->network.first; exchange; exchange = exchange->next) {
        if (exchange->call && is_from_before_restore(exchange) && (exchange->chunk_count || !exchange->is_silent))
            return true;
    }
    return false;
}

void sim_network_add_fault(sim_world *world, sim_fault_kind kind, uint64_t detail, unsigned count, int64_t until) {
    sim_network *network = &world->network;
    if (network->pending_fault_count < SIM_PENDING_FAULTS_MAX)
        network->pending_faults[network->pending_fault_count++] =
            (sim_pending_fault){ .kind = kind, .until = until, .count = count, .detail = detail };
}

void sim_network_clear_faults(sim_world *world) {
    world->network.pending_fault_count = 0;
    world->network.slow_until = world->network.small_chunks_until = world->network.laggard_until = 0;
    world->network.no_descriptors_until = world->network.few_streams_until = world->network.type_gone_until = 0;
}

bool sim_network_take_fault(sim_world *world, sim_fault_kind kind, uint64_t *ret_detail) {
    sim_network *network = &world->network;
    for (size_t i = 0; i < network->pending_fault_count; i++) {
        sim_pending_fault *fault = &network->pending_faults[i];
        if (fault->kind != kind || fault->count == 0 || fault->until < world->now)
            continue;
        fault->count--;
        *ret_detail = fault->detail;
        if (fault->count == 0)
            *fault = network->pending_faults[--network->pending_fault_count];
        return true;
    }
    return false;
}

sim_exchange *sim_network_pick(sim_world *world, uint64_t detail, bool watch) {
    size_t count = 0;
    for (sim_exchange *at = world->network.first; at; at = at->next)
        count += at->call && !at->is_ended && (!watch || (at->is_watch && at->has_response));
    if (!count)
        return NULL;
    size_t chosen = (size_t)(detail % count);
    for (sim_exchange *at = world->network.first; at; at = at->next) {
        if (at->call && !at->is_ended && (!watch || (at->is_watch && at->has_response)) && chosen-- == 0)
            return at;
    }
    return NULL;
}

bool sim_network_has_overtaken_event(const sim_world *world, unsigned informer, uint32_t key) {
    enum {
        SLOW_S = 5 /* the longest delay by a slow handler */
    };
    for (unsigned ns = 0; ns < SIM_NAMESPACES; ns++) {
        int number = sim_requester_number(informer, (sim_sender)(SIM_REFLECTOR + ns));
        const sim_requester *requester = &world->network.requesters[number];
        if (requester->overtaken_key == key + 1 && world->now - requester->overtaken_at <= SLOW_S * SIM_SECOND)
            return true;
    }
    for (const sim_exchange *at = world->network.first; at; at = at->next)
        if (at->call && at->informer == informer && at->overtaken_key == key + 1)
            return true;
    return false;
}
