/* network.c: the life of a connection: request, response, delivery in chunks, one end. */
#include "sim/world.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER_SENT INT64_C(-1)

enum {
    BLOCK = 16 * 1024,  /* bytes read from a watch at once */
    BURST_OF_BYTES = 48 /* chunks of one delivery */
};

static void release(sim_connection *connection) {
    if (connection->call || connection->actions || connection->has_response)
        return;
    sim_network *network = &connection->world->network;
    *(connection->previous ? &connection->previous->next : &network->first) = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    ki_buffer_free(&connection->out);
    ki_buffer_free(&connection->held);
    free(connection->target);
    free(connection);
}

static void drop_response(sim_connection *connection) {
    if (connection->has_response)
        kt_response_free(&connection->response);
    connection->has_response = false;
}

static void later(sim_connection *connection, int64_t at, sim_action action) {
    connection->actions++;
    sim_at(connection->world, at, action, connection, 0);
}

/* --- carriers ---------------------------------------------------------------------------------------------------------------- */

/* One with room; a new one where there is none, if a descriptor is left for it. */
static sim_carrier *board(sim_network *network, unsigned server) {
    const sim_world *world = network->world;
    unsigned most = world->now < network->few_streams_until ? 1 : SIM_MOST_STREAMS;
    sim_carrier *closed = NULL;
    for (size_t i = 0; i < SIM_MAX_CARRIERS; i++) {
        sim_carrier *carrier = &network->carriers[i];
        if (!carrier->streams)
            closed = closed ? closed : carrier;
        else if (carrier->server == server && !carrier->is_retired && carrier->streams < most) {
            carrier->streams++;
            return carrier;
        }
    }
    if (!closed || world->now < network->no_descriptors_until)
        return NULL;
    *closed = (sim_carrier){ .server = server, .streams = 1 };
    return closed;
}

/* One that fell silent gets nothing new once somebody has noticed. */
static void leave(sim_connection *connection) {
    sim_carrier *carrier = connection->carrier;
    connection->carrier = NULL;
    if (!carrier)
        return;
    carrier->is_retired = carrier->is_retired || carrier->is_silent;
    carrier->streams--;
}

static void fall_silent(sim_connection *connection) {
    if (!connection->is_silent)
        connection->silent_since = connection->world->now;
    connection->is_silent = true;
}

void sim_connection_silence(sim_connection *connection) {
    fall_silent(connection);
    if (!connection->carrier)
        return;
    connection->carrier->is_silent = true;
    for (sim_connection *at = connection->world->network.first; at; at = at->next) {
        if (at->carrier == connection->carrier)
            fall_silent(at);
    }
}

/* --- delivering --------------------------------------------------------------------------------------------------------- */

static void deliver(void *user, uint64_t argument);

static void wait_to_deliver(sim_connection *connection, int64_t delay) {
    if (connection->delivers || !connection->call)
        return;
    int64_t at = connection->world->now + delay;
    if (at < connection->last_at)
        at = connection->last_at;
    connection->last_at = at;
    connection->delivers = true;
    later(connection, at, deliver);
}

/* An event is lost for good if its bookmark arrived and it did not: no client can know. */
static void lose_what_was_announced(sim_connection *connection) {
    if (!connection->ahead)
        return;
    sim_key *key = &connection->world->truth.keys[connection->ahead - 1];
    key->is_poisoned = key->is_unknowable = true;
}

/* The oracle of streaming lists: they end, with their bookmark or given up. */
static void check_stream(const sim_connection *connection) {
    enum {
        LONGEST_S = 305 /* the deadline, and a handler that was slow just then */
    };
    sim_world *world = connection->world;
    if (connection->in_initial && world->now - connection->asked_at > LONGEST_S * SIM_SECOND)
        sim_fail(world, "a streaming list without an end was cancelled only after %lld s",
                 (long long)((world->now - connection->asked_at) / SIM_SECOND));
}

/* Within a second, and nothing was said. */
static void note_short_watch(const sim_connection *connection) {
    const sim_world *world = connection->world;
    const sim_source *source = &world->client.informers[connection->informer].source;
    const sim_arrivals *arrivals = &connection->arrivals;
    if (connection->is_watch && arrivals->is_past_initial && connection->has_head && connection->status == 200 &&
        !arrivals->frames && !connection->is_stream && !arrivals->is_over &&
        world->now - source->opened_at < SIM_SECOND)
        connection->line->short_watches++;
}

