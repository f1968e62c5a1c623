/* test_elector_safety.c: electors with clocks of different rates, in processes that are suspended at any point for any
 * time, over a network that delays, loses and repeats: at no instant do two of them lead. Each seed is a story of some
 * minutes. KI_TEST_SEEDS=10000 tells more of them, KI_TEST_FIRST=7 begins there. A story that fails prints its seed. */
#include <kinformer-controllers/leader.h>

#include "src/base/memory.h"
#include "src/engine/engine.h"
#include "src/factory/factory.h"
#include "src/object/json.h"
#include "testing/memory/transport.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEEDS = 120,
    PROCESSES = 5,
    MESSAGES = 256,
    TEXT = 1024,
    VERSIONS = 8, /* of the Lease that a stale read may still see */
    TURNS_MAX = 100000
};

#define FAULTS_END KI_SECONDS(150)
#define LEADS_AGAIN_WITHIN KI_SECONDS(40)
#define STAYS_FOR KI_SECONDS(60)
#define LEASE_MS 15000

typedef struct process {
    struct world *world;
    char identity[32];
    bool is_there;
    bool is_inside; /* suspended within a callback */
    bool is_stopped;
    bool leads; /* by its callbacks */
    int64_t suspended_until;
    int64_t wakes_at; /* something else happens to it; INT64_MAX: nothing */
    double rate;      /* of its clock */
    int64_t epoch;
    ki_engine *engine;
    ki_transport *transport;
    ki_factory *factory;
    ki_elector *elector;
    ki_task reading;
} process;

/* A request on its way to the server, or a response on its way back. */
typedef struct message {
    enum {
        NO_MESSAGE,
        TO_SERVER,
        TO_PROCESS
    } way;
    int64_t due;
    process *process;
    kt_memory_call *call; /* NULL: nobody waits for it any more */
    int status;           /* 0: the connection is cut */
    char method[8];
    char text[TEXT];
} message;

typedef struct version {
    char text[TEXT]; /* "": there is no Lease */
    char spec[TEXT];
} version;

typedef struct world {
    uint64_t random;
    int64_t now; /* true time */
    bool has_faults;
    uint64_t calm; /* of the network and the server: 1, or how many times more rarely they fail */
    int64_t renew_ms;
    double rate_max; /* of clocks; the least is 1 */
    process processes[PROCESSES];
    int process_count, made;
    message messages[MESSAGES];
    version versions[VERSIONS]; /* of the Lease, the newest first */
    uint64_t revision;
    int64_t most_token;
    char last_leader[32];
    uint64_t terms;
    char error[256]; /* the first violation */
} world;

static world the_world;

/* --- chance ------------------------------------------------------------------------------------------------------- */

static uint64_t draw(world *self) {
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random * UINT64_C(0x2545F4914F6CDD1D) >> 11;
}

static bool one_in(world *self, uint64_t n) {
    return draw(self) % n == 0;
}

/* Often short, sometimes as long as `most`: the higher `skew`, the more often short. */
static int64_t some_time(world *self, int64_t most, uint64_t skew) {
    int64_t bound = most >> (draw(self) % skew);
    return bound > 0 ? (int64_t)(draw(self) % (uint64_t)bound) : 0;
}

/* Does the network or the server fail, where the worst ones do so once in `n` times? */
static bool fails(world *self, uint64_t n) {
    return self->has_faults && one_in(self, n * self->calm);
}

