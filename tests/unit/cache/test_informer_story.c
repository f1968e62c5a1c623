/* test_informer_story.c: random stories of a small server, its failures, and handlers that come and go, from seeds.
 * Whatever happens: what a handler is notified of is true (old is the previous notification), and in the end it and the
 * store know what the server has. */

#include "tests/support/fake_list_watch.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEYS = 6,
    EVENTS = 400,
    HANDLERS = 8,
    STEPS = 300,
    SEEDS = 300
};

/* --- the server --------------------------------------------------------------------------------------------------- */

typedef struct event {
    char sign; /* of notation.h */
    int key, version, life;
} event;

typedef struct server {
    int version[KEYS]; /* 0: not there */
    int life[KEYS];    /* how often it was made: its uid */
    event events[EVENTS];
    int count;     /* events so far */
    int now;       /* the version of the last one */
    int compacted; /* events up to this one are forgotten */
} server;

typedef struct story {
    test_engine engine;
    fake_list_watch source;
    ki_informer *informer;
    server server;
    int sent; /* events that the watch under way has got */
    uint64_t random;
} story;

static unsigned roll(story *s, unsigned sides) {
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(s->random >> 33) % sides;
}

static void happen(story *s) {
    server *v = &s->server;
    if (v->count == EVENTS)
        return;
    int key = (int)roll(s, KEYS);
    event *e = &v->events[v->count++];
    v->now++;
    bool there = v->version[key] != 0;
    bool goes = there && roll(s, 3) == 0;
    e->sign = goes ? '-' : there ? '~' : '+';
    v->life[key] += !there;
    v->version[key] = goes ? 0 : v->now;
    e->key = key;
    e->version = v->now;
    e->life = v->life[key];
}

static void play(story *s, const char *line) {
    if (!fake_play(&s->source, line))
        fail_msg("the source cannot do \"%s\"", line);
}

static void play_object(story *s, const char *sign, int key, int version, int life) {
    char line[128];
    snprintf(line, sizeof line, "%sk%d=%d#life-%d-%d", sign, key, version, key, life);
    play(s, line);
}

static void serve_list(story *s) {
    static const char *const failures[] = { "fail 500", "fail 410", "fail cut", "fail toolarge", "fail 429" };
    char line[64];
    bool fails = roll(s, 5) == 0;
    for (int key = 0; key < KEYS; key++)
        if (s->server.version[key] && !(fails && roll(s, 2)))
            play_object(s, "", key, s->server.version[key], s->server.life[key]);
    snprintf(line, sizeof line, "{%d:}", s->server.now);
    play(s, fails ? failures[roll(s, sizeof failures / sizeof *failures)] : line);
}

/* Opens where the client stopped, unless that is forgotten. */
static void open_watch(story *s) {
    const char *asked = strstr(s->source.trace, "rv=");
    int version = 0;
    for (const char *next = asked; next; next = strstr(next + 1, "rv="))
        version = atoi(next + 3);
    s->source.trace[0] = '\0';
    if (s->source.streams) {
        play(s, "fail 400");
        return;
    }
    s->sent = 0;
    while (s->sent < s->server.count && s->server.events[s->sent].version <= version)
        s->sent++;
    if (s->sent < s->server.compacted) {
        play(s, roll(s, 2) ? "fail 410" : "open");
        if (s->source.watches)
            play(s, "error 410");
        return;
    }
    play(s, "open");
    if (s->sent > 0 && roll(s, 4) == 0)
        s->sent -= (int)roll(s, (unsigned)s->sent) % 3; /* tells a few of them again */
}