/* Its name for people. */
static const char *name_of(const sim_connection *connection) {
    static char text[48];
    snprintf(text, sizeof text, "%s of informer %u", connection->is_audit ? "the consistency check" : "a request",
             connection->informer);
    return text;
}

enum {
    IDLE_S = 90, /* that a watch may be silent */
    SLOW_S = 5   /* a handler just then */
};

void sim_line_hear_word(sim_connection *connection) {
    connection->arrivals.words++;
    connection->line->wordless = 0;
    connection->line->word_at = connection->world->now;
    if (!connection->arrivals.has_bad) {
        connection->arrivals.sure_words++;
        connection->line->wordless_most = 0;
        connection->line->sure_word_at = connection->world->now;
    }
}

/* The server is known to have the version: by an error, a list or a check. */
static void note_known(sim_line *line, int64_t now) {
    line->wordless = line->wordless_most = 0;
    line->word_at = line->sure_word_at = now;
}

/* In its stream. It may be the last that was delivered, but for its line break, and what makes the client let go. */
static bool has_told_an_error(const sim_connection *connection) {
    static const char error[] = "{\"type\":\"ERROR\"";
    const ki_buffer *out = &connection->out;
    return connection->is_watch && connection->has_head && connection->status == 200 && out->size > 0 &&
           out->size - connection->sent <= 1 && memmem(out->data, out->size, error, sizeof error - 1);
}

/* A request is over: what is known of where the server is. */
static void note_words(const sim_connection *connection) {
    sim_line *line = connection->line;
    int64_t silence = connection->world->now - line->word_at;
    bool has_answer = connection->has_head && connection->status == 200;
    if (connection->has_told_error || has_told_an_error(connection)) {
        note_known(line, connection->world->now);
        line->is_doubtful = false;
    } else if (connection->is_watch && !connection->is_stream) {
        line->wordless += has_answer && !connection->arrivals.words;
        line->wordless_most += has_answer && !connection->arrivals.sure_words;
        line->is_doubtful = line->wordless >= 2 && silence > (IDLE_S + SLOW_S) * SIM_SECOND;
    } else if (has_answer && connection->arrivals.is_whole) { /* streams: when their initial events end */
        note_known(line, connection->world->now);
    }
}

/* The oracle of restored servers: after two watches without an event, and not before, the client lists one object or all. */
static void check_doubts(sim_connection *connection) {
    sim_line *line = connection->line;
    sim_world *world = connection->world;
    if (connection->is_watch && !connection->is_stream) {
        if (line->is_doubtful)
            sim_fail(world, "%s: a third watch after two without an event", name_of(connection));
        return;
    }
    line->is_doubtful = false;
    if (connection->is_check &&
        (line->wordless_most < 2 || world->now - line->sure_word_at < (IDLE_S - SLOW_S) * SIM_SECOND))
        sim_fail(world, "%s: a check after %u watches without an event", name_of(connection), line->wordless_most);
}

/* Notifies the client of the end. */
static void finish(sim_connection *connection, ki_status status) {
    kt_memory_call *call = connection->call;
    ki_error err = KI_ERROR_INIT;
    connection->call = NULL;
    leave(connection);
    lose_what_was_announced(connection);
    check_stream(connection);
    note_short_watch(connection);
    note_words(connection);
    if (status)
        ki_error_set(&err, status, "%s",
                     status == KI_ERR_CONNECT  ? "the simulated server refuses"
                     : status == KI_ERR_SYSTEM ? "no simulated descriptor is left"
                                               : "the simulated connection was cut");
    SIM_TRACE(connection->world, "connection %llu: ends, %s", (unsigned long long)connection->number,
              status ? ki_status_name(status) : "cleanly");
    sim_note(connection->world, connection->number * 31 + (uint64_t)status);
    drop_response(connection);
    kt_memory_call_end(call, status ? &err : NULL);
}

/* Some servers give Retry-After as a date: the transport makes a length of time of it, by the wall clock as it is just then. What jumps later
 * does not matter any more. */
static void read_date(sim_connection *connection) {
    enum {
        LONGEST_S = 60
    };
    int64_t seconds = connection->retry_after_s - connection->world->wall_jump / SIM_SECOND;
    if (connection->retry_after_s <= 0 || connection->number % 2)
        return;
    connection->retry_after_s = seconds < 0 ? 0 : seconds > LONGEST_S ? LONGEST_S : (int)seconds;
}

