/* demo_controller.c: kinformer demo --controller: a sample controller on the embedded server. A script that the seed
 * decides creates, scales and deletes Foos and breaks their Deployments. The controller, another process, fixes them.
 * This program prints both, with informers of its own, on one thread. */
#include "demo_controller.h"

#include "demo_program.h"
#include "demo_world.h"
#include "meter.h"
#include "output.h"
#include "session.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

enum {
    TICK_MS = 50,
    STEP_EVERY_MS = 100, /* between two steps of the cluster's own controllers */
    ACT_EVERY_MS = 400,
    FIRST_WITHIN_MS = 20000, /* time limit for the controller's first Deployment */
    RIGHT_WITHIN_MS = 20000, /* time limit after the last act */
    FOOS = 6,
    FOOS_MIN = 3,
    REPLICAS_MAX = 6
};

/* One Foo of the script, and its Deployment. */
typedef struct foo {
    const char *name;
    bool exists;
    int replicas;
    int by_hand;            /* replicas that the saboteur set; 0: none */
    int64_t mismatch_at_ns; /* 0: the Deployment matches its Foo */
} foo;

typedef enum act {
    ACT_CREATE,
    ACT_SCALE,
    ACT_DELETE,
    ACT_SET_BY_HAND,
    ACT_DELETE_BY_HAND,
    ACTS
} act;

typedef struct demo {
    session session;
    demo_world world;
    demo_program program;
    foo foos[FOOS];
    uint64_t random;
    foo *next_foo; /* the Foo of the next act; NULL: not chosen yet */
    act next_act;
    unsigned long long acts[ACTS];
    meter repairs; /* nanoseconds */
    int64_t next_act_ms, next_step_ms;
    int64_t first_ms; /* time of the first Foo; 0: not yet */
    int64_t live_ms;  /* time of the controller's first Deployment; 0: not yet */
    int64_t ended_ms; /* time of the script's end; 0: not yet */
    int64_t right_ms; /* time when all Deployments matched after that; 0: not yet */
    size_t foo_count; /* Foos at the end */
    char wrong[256];  /* the first difference at the end; "": none */
} demo;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns a number from 0 to `below` - 1 (splitmix64: the same for a seed everywhere). */
static unsigned draw(demo *d, unsigned below) {
    uint64_t z = d->random += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (unsigned)((z ^ (z >> 31)) % below);
}

/* ---- the live view ---- */

static void show(demo *d, const char *actor, colour which, const char *format, ...)
    __attribute__((__format__(__printf__, 4, 5)));

static void show(demo *d, const char *actor, colour which, const char *format, ...) {
    va_list arguments;
    double seconds = (double)(session_now_ms() - d->first_ms) / 1000;
    printf("%6.2f s  %s%-10s%s  ", seconds, colour_text(stdout, which), actor, colour_text(stdout, COLOUR_NONE));
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    if (!output_flush())
        session_end(&d->session, output_status());
}

static const char *plural(int64_t count) {
    return count == 1 ? "replica" : "replicas";
}

static foo *find_foo(demo *d, const char *name) {
    for (size_t i = 0; i < FOOS; i++) {
        if (strcmp(d->foos[i].name, name) == 0)
            return &d->foos[i];
    }
    return NULL;
}

/* Prints what the controller did to a Deployment, and measures how long it took. */
static void on_deployment(demo *d, const ki_event *event) {
    const struct demo_view *is = ki_object_view(event->obj);
    const struct demo_view *was = event->old ? ki_object_view(event->old) : NULL;
    foo *f = find_foo(d, ki_object_name(event->obj));
    if (!f || (was && was->replicas == is->replicas))
        return;
    if (was && f->by_hand && is->replicas == f->by_hand)
        return; /* this program made the change */
    if (was)
        show(d, "controller", COLOUR_GREEN, "sets Deployment %s to %lld %s", f->name, (long long)is->replicas,
             plural(is->replicas));
    else
        show(d, "controller", COLOUR_GREEN, "creates Deployment %s with %lld %s", f->name, (long long)is->replicas,
             plural(is->replicas));
    if (f->exists && f->mismatch_at_ns && is->replicas == f->replicas) {
        if (d->live_ms) /* the first one includes the controller's start */
            meter_add(&d->repairs, now_ns() - f->mismatch_at_ns);
        f->mismatch_at_ns = 0;
        f->by_hand = 0;
    }
    if (!d->live_ms)
        d->live_ms = session_now_ms();
}