static void violated(world *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void violated(world *self, const char *format, ...) {
    va_list args;
    if (self->error[0])
        return;
    va_start(args, format);
    int used = snprintf(self->error, sizeof self->error, "at %.3f s: ", (double)self->now / 1e9);
    vsnprintf(self->error + used, sizeof self->error - (size_t)used, format, args);
    va_end(args);
}

/* --- the server --------------------------------------------------------------------------------------------------- */

static void commit(world *self, const char *spec) {
    memmove(&self->versions[1], &self->versions[0], (VERSIONS - 1) * sizeof *self->versions);
    version *newest = &self->versions[0];
    self->revision++;
    snprintf(newest->spec, sizeof newest->spec, "%s", spec);
    snprintf(newest->text, sizeof newest->text,
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"lock\","
             "\"namespace\":\"default\",\"resourceVersion\":\"%" PRIu64 "\"},\"spec\":%s}",
             self->revision, spec);
}

/* Creates or updates as the API server does: only what it is now may be updated, and what changes nothing makes no
 * version. */
static int write_lease(world *self, const char *method, const char *body) {
    yyjson_doc *doc = NULL;
    char now[24];
    assert_int_equal(ki_json_parse(&ki_allocator_default, ki_str_of(body), &doc, NULL), KI_OK);
    yyjson_val *root = yyjson_doc_get_root(doc);
    ki_str given = ki_json_string(yyjson_obj_get(root, "metadata"), "resourceVersion");
    char *spec = yyjson_val_write(yyjson_obj_get(root, "spec"), YYJSON_WRITE_NOFLAG, NULL);
    bool is_there = self->versions[0].text[0] != '\0', creates = strcmp(method, "POST") == 0;
    snprintf(now, sizeof now, "%" PRIu64, self->revision);
    int status = creates ? 201 : 200;
    if (!creates && !is_there)
        status = 404;
    else if (creates ? is_there : !ki_str_equals(given, now))
        status = 409;
    else if (creates || strcmp(spec, self->versions[0].spec) != 0)
        commit(self, spec);
    yyjson_doc_free(doc);
    free(spec);
    return status;
}

static void handle(world *self, message *mail) {
    static const char *const no = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\"}";
    const version *seen = &self->versions[0];
    if (fails(self, 20)) {
        mail->status = one_in(self, 2) ? 500 : 409;
    } else if (strcmp(mail->method, "GET") == 0) {
        if (fails(self, 20))
            seen += draw(self) % VERSIONS;
        mail->status = seen->text[0] ? 200 : 404;
    } else {
        mail->status = write_lease(self, mail->method, mail->text);
        if (fails(self, 20))
            mail->status = 500; /* done all the same */
    }
    snprintf(mail->text, sizeof mail->text, "%s", mail->status < 300 ? seen->text : no);
}

/* --- the network -------------------------------------------------------------------------------------------------- */

static int64_t delay(world *self) {
    if (fails(self, 1))
        return KI_MILLISECONDS(1) + some_time(self, KI_SECONDS(40), 16);
    return KI_MILLISECONDS(1) + some_time(self, KI_MILLISECONDS(500), 12);
}

static message *new_message(world *self) {
    for (int i = 0; i < MESSAGES; i++)
        if (self->messages[i].way == NO_MESSAGE)
            return &self->messages[i];
    return NULL; /* lost */
}

static void forget_call(world *self, const kt_memory_call *call) {
    for (int i = 0; i < MESSAGES; i++)
        if (self->messages[i].call == call)
            self->messages[i].call = NULL;
}

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    process *sender = user;
    world *self = sender->world;
    int copies = fails(self, 10) ? 0 : fails(self, 10) ? 2 : 1;
    if (self->has_faults && one_in(self, 4))
        sender->wakes_at = self->now + some_time(self, KI_SECONDS(1), 8);
    while (copies-- > 0) {
        message *mail = new_message(self);
        if (!mail)
            return;
        *mail = (message){ .way = TO_SERVER, .due = self->now + delay(self), .process = sender, .call = call };
        snprintf(mail->method, sizeof mail->method, "%s", request->method);
        assert_true(request->body.size < sizeof mail->text);
        if (request->body.size)
            memcpy(mail->text, request->body.data, request->body.size);
    }
}

static void abandoned(kt_memory_call *call, void *user) {
    forget_call(((process *)user)->world, call);
}

/* The server has handled a request: the response sets out, or is lost. */
static void respond(world *self, message *mail) {
    mail->way = TO_PROCESS;
    mail->due = self->now + delay(self);
    if (fails(self, 10))
        mail->way = NO_MESSAGE;
    else if (fails(self, 20))
        mail->status = 0;
}