static void serve_watch(story *s) {
    static const char *const ends[] = {
        "close", "fail cut", "fail timeout", "error 500", "error 410", "fail nomemory"
    };
    if (!s->source.opened) {
        open_watch(s);
        return;
    }
    if (s->sent < s->server.count && roll(s, 4)) {
        const event *e = &s->server.events[s->sent++];
        play_object(s, (const char[]){ e->sign, '\0' }, e->key, e->version, e->life);
        return;
    }
    char line[64];
    snprintf(line, sizeof line, "bookmark %d", s->sent ? s->server.events[s->sent - 1].version : 100);
    unsigned chance = roll(s, 12);
    if (chance == 0)
        play(s, ends[roll(s, sizeof ends / sizeof *ends)]);
    else if (chance < 3)
        play(s, line);
}

static void serve(story *s) {
    if (s->source.lists)
        serve_list(s);
    else if (s->source.watches)
        serve_watch(s);
}

/* --- handlers ----------------------------------------------------------------------------------------------------- */

typedef struct observer {
    story *story;
    ki_registration registration;
    int version[KEYS]; /* that it was told of; 0: not there */
    char uid[KEYS][32];
    bool is_in, synced, removed;
} observer;

static int key_of(const ki_object *obj) {
    return atoi(ki_object_name(obj) + 1);
}

static void on_add(const ki_event *e, void *user) {
    observer *h = user;
    int key = key_of(e->obj);
    assert_true(h->is_in);
    assert_int_equal(h->version[key], 0);
    h->version[key] = atoi(ki_object_resource_version(e->obj));
    snprintf(h->uid[key], sizeof h->uid[key], "%s", ki_object_uid(e->obj));
    if (!h->synced && !ki_informer_has_synced(h->story->informer))
        assert_true(e->is_in_initial_list);
}

static void on_update(const ki_event *e, void *user) {
    observer *h = user;
    int key = key_of(e->obj);
    assert_true(h->is_in);
    assert_int_equal(h->version[key], atoi(ki_object_resource_version(e->old)));
    assert_string_equal(ki_object_uid(e->old), ki_object_uid(e->obj));
    int version = atoi(ki_object_resource_version(e->obj));
    assert_true(e->is_resync ? version >= h->version[key] : version > h->version[key]);
    h->version[key] = version;
}

static void on_delete(const ki_event *e, void *user) {
    observer *h = user;
    int key = key_of(e->obj);
    assert_true(h->is_in);
    assert_int_not_equal(h->version[key], 0);
    assert_string_equal(ki_object_uid(e->obj), h->uid[key]);
    h->version[key] = 0;
}

static void on_synced(ki_informer *informer, void *user) {
    observer *h = user;
    assert_true(ki_informer_has_synced(informer));
    assert_false(h->synced);
    h->synced = true;
}

static void on_removed(void *user) {
    observer *h = user;
    assert_false(h->removed);
    h->removed = true;
}

static const ki_handler observing = {
    .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced, .on_removed = on_removed
};

static void come(story *s, observer *h) {
    memset(h, 0, sizeof *h);
    h->story = s;
    h->is_in = true;
    const ki_registration_options options = KI_REGISTRATION_OPTIONS(.resync_ms = roll(s, 3) ? 0 : 1000);
    assert_int_equal(ki_informer_add_handler(s->informer, &observing, h, &options, &h->registration, NULL), KI_OK);
}

static void go(story *s, observer *h) {
    assert_int_equal(ki_informer_remove_handler(s->informer, h->registration, NULL), KI_OK);
    h->is_in = false;
}

/* --- stories ------------------------------------------------------------------------------------------------------ */

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

static void open_story(story *s, uint64_t seed, ki_queue_kind kind) {
    memset(s, 0, sizeof *s);
    s->random = seed * 77 + 1;
    s->server.now = 100;
    assert_true(test_engine_open(&s->engine, NULL, seed));
    fake_init(&s->source);
    ki_shared_informer_options options = { .engine = s->engine.engine,
                                           .list_watch = &s->source.base,
                                           .given.queue = kind,
                                           .given.resync_ms = roll(s, 2) ? 1000 : 0 };
    assert_int_equal(informer_of(&configmaps, options, &s->informer), KI_OK);
}