static bool deliver_head(sim_connection *connection) {
    if (connection->has_head || connection->end == KI_ERR_CONNECT || connection->end == KI_ERR_SYSTEM)
        return true;
    connection->has_head = true;
    sim_world *world = connection->world;
    read_date(connection);
    ki_response_head head = { .status = connection->status,
                              .retry_after_ms = connection->retry_after_s < 0 ? -1 : connection->retry_after_s * 1000,
                              .content_type = "application/json" };
    if (connection->status != 200 && connection->retry_after_s > 0)
        connection->line->not_before = world->now + connection->retry_after_s * SIM_SECOND;
    connection->line->accepted += connection->status == 200 && connection->is_watch && !connection->is_stream;
    SIM_TRACE(world, "connection %llu: status %d", (unsigned long long)connection->number, connection->status);
    return kt_memory_call_head(connection->call, &head);
}

static size_t next_chunk(sim_connection *connection) {
    size_t left = connection->out.size - connection->sent;
    if (connection->chunk && left > connection->chunk) {
        left = connection->chunk < 4 ? connection->chunk
                                     : 1 + (size_t)sim_below(&connection->world->network.random, connection->chunk);
    }
    if (connection->cut_after >= 0 && left > (size_t)connection->cut_after)
        left = (size_t)connection->cut_after;
    return left;
}

/* False where the client has let go of it. */
static bool deliver_chunk(sim_connection *connection) {
    sim_world *world = connection->world;
    size_t size = next_chunk(connection);
    if (size == 0)
        return true;
    const char *data = connection->out.data + connection->sent;
    connection->sent += size;
    if (connection->cut_after >= 0)
        connection->cut_after -= (int64_t)size;
    world->deliveries++;
    sim_note(world, ki_hash(data, size, (uint64_t)world->now));
    if (world->trace)
        sim_say(world, "connection %llu: %.*s", (unsigned long long)connection->number, (int)size, data);
    bool goes_on = kt_memory_call_data(connection->call, data, size);
    sim_frames_arrived(connection, connection->sent - size, connection->sent);
    if (world->memory.per_mille && connection->informer < world->client.informer_count)
        world->client.informers[connection->informer].witness.is_unsure = true;
    return goes_on;
}

static void deliver_some(sim_connection *connection) {
    if (connection->is_silent)
        return;
    if (!deliver_head(connection))
        return;
    for (unsigned i = 0; i < BURST_OF_BYTES && connection->sent < connection->out.size; i++) {
        if (connection->cut_after == 0) {
            finish(connection, KI_ERR_UNEXPECTED_EOF);
            return;
        }
        if (!deliver_chunk(connection))
            return;
        if (connection->is_silent)
            return;
    }
    if (connection->sent < connection->out.size) {
        wait_to_deliver(connection, sim_between(&connection->world->network.random, 0, 20) * SIM_MILLISECOND);
        return;
    }
    connection->has_told_error |= has_told_an_error(connection); /* the client may read it after the end */
    ki_buffer_reset(&connection->out, BLOCK);
    connection->sent = connection->arrivals.begin = 0;
    if (connection->ahead) {
        connection->line->announced = connection->ahead;
        connection->line->announced_at = connection->world->now;
    }
    connection->ahead = 0;
    if (connection->is_ended)
        finish(connection, connection->end);
}

static void deliver(void *user, uint64_t argument) {
    sim_connection *connection = user;
    (void)argument;
    connection->delivers = false;
    if (connection->call)
        deliver_some(connection);
    connection->actions--; /* not before: it must stay while the client is called */
    release(connection);
}

void sim_connection_end(sim_connection *connection, ki_status status) {
    connection->is_ended = true;
    connection->end = status;
    if (status == KI_ERR_UNEXPECTED_EOF)
        connection->cut_after = connection->cut_after < 0 ? 0 : connection->cut_after;
    drop_response(connection);
    if (!connection->call)
        release(connection);
    else
        wait_to_deliver(connection, connection->latency);
}

void sim_connection_append(sim_connection *connection, const char *text) {
    ki_buffer_append_string(&connection->out, text);
    wait_to_deliver(connection, connection->latency);
}

/* --- a watch's frames ---------------------------------------------------------------------------------------------------- */

static void pump(void *user, uint64_t argument);

static void wait_to_pump(sim_connection *connection, int64_t at) {
    connection->pumps = true;
    later(connection, at, pump);
}

static void on_deadline(void *user, uint64_t argument) {
    sim_connection *connection = user;
    (void)argument;
    connection->actions--;
    connection->deadline = INT64_MAX;
    if (connection->has_response && connection->call)
        sim_connection_wake(connection);
    release(connection);
}