static void deliver(world *self, message *mail) {
    static const ki_error cut = { .code = KI_ERR_UNEXPECTED_EOF, .message = "cut" };
    kt_memory_call *call = mail->call;
    char text[TEXT];
    const ki_response_head head = { .status = mail->status, .retry_after_ms = -1, .content_type = "application/json" };
    memcpy(text, mail->text, sizeof text);
    mail->way = NO_MESSAGE;
    mail->call = NULL;
    if (!call)
        return;
    forget_call(self, call);
    if (!head.status)
        kt_memory_call_end(call, &cut);
    else if (kt_memory_call_head(call, &head) && kt_memory_call_data(call, text, strlen(text)))
        kt_memory_call_end(call, NULL);
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void run_until(world *self, int64_t end);

static int64_t clock_now(void *user) {
    const process *self = user;
    return self->epoch + (int64_t)((double)self->world->now * self->rate);
}

/* Jumps about: nothing may rest on it. */
static int64_t wall_now(void *user) {
    process *self = user;
    return KI_SECONDS(1780000000) + (int64_t)(draw(self->world) % 3) * KI_SECONDS(1);
}

static bool has_request_out(const process *self) {
    const world *all = self->world;
    for (int i = 0; i < MESSAGES; i++)
        if (all->messages[i].way != NO_MESSAGE && all->messages[i].process == self && all->messages[i].due > all->now)
            return true;
    return false;
}

/* Reads what has arrived, perhaps after the process was suspended since the engine looked at its clock. */
static void read_messages(ki_task *task, void *user) {
    (void)task;
    process *self = user;
    world *all = self->world;
    if (all->has_faults && one_in(all, has_request_out(self) ? 8 : 40)) {
        self->is_inside = true;
        run_until(all, all->now + some_time(all, KI_SECONDS(60), 4));
        self->is_inside = false;
    }
    for (int i = 0; i < MESSAGES; i++) {
        message *mail = &all->messages[i];
        if (mail->way == TO_PROCESS && mail->process == self && mail->due <= all->now)
            deliver(all, mail);
    }
}

static void on_started(ki_elector *elector, void *user) {
    process *self = user;
    world *all = self->world;
    int64_t token = ki_elector_fencing_token(elector);
    for (int i = 0; i < all->process_count; i++) {
        const process *other = &all->processes[i];
        if (other->is_there && other->leads && !other->is_inside && other->suspended_until <= all->now)
            violated(all, "%s starts to lead before %s stopped", self->identity, other->identity);
    }
    if (token < all->most_token || (token == all->most_token && strcmp(all->last_leader, self->identity) != 0))
        violated(all, "%s leads with token %" PRId64 " after %s with %" PRId64, self->identity, token, all->last_leader,
                 all->most_token);
    all->most_token = token;
    all->terms++;
    snprintf(all->last_leader, sizeof all->last_leader, "%s", self->identity);
    self->leads = true;
}

static void on_stopped(ki_elector *elector, void *user) {
    (void)elector;
    ((process *)user)->leads = false;
}

static void begin_process(process *self) {
    world *all = self->world;
    *self = (process){ .world = all, .is_there = true, .wakes_at = INT64_MAX };
    snprintf(self->identity, sizeof self->identity, "p%d", all->made++);
    self->rate = 1 + (double)(draw(all) % 1000) / 1000 * (all->rate_max - 1);
    self->epoch = (int64_t)(draw(all) % (uint64_t)KI_SECONDS(1000000));
    const ki_clock clock = { clock_now, self, wall_now };
    const kt_memory_server server = { serve, abandoned, self };
    const ki_elector_options options =
        KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock", .identity = self->identity,
                           .lease_duration_ms = LEASE_MS, .renew_deadline_ms = all->renew_ms,
                           .retry_period_ms = INT64_C(2000) >> (draw(all) % 4), .release_on_stop = one_in(all, 2),
                           .callbacks = { .on_started_leading = on_started, .on_stopped_leading = on_stopped },
                           .user = self);
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock, .seed = draw(all) + 1), &self->engine, NULL),
                     KI_OK);
    assert_int_equal(kt_memory_transport_new(self->engine, &server, &self->transport, NULL), KI_OK);
    assert_int_equal(
        ki_factory_new_on(NULL, self->transport, &KI_FACTORY_OPTIONS(.engine = self->engine), &self->factory, NULL),
        KI_OK);
    ki_task_init(&self->reading, self->engine, read_messages, self);
    assert_int_equal(ki_elector_new(self->factory, &options, &self->elector, NULL), KI_OK);
    assert_int_equal(ki_factory_start(self->factory, NULL), KI_OK);
}

/* Its requests stay on their way. */
static void crash(process *self) {
    world *all = self->world;
    self->is_there = false;
    ki_task_cancel(&self->reading);
    ki_elector_free(self->elector);
    ki_factory_free(self->factory);
    ki_transport_free(self->transport);
    ki_engine_free(self->engine);
    for (int i = 0; i < MESSAGES; i++) {
        message *mail = &all->messages[i];
        if (mail->process != self)
            continue;
        mail->call = NULL;
        if (mail->way == TO_PROCESS)
            mail->way = NO_MESSAGE;
    }
}

static void misfortune(process *self) {
    world *all = self->world;
    if (one_in(all, 40))
        self->suspended_until = all->now + some_time(all, KI_SECONDS(60), 4);
    if (one_in(all, 300)) {
        ki_elector_stop(self->elector);
        self->is_stopped = true;
    }
    if (one_in(all, 300)) {
        crash(self);
        begin_process(self);
    }
}

static void step(process *self) {
    if (self->wakes_at <= self->world->now)
        self->wakes_at = INT64_MAX;
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        assert_int_equal(ki_engine_step(self->engine, 0, NULL), KI_OK);
        if (ki_engine_timeout(self->engine) != 0)
            break;
    }
    if (self->world->has_faults)
        misfortune(self);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