/* No more failures: the server serves until all is told. */
static void heal(story *s) {
    char line[64];
    for (int i = 0; i < 200; i++) {
        assert_true(test_engine_advance(&s->engine, 1000));
        if (s->source.lists) {
            for (int key = 0; key < KEYS; key++)
                if (s->server.version[key])
                    play_object(s, "", key, s->server.version[key], s->server.life[key]);
            snprintf(line, sizeof line, "{%d:}", s->server.now);
            play(s, line);
        } else if (s->source.watches && !s->source.opened) {
            open_watch(s);
        }
        while (s->source.watches && s->source.opened && s->sent < s->server.count) {
            const event *e = &s->server.events[s->sent++];
            play_object(s, (const char[]){ e->sign, '\0' }, e->key, e->version, e->life);
        }
    }
}

static void check(story *s, const int version[KEYS]) {
    for (int key = 0; key < KEYS; key++)
        assert_int_equal(version[key], s->server.version[key]);
}

static void check_store(story *s) {
    int version[KEYS];
    ki_snapshot *snapshot = ki_informer_snapshot(s->informer);
    for (int key = 0; key < KEYS; key++) {
        char name[32];
        snprintf(name, sizeof name, "default/k%d", key);
        const ki_object *obj = ki_snapshot_get(snapshot, name);
        version[key] = obj ? atoi(ki_object_resource_version(obj)) : 0;
    }
    check(s, version);
    assert_int_equal(atoi(ki_snapshot_resource_version(snapshot)), s->server.now);
    ki_snapshot_free(snapshot);
}

static void tell_story(uint64_t seed, ki_queue_kind kind) {
    story s;
    observer observers[HANDLERS];
    memset(observers, 0, sizeof observers);
    open_story(&s, seed, kind);
    come(&s, &observers[0]);
    assert_true(test_engine_settle(&s.engine));
    assert_int_equal(ki_informer_start(s.informer, NULL), KI_OK);
    for (int i = 0; i < STEPS; i++) {
        unsigned chance = roll(&s, 100);
        observer *h = &observers[roll(&s, HANDLERS)];
        if (chance < 25)
            happen(&s);
        else if (chance < 27)
            s.server.compacted = s.server.count;
        else if (chance < 30 && h->is_in)
            go(&s, h);
        else if (chance < 30 && (h->removed || !h->story))
            come(&s, h);
        else if (chance < 40)
            assert_true(test_engine_advance(&s.engine, (int64_t)roll(&s, 5000)));
        else if (chance < 70)
            serve(&s);
        else
            assert_int_equal(ki_engine_step(s.engine.engine, (int)roll(&s, 5) + 1, NULL), KI_OK);
    }
    heal(&s);
    check_store(&s);
    for (int i = 0; i < HANDLERS; i++) {
        assert_int_equal(observers[i].synced || !observers[i].is_in, true);
        if (observers[i].is_in)
            check(&s, observers[i].version);
        assert_int_equal(observers[i].removed, observers[i].story && !observers[i].is_in);
    }
    ki_informer_stop(s.informer);
    ki_informer_join(s.informer);
    ki_informer_free(s.informer);
    for (int i = 0; i < HANDLERS; i++)
        assert_int_equal(observers[i].removed, observers[i].story != NULL);
    test_engine_close(&s.engine);
}

static uint64_t seed_at_hand; /* 0: all is told */

static int name_the_seed(void **state) {
    (void)state;
    if (seed_at_hand)
        print_message("the story of seed %llu\n", (unsigned long long)seed_at_hand);
    return 0;
}

TEST_WITH(NULL, name_the_seed, every_story_is_true_and_ends_well) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        seed_at_hand = seed;
        tell_story(seed, KI_QUEUE_IN_ORDER);
        tell_story(seed, KI_QUEUE_DELTA_FIFO);
    }
    seed_at_hand = 0;
}