static void read_frames(sim_connection *connection) {
    sim_world *world = connection->world;
    kt_watch_state state = KT_WATCH_MORE;
    ki_buffer frames;
    ki_buffer_init(&frames, &ki_allocator_default, 0);
    while (state == KT_WATCH_MORE) {
        if (kt_watch_read(connection->response.watch, sim_server_now_ms(world), &frames, BLOCK, &state)) {
            sim_fail(world, "a server's watch failed");
            state = KT_WATCH_ENDED;
        }
    }
    sim_tamper_frames(connection, &frames);
    ki_buffer_free(&frames);
    if (state == KT_WATCH_ENDED) {
        connection->is_ended = true;
        connection->end = KI_OK;
    } else {
        int64_t deadline =
            (kt_watch_deadline(connection->response.watch) - (int64_t)SIM_START_MS * 1000) * SIM_MILLISECOND;
        if (deadline < connection->deadline) {
            connection->deadline = deadline;
            later(connection, deadline, on_deadline);
        }
    }
    if (connection->out.size > connection->sent || connection->is_ended || !connection->has_head)
        wait_to_deliver(connection, connection->latency);
}

static void pump(void *user, uint64_t argument) {
    sim_connection *connection = user;
    (void)argument;
    connection->pumps = false;
    connection->actions--;
    if (connection->has_response && connection->response.watch && connection->call && !connection->is_ended)
        read_frames(connection);
    release(connection);
}

void sim_connection_wake(sim_connection *connection) {
    if (!connection->pumps)
        wait_to_pump(connection, connection->world->now);
}

static void on_ready(void *user) {
    sim_connection_wake(user);
}

/* --- asking -------------------------------------------------------------------------------------------------------------- */

static void give_answer(sim_connection *connection) {
    sim_world *world = connection->world;
    sim_server *server = &world->servers[connection->server];
    if (connection->is_consistent)
        sim_server_catch_up(server);
    kt_request asked = { .method = "GET", .target = connection->target, .accept = "application/json" };
    if (kt_rest_handle(server->cluster, &asked, sim_server_now_ms(world), &connection->response)) {
        sim_fail(world, "a server failed");
        sim_connection_end(connection, KI_ERR_UNEXPECTED_EOF);
        return;
    }
    connection->has_response = true;
    connection->status = connection->response.status;
    connection->retry_after_s = connection->response.retry_after_s;
    if (connection->response.watch) {
        kt_watch_on_ready(connection->response.watch, on_ready, connection);
        read_frames(connection);
        return;
    }
    ki_buffer_append(&connection->out, connection->response.body.data, connection->response.body.size);
    sim_tamper_list(connection);
    drop_response(connection);
    connection->is_ended = true;
    wait_to_deliver(connection, connection->latency);
}

static void arrive(void *user, uint64_t argument) {
    sim_connection *connection = user;
    (void)argument;
    connection->actions--;
    sim_world *world = connection->world;
    if (connection->call && !connection->carrier)
        sim_connection_end(connection, KI_ERR_SYSTEM);
    else if (connection->call && world->servers[connection->server].down_until > world->now)
        sim_connection_end(connection, KI_ERR_CONNECT);
    else if (connection->call && !sim_answer(connection))
        give_answer(connection);
    release(connection);
}

/* --- requests ------------------------------------------------------------------------------------------------------------- */

/* The oracle of request rates: no tight loop, whatever the response; no request before a Retry-After has passed. */
static void check_rate(sim_connection *connection) {
    enum {
        AT_ONCE = 10, /* an informer may try a few ways in a row before it waits: each only once */
        AT_ONCE_MS = 400,
        WINDOW_S = 60
    };
    sim_world *world = connection->world;
    sim_line *line = connection->line;
    uint64_t asked = line->asked++;
    line->asked_at[asked % SIM_RATE_WINDOW] = world->now;
    if (asked >= AT_ONCE &&
        world->now - line->asked_at[(asked - AT_ONCE) % SIM_RATE_WINDOW] < AT_ONCE_MS * SIM_MILLISECOND)
        sim_fail(world, "%s: %d requests in %d ms", name_of(connection), AT_ONCE + 1, AT_ONCE_MS);
    if (asked >= SIM_RATE_WINDOW - 1 &&
        world->now - line->asked_at[(asked + 1) % SIM_RATE_WINDOW] < WINDOW_S * SIM_SECOND)
        sim_fail(world, "%s: %d requests in %d s", name_of(connection), SIM_RATE_WINDOW, WINDOW_S);
}