/* A process begins to lead only when something happens to it: between two events nobody does. */
static void check(world *self) {
    const process *leader = NULL;
    for (int i = 0; i < self->process_count; i++) {
        const process *one = &self->processes[i];
        if (!one->is_there || !ki_elector_is_leader(one->elector))
            continue;
        if (leader)
            violated(self, "%s and %s lead", leader->identity, one->identity);
        leader = one;
    }
}

/* Returns when the process has something to do, in true time. */
static int64_t wake_time(const process *self) {
    const world *all = self->world;
    if (!self->is_there || self->is_inside)
        return INT64_MAX;
    int64_t due = self->wakes_at;
    int timeout = ki_engine_timeout(self->engine);
    int64_t left = (int64_t)((double)KI_MILLISECONDS(timeout) / self->rate) + (timeout > 0);
    if (timeout >= 0 && all->now + left < due)
        due = all->now + left;
    for (int i = 0; i < MESSAGES; i++)
        if (all->messages[i].way == TO_PROCESS && all->messages[i].process == self && all->messages[i].due < due)
            due = all->messages[i].due;
    if (due == INT64_MAX)
        return due;
    if (due < self->suspended_until)
        due = self->suspended_until;
    return due > all->now ? due : all->now;
}

/* Does what is due first, if that is before `end`. */
static bool do_next(world *self, int64_t end) {
    process *who = NULL;
    message *mail = NULL;
    int64_t due = end;
    for (int i = 0; i < self->process_count; i++) {
        int64_t wake = wake_time(&self->processes[i]);
        if (wake < due) {
            due = wake;
            who = &self->processes[i];
        }
    }
    for (int i = 0; i < MESSAGES; i++) {
        if (self->messages[i].way == TO_SERVER && self->messages[i].due < due) {
            due = self->messages[i].due;
            mail = &self->messages[i];
        }
    }
    if (!who && !mail)
        return false;
    self->now = due > self->now ? due : self->now;
    if (mail) {
        handle(self, mail);
        respond(self, mail);
    } else {
        ki_task_post(&who->reading);
        step(who);
    }
    check(self);
    return true;
}

static void run_until(world *self, int64_t end) {
    while (!self->error[0] && do_next(self, end)) {}
    if (self->now < end)
        self->now = end;
    check(self);
}

/* --- stories ------------------------------------------------------------------------------------------------------ */

static const process *leader_of(const world *self) {
    for (int i = 0; i < self->process_count; i++)
        if (self->processes[i].is_there && ki_elector_is_leader(self->processes[i].elector))
            return &self->processes[i];
    return NULL;
}

/* Some processes begin anew, among them those that were stopped. What is on its way is lost: a late request could let
 * one hold the Lease that is gone. */
static void heal(world *self) {
    self->has_faults = false;
    for (int i = 0; i < MESSAGES; i++)
        self->messages[i].way = NO_MESSAGE;
    for (int i = 0; i < self->process_count; i++) {
        process *one = &self->processes[i];
        one->suspended_until = 0;
        if (!one->is_stopped && one_in(self, 2))
            continue;
        crash(one);
        begin_process(one);
    }
}

static void tell(uint64_t seed, int process_count) {
    world *self = &the_world;
    *self = (world){ .random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1,
                     .has_faults = true,
                     .revision = 1,
                     .process_count = process_count,
                     .most_token = -1 };
    static const uint64_t calms[] = { 1, 10, 1000 };
    self->calm = calms[draw(self) % 3];
    self->renew_ms = 8000 + (int64_t)(draw(self) % 6) * 1000;
    self->rate_max = (double)LEASE_MS / (double)self->renew_ms * 0.995;
    for (int i = 0; i < process_count; i++) {
        self->processes[i].world = self;
        begin_process(&self->processes[i]);
    }
    run_until(self, FAULTS_END);
    heal(self);
    run_until(self, self->now + LEADS_AGAIN_WITHIN);
    const process *leader = leader_of(self);
    if (!leader)
        violated(self, "nobody leads");
    run_until(self, self->now + STAYS_FOR);
    if (leader != leader_of(self))
        violated(self, "the leader changed without a fault");
    for (int i = 0; i < process_count; i++)
        crash(&self->processes[i]);
    if (self->error[0])
        fail_msg("seed %" PRIu64 ", %d processes: %s", seed, process_count, self->error);
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void tell_all(int process_count) {
    uint64_t first = number_of("KI_TEST_FIRST", 1), count = number_of("KI_TEST_SEEDS", SEEDS), terms = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        tell(seed, process_count);
        terms += the_world.terms;
    }
    assert_true(terms > count); /* leadership changed: there was something to see */
}

TEST(of_two_electors_at_most_one_leads_at_any_time) {
    tell_all(2);
}

TEST(of_five_electors_at_most_one_leads_at_any_time) {
    tell_all(PROCESSES);
}