static void on_foo(demo *d, const ki_event *event) {
    const struct demo_view *is = ki_object_view(event->obj);
    const struct demo_view *was = ki_object_view(event->old);
    if (was->available != is->available && is->available == is->replicas)
        show(d, "controller", COLOUR_GREEN, "writes the status of Foo %s: %lld of %lld available",
             ki_object_name(event->obj), (long long)is->available, (long long)is->replicas);
}

static demo *demo_of(void *target_user) {
    const target *t = target_user;
    return t->session->user;
}

static void on_change(const ki_event *event, void *user) {
    const target *t = user;
    bool is_deployment = t == &t->session->targets[0];
    if (is_deployment)
        on_deployment(demo_of(user), event);
    else if (event->type == KI_EVENT_UPDATE)
        on_foo(demo_of(user), event);
}

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    (void)informer;
    t->synced = true;
}

/* ---- the script ---- */

static ki_status create_foo(demo *d, const foo *f, ki_error *err) {
    char json[256];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"deploymentName\":\"%s\",\"replicas\":%d}}",
             f->name, f->name, f->replicas);
    return ki_testing_server_create(d->world.server, &demo_foos, DEMO_NAMESPACE, json, 0, err);
}

static ki_status set_replicas(demo *d, const ki_resource *resource, const foo *f, int replicas, ki_error *err) {
    char json[64];
    snprintf(json, sizeof json, "{\"spec\":{\"replicas\":%d}}", replicas);
    return ki_testing_server_patch(d->world.server, resource, DEMO_NAMESPACE, f->name, json, 0, err);
}

/* Returns a random number of replicas other than `replicas`. */
static int draw_other(demo *d, int replicas) {
    int other = 1 + (int)draw(d, REPLICAS_MAX - 1);
    return other < replicas ? other : other + 1;
}

/* Chooses the next act and its Foo. Only the seed decides, not the controller and not the clock. */
static void choose(demo *d) {
    size_t count = 0;
    for (size_t i = 0; i < FOOS; i++)
        count += d->foos[i].exists;
    unsigned roll = draw(d, 100);
    unsigned number = draw(d, FOOS);
    while (count < FOOS_MIN && d->foos[number].exists)
        number = (number + 1) % FOOS;
    d->next_foo = &d->foos[number];
    if (!d->next_foo->exists)
        d->next_act = ACT_CREATE;
    else
        d->next_act = roll < 25                        ? ACT_SCALE
                      : roll < 50                      ? ACT_SET_BY_HAND
                      : roll < 75 || count == FOOS_MIN ? ACT_DELETE_BY_HAND
                                                       : ACT_DELETE;
}

