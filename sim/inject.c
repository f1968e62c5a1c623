/* inject.c: injects each kind of fault. Faults of requests wait for a request (network.h); the others happen at
 * once. */
#include "sim/inject.h"

#include "sim/workload.h"
#include "sim/world.h"

#include "src/base/memory.h"

/* --- connections -------------------------------------------------------------------------------------------------- */

static void inject_exchange_fault(sim_world *world, const sim_fault *fault) {
    static const char expired[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
        "\"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"%s\","
        "\"code\":410}}\n";
    uint64_t detail = fault->detail;
    bool watch = fault->kind != SIM_HALF_OPEN && fault->kind != SIM_CUT && fault->kind != SIM_CLOSE;
    sim_exchange *exchange = sim_network_pick(world, detail, watch);
    if (!exchange)
        return;
    ki_buffer text;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    switch (fault->kind) {
    case SIM_HALF_OPEN:
        sim_exchange_silence(exchange);
        break;
    case SIM_CUT:
        exchange->cut_after = (int64_t)(detail >> 8 & 0x3ff);
        if (detail >> 20 & 1)
            sim_exchange_end(exchange, KI_ERR_UNEXPECTED_EOF);
        break;
    case SIM_CLOSE:
        if (detail >> 20 & 1 && exchange->out.size > exchange->sent) /* within a frame */
            sim_exchange_lose_half(exchange);
        sim_exchange_end(exchange, KI_OK);
        break;
    case SIM_EXPIRED_EVENT:
        ki_buffer_printf(&text, expired, detail & 1 ? "Expired" : "Gone");
        sim_exchange_append(exchange, text.data);
        sim_exchange_end(exchange, KI_OK);
        break;
    case SIM_ERROR_EVENT:
        sim_exchange_append(
            exchange, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                      "\"status\":\"Failure\",\"message\":\"etcd\",\"reason\":\"InternalError\",\"code\":500}}\n");
        sim_exchange_end(exchange, KI_OK);
        break;
    case SIM_TOO_LARGE_EVENT:
        sim_exchange_append(exchange,
                            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                            "\"status\":\"Failure\",\"message\":\"Too large resource version: 9, current: 1\","
                            "\"reason\":\"Timeout\",\"code\":504}}\n");
        sim_exchange_end(exchange, KI_OK);
        break;
    case SIM_BOOKMARK_AHEAD:
        exchange->bookmark_before_next = true;
        break;
    case SIM_LOST_EVENT:
        exchange->lose_next = world->plan.consistency_check_ms > 0;
        break;
    case SIM_BAD_EVENT:
        exchange->damage_next = true;
        break;
    case SIM_HUGE_EVENT:
        exchange->enlarge_next = true;
        break;
    case SIM_REAPPEARS:
        if (exchange->arrivals.is_past_initial && exchange->status == 200 && !exchange->is_ended)
            sim_tamper_reappear(exchange, detail >> 8);
        break;
    default:
        break;
    }
    ki_buffer_free(&text);
}

/* --- servers ------------------------------------------------------------------------------------------------------ */

static void restore(sim_world *world, uint64_t detail) {
    sim_truth *truth = &world->truth;
    if (truth->log_count < 4 || world->now < world->network.type_gone_until)
        return;
    size_t lost = 1 + (size_t)(detail % (truth->log_count / 2));
    SIM_TRACE(world, "the cluster loses its last %zu writes", lost);
    sim_network_end_all(world);
    sim_truth_restore(world, truth->log_count - lost);
    sim_servers_restore(world);
    sim_client_note_restore(world);
}

static void end_lag(void *user, uint64_t generation) {
    sim_server *server = user;
    if (generation == server->generation)
        sim_server_set_lag(server, server->world->plan.lag[server->index]);
}

/* Ends all exchanges. For a while, new requests go to the server that lags most. */
static void move_to_laggard(sim_world *world, uint64_t detail) {
    world->network.laggard_until = world->now + (int64_t)(5 + detail % 60) * SIM_SECOND;
    for (sim_exchange *exchange = world->network.first, *next; exchange; exchange = next) {
        next = exchange->next;
        if (!exchange->is_ended)
            sim_exchange_end(exchange, detail >> 16 & 1 ? KI_ERR_UNEXPECTED_EOF : KI_OK);
    }
}

static void inject_server_fault(sim_world *world, const sim_fault *fault) {
    uint64_t detail = fault->detail;
    sim_server *server = &world->servers[detail % world->plan.servers];
    int64_t length = (int64_t)(1 + (detail >> 8) % 90) * SIM_SECOND;
    switch (fault->kind) {
    case SIM_COMPACT:
        for (unsigned i = 0; i < world->plan.servers; i++)
            kt_cluster_compact(world->servers[i].cluster, 0);
        break;
    case SIM_RESTORE:
        restore(world, detail);
        break;
    case SIM_LAG:
        if (server->index == 0)
            return; /* the first server has no lag */
        sim_server_set_lag(server, length);
        sim_after(world, length, end_lag, server, server->generation);
        break;
    case SIM_RESTART_SERVER:
        server->down_until = world->now + length / 3;
        sim_fetches_storm(world);
        kt_cluster_close_watches(server->cluster);
        break;
    case SIM_TO_LAGGARD:
        move_to_laggard(world, detail);
        break;
    case SIM_TYPE_GONE:
        if (!sim_workload_may_write(world, SIM_KEYS))
            return;
        for (uint32_t key = 0; key < SIM_KEYS; key++)
            sim_truth_delete(world, key);
        for (unsigned i = 0; i < world->plan.servers; i++)
            kt_cluster_close_watches(world->servers[i].cluster);
        sim_network_add_fault(world, SIM_TYPE_GONE, detail, UINT32_MAX, world->now + length);
        world->network.type_gone_until = world->now + length;
        break;
    default:
        break;
    }
}

/* --- the network and the client ----------------------------------------------------------------------------------- */

static void end_memory_shortage(void *user, uint64_t argument) {
    sim_world *world = user;
    (void)argument;
    world->memory.per_mille = 0;
}

static void write_some(void *user, uint64_t count) {
    while (count-- > 0)
        sim_workload_write(user);
}

static void restart_client(void *user, uint64_t argument) {
    sim_world *world = user;
    (void)argument;
    sim_world_restart_client(world);
}

static void end_random_exchange(sim_world *world, uint64_t detail) {
    sim_exchange *exchange = sim_network_pick(world, detail >> 4, false);
    if (exchange)
        sim_exchange_end(exchange, detail >> 24 & 1 ? KI_ERR_UNEXPECTED_EOF : KI_OK);
}

static void inject_client_fault(sim_world *world, const sim_fault *fault) {
    uint64_t detail = fault->detail;
    int64_t length = (int64_t)(1 + detail % 60) * SIM_SECOND;
    switch (fault->kind) {
    case SIM_SMALL_CHUNKS:
        world->network.small_chunks_until = world->now + length;
        for (sim_exchange *exchange = world->network.first; exchange; exchange = exchange->next)
            exchange->chunk = detail >> 20 & 1 ? 1 : 2 + (size_t)(detail >> 21 & 0x3f);
        break;
    case SIM_SLOW_NETWORK:
        world->network.slow_until = world->now + length;
        break;
    case SIM_NO_MEMORY:
        world->memory.per_mille = 1 + (unsigned)(detail >> 8) % (detail >> 32 & 1 ? 20 : 500);
        for (int64_t at = 0; at < length / 4; at += SIM_SECOND) /* so that there are changes to fail on */
            sim_after(world, at, write_some, world, detail >> 33 & 0xf);
        sim_after_client(world, length / 4, end_memory_shortage, world, 0);
        break;
    case SIM_RESTART_CLIENT:
        restart_client(world, 0);
        break;
    case SIM_NO_DESCRIPTORS:
        world->network.no_descriptors_until = world->now + length;
        end_random_exchange(world, detail); /* only a new connection needs a descriptor */
        break;
    case SIM_FEW_STREAMS:
        world->network.few_streams_until = world->now + length;
        end_random_exchange(world, detail);
        break;
    case SIM_CLOCK_JUMPS:
        world->wall_jump =
            ((int64_t)(detail >> 8 & 0xffff) - 0x8000) * 3 * SIM_SECOND; /* up to a day, in either direction */
        break;
    default:
        break;
    }
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

void sim_inject(sim_world *world, const sim_fault *fault) {
    SIM_TRACE(world, "fault: %s", sim_fault_name(fault->kind));
    if (fault->kind <= SIM_HUGE_EVENT || fault->kind == SIM_REAPPEARS) {
        inject_exchange_fault(world, fault);
    } else if (fault->kind == SIM_STREAM_CLOSES) {
        sim_network_add_fault(world, fault->kind, fault->detail, 1 + (unsigned)(fault->detail >> 40) % 4,
                              world->now + 180 * SIM_SECOND);
        inject_exchange_fault(world, &(sim_fault){ SIM_EXPIRED_EVENT, fault->at, fault->detail }); /* a list follows */
    } else if (fault->kind <= SIM_BAD_ITEM) {
        unsigned count_max = fault->kind == SIM_CLOSE_AT_ONCE ? 200 : fault->kind == SIM_REFUSE ? 12 : 4;
        sim_network_add_fault(world, fault->kind, fault->detail, 1 + (unsigned)(fault->detail >> 40) % count_max,
                              world->now + 180 * SIM_SECOND);
        /* Without an end there may be no further request for minutes. */
        if (fault->detail >> 50 & 1) {
            sim_exchange *exchange = sim_network_pick(world, fault->detail, false);
            if (exchange)
                sim_exchange_end(exchange, fault->detail >> 51 & 1 ? KI_ERR_UNEXPECTED_EOF : KI_OK);
        }
    } else if (fault->kind <= SIM_TYPE_GONE)
        inject_server_fault(world, fault);
    else
        inject_client_fault(world, fault);
}

void sim_end_faults(sim_world *world) {
    SIM_TRACE(world, "no faults from now on");
    world->is_fault_free = true;
    world->memory.per_mille = 0;
    sim_network_clear_faults(world);
    for (unsigned i = 0; i < world->plan.servers; i++) {
        world->servers[i].down_until = 0;
        sim_server_set_lag(&world->servers[i], 0);
    }
    for (sim_exchange *exchange = world->network.first; exchange; exchange = exchange->next)
        exchange->bookmark_before_next = exchange->lose_next = exchange->damage_next = exchange->enlarge_next = false;
}