/* The oracle of Retry-After: no request before it has passed. A consistency check also waits for the Retry-After of its informer. */
static void check_retry_after(const sim_connection *connection) {
    sim_world *world = connection->world;
    const sim_line *own = &world->network.lines[sim_source_number(connection->informer, false)];
    int64_t not_before =
        connection->line->not_before > own->not_before ? connection->line->not_before : own->not_before;
    if (world->now < not_before)
        sim_fail(world, "%s: %lld ms before the Retry-After has passed", name_of(connection),
                 (long long)((not_before - world->now) / SIM_MILLISECOND));
}

/* A consistency check can find that the cache is wrong: then a list follows. */
static bool has_other_requests(const sim_world *world) {
    for (unsigned i = 0; i < world->plan.informer_count; i++) {
        if (world->plan.informers[i].checks)
            return true;
    }
    return world->plan.consistency_check_ms > 0;
}

/* A list can follow a lack of memory, or belong to a consistency check. */
static bool lists_for_other_reasons(const sim_world *world) {
    for (size_t i = 0; i < world->plan.fault_count; i++) {
        if (world->plan.faults[i].kind == SIM_NO_MEMORY)
            return true;
    }
    return has_other_requests(world);
}

/* The oracle of resuming: what follows on a watch that fell silent is a watch, and no list. */
static void check_resumption(sim_connection *connection) {
    sim_line *line = connection->line;
    bool is_watch = connection->is_watch && !connection->is_stream;
    if (line->resumes && !is_watch && !connection->is_check)
        sim_fail(connection->world, "%s: a list after a watch that fell silent", name_of(connection));
    line->resumes = false;
}

static const char *parameter(const char *target, const char *name) {
    size_t size = strlen(name);
    for (const char *at = strpbrk(target, "?&"); at; at = strpbrk(at + 1, "?&")) {
        if (strncmp(at + 1, name, size) == 0 && at[1 + size] == '=')
            return at + 2 + size;
    }
    return NULL;
}

static void understand(sim_connection *connection) {
    const char *target = connection->target;
    const char *version = parameter(target, "resourceVersion");
    connection->is_watch = parameter(target, "watch") != NULL;
    connection->is_stream = parameter(target, "sendInitialEvents") != NULL;
    connection->is_continuation = parameter(target, "continue") != NULL;
    connection->is_check = !connection->is_watch && parameter(target, "resourceVersionMatch") != NULL &&
                           strncmp(parameter(target, "resourceVersionMatch"), "NotOlderThan", 12) == 0;
    connection->is_limited = parameter(target, "limit") != NULL && !connection->is_check;
    connection->is_consistent = connection->is_continuation || !version;
    connection->revision = version ? strtoull(version, NULL, 10) : 0;
    connection->in_initial = connection->is_stream;
    connection->arrivals.is_past_initial = !connection->is_stream;
}

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
    sim_connection *connection = sim_alloc(sizeof *connection);
    *connection = (sim_connection){
        .world = world, .call = call, .cut_after = NEVER_SENT, .retry_after_s = -1, .deadline = INT64_MAX
    };
    connection->next = network->first;
    if (connection->next)
        connection->next->previous = connection;
    network->first = connection;
    connection->number = ++world->requests;
    connection->asked_at = world->now;
    connection->target = sim_strdup(request->target);
    ki_buffer_init(&connection->out, &ki_allocator_default, 0);
    ki_buffer_init(&connection->held, &ki_allocator_default, 0);
    understand(connection);
    int owner = sim_socket_owner(request);
    connection->informer = (unsigned)owner / 2;
    connection->is_audit = owner % 2;
    connection->line = &network->lines[owner];
    if (!connection->is_continuation)
        check_rate(connection);
    check_retry_after(connection);
    check_resumption(connection);
    check_doubts(connection);
    connection->server = choose_server(network);
    connection->carrier = board(network, connection->server);
    if (connection->carrier && connection->carrier->is_silent)
        fall_silent(connection);
    bool slow = world->now < network->slow_until;
    connection->latency = sim_between(&network->random, 0, slow ? 4000 : 40) * SIM_MILLISECOND;
    if (world->now < network->small_until)
        connection->chunk = sim_chance(&network->random, 50) ? 1 : (size_t)sim_between(&network->random, 2, 60);
    kt_memory_call_set_user(call, connection);
    sim_note(world, ki_hash(request->target, strlen(request->target), (uint64_t)world->now));
    SIM_TRACE(world, "connection %llu: server %u, %s", (unsigned long long)connection->number, connection->server,
              request->target);
    later(connection, world->now + connection->latency, arrive);
}