/* Does the next act. Returns the server's status. */
static ki_status make(demo *d, foo *f, ki_error *err) {
    int replicas;
    ki_status status = KI_ERR_INVALID;
    switch (d->next_act) {
    case ACT_CREATE:
        f->replicas = draw_other(d, REPLICAS_MAX);
        show(d, "user", COLOUR_BOLD, "creates Foo %s with %d %s", f->name, f->replicas, plural(f->replicas));
        status = create_foo(d, f, err);
        f->exists = true;
        break;
    case ACT_SCALE:
        replicas = draw_other(d, f->replicas);
        show(d, "user", COLOUR_BOLD, "scales Foo %s from %d to %d", f->name, f->replicas, replicas);
        f->replicas = replicas;
        f->by_hand = 0;
        status = set_replicas(d, &demo_foos, f, replicas, err);
        break;
    case ACT_DELETE:
        show(d, "user", COLOUR_BOLD, "deletes Foo %s", f->name);
        f->exists = false;
        status = ki_testing_server_delete(d->world.server, &demo_foos, DEMO_NAMESPACE, f->name, err);
        break;
    case ACT_SET_BY_HAND:
        f->by_hand = draw_other(d, f->replicas);
        show(d, "saboteur", COLOUR_RED, "sets Deployment %s to %d %s", f->name, f->by_hand, plural(f->by_hand));
        status = set_replicas(d, KI_DEPLOYMENTS, f, f->by_hand, err);
        break;
    default:
        show(d, "saboteur", COLOUR_RED, "deletes Deployment %s", f->name);
        status = ki_testing_server_delete(d->world.server, KI_DEPLOYMENTS, DEMO_NAMESPACE, f->name, err);
        break;
    }
    f->mismatch_at_ns = d->next_act == ACT_DELETE ? 0 : now_ns();
    d->acts[d->next_act]++;
    return status;
}

/* Does the next act, once its Deployment matches its Foo. */
static ki_status run_script(demo *d, int64_t now_ms, ki_error *err) {
    bool is_waiting = d->acts[ACT_CREATE] && !d->live_ms; /* the controller has done nothing yet */
    if (is_waiting || now_ms < d->next_act_ms)
        return KI_OK;
    if (!d->next_foo)
        choose(d);
    if (d->next_foo->mismatch_at_ns)
        return KI_OK;
    foo *f = d->next_foo;
    d->next_foo = NULL;
    d->next_act_ms = now_ms + ACT_EVERY_MS;
    return make(d, f, err);
}

static void on_collected(const char *name, void *user) {
    show(user, "cluster", COLOUR_DIM, "deletes Deployment %s: its Foo was deleted", name);
}

/* ---- the run ---- */

static void fail(demo *d, const char *what) {
    say("demo", "%s", what);
    session_end(&d->session, EXIT_FAILED);
}

/* Ends the session once all Deployments match, or after RIGHT_WITHIN_MS. */
static void look_at_end(demo *d, int64_t now_ms) {
    if (demo_world_is_right(&d->world, &d->foo_count, d->wrong, sizeof d->wrong)) {
        d->right_ms = now_ms;
        session_end(&d->session, EXIT_OK);
    } else if (now_ms - d->ended_ms > RIGHT_WITHIN_MS) {
        session_end(&d->session, EXIT_FAILED);
    }
}

static void on_tick(session *s, int64_t now_ms) {
    demo *d = s->user;
    ki_error err = KI_ERROR_INIT;
    ki_status status = KI_OK;
    if (!session_has_synced(s))
        return;
    if (!d->first_ms) { /* the first act creates the first Foo */
        d->first_ms = now_ms;
        d->world.informer = s->targets[0].informer;
        if (!demo_program_start(&d->program)) {
            session_end(s, EXIT_FAILED);
            return;
        }
    }
    if (demo_program_has_ended(&d->program)) {
        session_end(s, EXIT_FAILED);
        return;
    }
    if (!d->live_ms && now_ms - d->first_ms > FIRST_WITHIN_MS) {
        fail(d, "the controller created no Deployment for the first Foo");
        return;
    }
    if (now_ms >= d->next_step_ms) {
        d->next_step_ms = now_ms + STEP_EVERY_MS;
        status = demo_world_step(&d->world, on_collected, d, &err);
    }
    if (!status && !d->ended_ms)
        status = run_script(d, now_ms, &err);
    if (status) {
        fail(d, ki_error_message(&err));
        return;
    }
    if (d->live_ms && !d->ended_ms && now_ms - d->live_ms >= s->options->seconds * 1000)
        d->ended_ms = now_ms;
    if (d->ended_ms)
        look_at_end(d, now_ms);
}

