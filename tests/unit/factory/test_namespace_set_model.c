/* test_namespace_set_model.c: random sets of namespaces, writes, compactions and closed watches from seeds, with steps
 * of the loop in between. At each event the handler's view must allow it; whenever all has settled, cache and handlers
 * have what the cluster has in the set, and nothing else. */
#include "tests/support/controller_stage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMESPACES = 4,
    NAMES = 4,
    SEEDS = 600,
    OPERATIONS = 120
};

static const char *const namespaces[NAMESPACES] = { "a", "a-b", "b", "c" }; /* one begins as another */

typedef struct model {
    controller_stage s;
    uint64_t random;
    ki_informer *informer;
    unsigned set;                         /* bits of namespaces */
    char cluster[NAMESPACES][NAMES];      /* 1: the object exists */
    char versions[NAMESPACES][NAMES][32]; /* what the handler has; "": nothing */
    uint64_t seed;
} model;

static unsigned below(model *m, unsigned limit) {
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(m->random >> 33) % limit;
}

static const char *key_of(unsigned ns, unsigned name) {
    static char key[32];
    snprintf(key, sizeof key, "%s/x%u", namespaces[ns], name);
    return key;
}

/* Returns the place of an object's version in the handler's view. */
static char *place_of(model *m, const ki_object *obj) {
    for (unsigned ns = 0; ns < NAMESPACES; ns++)
        for (unsigned name = 0; name < NAMES; name++)
            if (strcmp(ki_object_key(obj), key_of(ns, name)) == 0)
                return m->versions[ns][name];
    fail_msg("seed %" PRIu64 ": an object %s", m->seed, ki_object_key(obj));
    return NULL;
}

static void on_event(const ki_event *event, void *user) {
    model *m = user;
    char *version = place_of(m, event->obj);
    bool is_known = version[0] != '\0';
    if (is_known != (event->type != KI_EVENT_ADD))
        fail_msg("seed %" PRIu64 ": event %d of %s, known %d", m->seed, event->type, ki_object_key(event->obj),
                 is_known);
    if (event->old && strcmp(ki_object_resource_version(event->old), version) != 0)
        fail_msg("seed %" PRIu64 ": %s is not the state before", m->seed, ki_object_key(event->obj));
    snprintf(version, sizeof m->versions[0][0], "%s",
             event->type == KI_EVENT_DELETE ? "" : ki_object_resource_version(event->obj));
}

static void set_random(model *m) {
    const char *names[NAMESPACES];
    size_t count = 0;
    m->set = below(m, 1 << NAMESPACES);
    for (unsigned ns = 0; ns < NAMESPACES; ns++)
        if (m->set & 1u << ns)
            names[count++] = namespaces[ns];
    assert_int_equal(ki_informer_set_namespaces(m->informer, names, count, NULL), KI_OK);
}

static void check(model *m) {
    stage_settle(&m->s);
    stage_advance(&m->s, 120000); /* longer than a backoff */
    size_t expected = 0;
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        for (unsigned name = 0; name < NAMES; name++) {
            bool should_be = (m->set & 1u << ns) && m->cluster[ns][name];
            ki_object *obj = ki_informer_get(m->informer, key_of(ns, name));
            expected += should_be;
            if ((obj != NULL) != should_be)
                fail_msg("seed %" PRIu64 ": the cache %s %s", m->seed, obj ? "has" : "lacks", key_of(ns, name));
            if (strcmp(m->versions[ns][name], obj ? ki_object_resource_version(obj) : "") != 0)
                fail_msg("seed %" PRIu64 ": the handler has another %s than the cache", m->seed, key_of(ns, name));
            ki_object_unref(obj);
        }
    }
    ki_health health;
    ki_informer_health(m->informer, &health);
    assert_int_equal(health.objects, expected);
    assert_int_equal(health.state, KI_STATE_WATCHING);
    assert_true(ki_informer_has_synced(m->informer));
}

static void operate(model *m) {
    unsigned ns = below(m, NAMESPACES), name = below(m, NAMES);
    switch (below(m, 16)) {
    case 0:
    case 1:
        set_random(m);
        break;
    case 2:
        kt_cluster_close_watches(m->s.cluster);
        break;
    case 3:
        kt_cluster_compact(m->s.cluster, UINT64_MAX);
        kt_cluster_close_watches(m->s.cluster);
        break;
    case 4:
        check(m);
        break;
    case 5:
        stage_settle(&m->s);
        break;
    case 6:
    case 7:
    case 8:
        if (m->cluster[ns][name])
            stage_delete(&m->s, KI_CONFIGMAPS, key_of(ns, name));
        m->cluster[ns][name] = 0;
        break;
    default:
        stage_put(&m->s, KI_CONFIGMAPS, key_of(ns, name), "");
        m->cluster[ns][name] = 1;
        break;
    }
    assert_int_equal(ki_engine_step(m->s.engine.engine, (int)below(m, 12) + 1, NULL), KI_OK);
}

static void run_seed(uint64_t seed) {
    static model cleared, m;
    const ki_handler handler = { .on_add = on_event, .on_update = on_event, .on_delete = on_event };
    m = cleared;
    m.seed = m.random = seed;
    assert_true(stage_open(&m.s, NULL));
    assert_true(stage_make_factory(&m.s, KI_FACTORY_OPTIONS(.no_streaming_list = seed % 3 == 0)));
    assert_int_equal(
        ki_factory_informer(m.s.factory, KI_CONFIGMAPS,
                            &KI_INFORMER_OPTIONS(.namespace_set = "model", .queue = seed % 2, .page_size = 2),
                            &m.informer, NULL),
        KI_OK);
    assert_int_equal(
        ki_informer_add_handler(m.informer, &handler, &m, &KI_REGISTRATION_OPTIONS(.on_loop = true), NULL, NULL),
        KI_OK);
    assert_int_equal(ki_factory_start(m.s.factory, NULL), KI_OK);
    set_random(&m);
    for (int i = 0; i < OPERATIONS; i++)
        operate(&m);
    check(&m);
    stage_close(&m.s);
}

TEST(cache_and_handlers_have_what_the_cluster_has_in_the_set) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_seed(seed);
}