static void on_abandoned(kt_memory_call *call, void *user) {
    enum {
        LATEST_S = 95 /* of noticing silence: the idle deadline, and a handler that was slow just then */
    };
    sim_world *world = user;
    sim_connection *connection = kt_memory_call_user(call);
    connection->call = NULL;
    leave(connection);
    lose_what_was_announced(connection);
    check_stream(connection);
    note_words(connection);
    SIM_TRACE(world, "connection %llu: the client lets go", (unsigned long long)connection->number);
    if (connection->is_silent && world->now - connection->silent_since > LATEST_S * SIM_SECOND)
        sim_fail(world, "silence was noticed after %lld s only",
                 (long long)((world->now - connection->silent_since) / SIM_SECOND));
    if (connection->is_silent && connection->is_watch && !connection->is_stream && connection->has_head)
        connection->line->resumes = connection->status == 200 && !lists_for_other_reasons(world);
    drop_response(connection);
    release(connection);
}

/* --- the whole ------------------------------------------------------------------------------------------------------------ */

void sim_network_make(sim_world *world) {
    world->network = (sim_network){ .world = world,
                                    .server = { .serve = on_request, .abandoned = on_abandoned, .user = world },
                                    .random = sim_random_from(world->plan.seed, 11) };
}

void sim_network_free(sim_world *world) {
    sim_network_new_client(world);
    while (world->network.first) {
        sim_connection *connection = world->network.first;
        connection->call = NULL;
        connection->actions = 0;
        drop_response(connection);
        release(connection);
    }
}

void sim_network_drop_responses(sim_world *world) {
    for (sim_connection *connection = world->network.first, *next; connection; connection = next) {
        next = connection->next;
        sim_connection_end(connection, KI_ERR_UNEXPECTED_EOF);
    }
}

void sim_network_arm(sim_world *world, sim_fault_kind kind, uint64_t detail, unsigned count, int64_t until) {
    sim_network *network = &world->network;
    if (network->armed_count < SIM_MAX_ARMED)
        network->armed[network->armed_count++] =
            (sim_armed){ .kind = kind, .until = until, .count = count, .detail = detail };
}

void sim_network_disarm(sim_world *world) {
    world->network.armed_count = 0;
    world->network.slow_until = world->network.small_until = world->network.laggard_until = 0;
    world->network.no_descriptors_until = world->network.few_streams_until = world->network.gone_until = 0;
}

bool sim_network_hits(sim_world *world, sim_fault_kind kind, uint64_t *ret_detail) {
    sim_network *network = &world->network;
    for (size_t i = 0; i < network->armed_count; i++) {
        sim_armed *armed = &network->armed[i];
        if (armed->kind != kind || armed->count == 0 || armed->until < world->now)
            continue;
        armed->count--;
        *ret_detail = armed->detail;
        if (armed->count == 0)
            *armed = network->armed[--network->armed_count];
        return true;
    }
    return false;
}

sim_connection *sim_network_pick(sim_world *world, uint64_t detail, bool watch) {
    size_t count = 0;
    for (sim_connection *at = world->network.first; at; at = at->next)
        count += at->call && !at->is_ended && (!watch || (at->is_watch && at->has_response));
    if (!count)
        return NULL;
    size_t chosen = (size_t)(detail % count);
    for (sim_connection *at = world->network.first; at; at = at->next) {
        if (at->call && !at->is_ended && (!watch || (at->is_watch && at->has_response)) && chosen-- == 0)
            return at;
    }
    return NULL;
}

bool sim_network_owes(const sim_world *world, unsigned informer, uint32_t key) {
    const sim_line *line = &world->network.lines[sim_source_number(informer, false)];
    if (line->announced == key + 1 && world->now - line->announced_at <= SLOW_S * SIM_SECOND)
        return true;
    for (const sim_connection *at = world->network.first; at; at = at->next)
        if (at->call && at->informer == informer && at->ahead == key + 1)
            return true;
    return false;
}

void sim_network_new_client(sim_world *world) {
    for (size_t i = 0; i < SIM_MAX_LINES; i++) {
        free(world->network.lines[i].saved_page);
        world->network.lines[i] = (sim_line){ 0 };
    }
}