static int summarise(demo *d, bool has_succeeded) {
    char number[32];
    size_t repaired = d->repairs.count;
    printf("\n%safter %.1f s:%s\n", colour_text(stdout, COLOUR_BOLD), (double)(d->ended_ms - d->live_ms) / 1000,
           colour_text(stdout, COLOUR_NONE));
    printf("  users       %llu Foos created, %llu scaled, %llu deleted\n", d->acts[ACT_CREATE], d->acts[ACT_SCALE],
           d->acts[ACT_DELETE]);
    printf("  saboteur    %llu Deployments changed, %llu deleted\n", d->acts[ACT_SET_BY_HAND],
           d->acts[ACT_DELETE_BY_HAND]);
    printf("  controller  %s fixes of a Deployment: p50 %.1f ms, p99 %.1f ms after the change\n",
           with_commas(repaired, number), (double)meter_percentile(&d->repairs, 50) / 1e6,
           (double)meter_percentile(&d->repairs, 99) / 1e6);
    if (d->right_ms)
        printf("  result      %severy Foo has its Deployment%s: %zu Foos, their replicas, owners and status\n",
               colour_text(stdout, COLOUR_GREEN), colour_text(stdout, COLOUR_NONE), d->foo_count);
    else
        printf("  result      %snot every Foo has its Deployment%s: %s\n", colour_text(stdout, COLOUR_RED),
               colour_text(stdout, COLOUR_NONE), d->wrong);
    if (!output_flush())
        return output_status();
    return d->right_ms && has_succeeded ? EXIT_OK : EXIT_FAILED;
}

/* Starts the server and the informers. Returns an exit status; a failure has been printed. */
static int start(demo *d, options *own) {
    static const char *const watched[] = { "deployments.apps,foos.v1alpha1.samplecontroller.k8s.io", NULL };
    const ki_testing_server_options server = { .size = sizeof server, .seed = (uint64_t)own->seed };
    ki_error err = KI_ERROR_INIT;

    session_block_signals();
    if (!demo_program_prepare(&d->program))
        return EXIT_FAILED;
    if (ki_testing_server_new(&server, &d->world.server, &err) || demo_world_install(&d->world, &err) ||
        ki_testing_server_write_kubeconfig(d->world.server, d->program.kubeconfig, &err)) {
        say("demo", "%s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    own->kubeconfig = d->program.kubeconfig;
    own->all_namespaces = true;
    own->timeout_ms = 60000;
    printf("an API server in this process at %s, and %s with KUBECONFIG=%s\n\n", ki_testing_server_url(d->world.server),
           own->controller, own->kubeconfig);
    int status = output_flush() ? session_set_resources(&d->session, watched) : output_status();
    return status == EXIT_OK ? session_start(&d->session) : status;
}

int demo_controller_run(const options *o) {
    static demo d = { .foos = { { .name = "web" },
                                { .name = "cart" },
                                { .name = "search" },
                                { .name = "login" },
                                { .name = "mail" },
                                { .name = "stock" } } };
    options own = *o;
    d.random = (uint64_t)o->seed;
    d.program.path = o->controller;
    d.session = (session){
        .command = "demo",
        .options = &own,
        .user = &d,
        .is_once = true,
        .view = demo_fields,
        .handler = { .on_add = on_change, .on_update = on_change, .on_synced = on_synced },
        .on_tick = on_tick,
        .tick_ms = TICK_MS,
    };
    int status = start(&d, &own);
    if (status == EXIT_OK)
        status = session_run(&d.session);
    bool has_succeeded = demo_program_end(&d.program);
    if (d.ended_ms)
        status = summarise(&d, has_succeeded); /* otherwise a signal or a failure ended the demo */
    session_close(&d.session);
    demo_program_free(&d.program, status == EXIT_FAILED);
    ki_testing_server_free(d.world.server);
    meter_free(&d.repairs);
    return status;
}
