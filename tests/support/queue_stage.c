/* queue_stage.c: see queue_stage.h. */

#include "tests/support/test.h"

#include "tests/support/queue_stage.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_SIZE = 64
};

/* The position in a script. */
typedef struct player {
    queue_stage *stage;
    const char *play;
    const char *at;
} player;

#define FAIL(self, ...) \
    do { \
        print_error(__VA_ARGS__); \
        fail_msg(" at '%s' of '%s'", (self)->at, (self)->play); \
    } while (0)

void queue_stage_open(queue_stage *stage, const ki_workqueue_options *options) {
    ki_error err = KI_ERROR_INIT;
    assert_true(test_engine_open(&stage->engine, NULL, 1));
    if (ki_workqueue_new(stage->engine.engine, options, &stage->queue, &err))
        fail_msg("%s", ki_error_message(&err));
}

void queue_stage_close(queue_stage *stage) {
    ki_workqueue_free(stage->queue);
    test_engine_close(&stage->engine);
}

/* Reads a key. */
static const char *read_key(const char *at, char *ret_key) {
    size_t size = 0;
    while (isalpha((unsigned char)*at) || (size > 0 && isdigit((unsigned char)*at))) {
        assert_true(size + 1 < KEY_SIZE);
        ret_key[size++] = *at++;
    }
    ret_key[size] = '\0';
    return at;
}

static long read_number(const char **at) {
    char *end;
    long number = strtol(*at, &end, 10);
    assert_ptr_not_equal(end, *at);
    *at = end;
    return number;
}

static void play_add(player *self, const char *at) {
    char key[KEY_SIZE];
    ki_add_options options = KI_ADD_OPTIONS(.priority = 0);
    bool has_options = false, is_delayed = false;
    at = read_key(at, key);
    while (*at && *at != ' ') {
        char what = *at++;
        if (what == '^') {
            options.priority = (int)read_number(&at);
            has_options = true;
        } else if (what == '@') {
            options.after_ms = read_number(&at);
            is_delayed = true;
        } else if (what == '!') {
            options.rate_limited = true;
        } else {
            FAIL(self, "unknown sign %c", what);
        }
    }
    ki_status status;
    if (has_options || (is_delayed && options.rate_limited))
        status = ki_workqueue_add_with(self->stage->queue, key, &options);
    else if (is_delayed)
        status = ki_workqueue_add_after(self->stage->queue, key, options.after_ms);
    else if (options.rate_limited)
        status = ki_workqueue_add_rate_limited(self->stage->queue, key);
    else
        status = ki_workqueue_add(self->stage->queue, key);
    if (status != (ki_workqueue_is_shut_down(self->stage->queue) ? KI_ERR_CLOSED : KI_OK))
        FAIL(self, "add: %s", ki_status_name(status));
}

static void play_get(player *self, const char *at) {
    char want[KEY_SIZE];
    ki_error err = KI_ERROR_INIT;
    const char *key = ki_workqueue_get(self->stage->queue, 0, &err);
    if (strncmp(at, "x.", 2) == 0 || at[0] == '.') {
        ki_status status = at[0] == 'x' ? KI_ERR_CLOSED : KI_ERR_TIMEOUT;
        if (key || err.code != status)
            FAIL(self, "got %s, %s", key ? key : "no key", ki_status_name(err.code));
        return;
    }
    at = read_key(at, want);
    if (!key || strcmp(key, want) != 0)
        FAIL(self, "got %s", key ? key : "no key");
    if (*at == '^') {
        at++;
        assert_int_equal(ki_workqueue_priority(self->stage->queue, key), read_number(&at));
    }
}

static void play_step(player *self) {
    ki_workqueue *queue = self->stage->queue;
    const char *at = self->at + 1;
    char key[KEY_SIZE];
    switch (self->at[0]) {
    case '+':
        play_add(self, at);
        break;
    case '=':
        play_get(self, at);
        break;
    case '-':
        at = read_key(at, key);
        if (ki_workqueue_done(queue, key) != (*at == '?' ? KI_ERR_NOT_FOUND : KI_OK))
            FAIL(self, "done came out otherwise");
        break;
    case '*':
        (void)read_key(at, key);
        ki_workqueue_forget(queue, key);
        break;
    case '~':
        assert_true(test_engine_advance(&self->stage->engine, read_number(&at)));
        break;
    case '#':
        if (ki_workqueue_length(queue) != (size_t)read_number(&at))
            FAIL(self, "%zu keys are ready", ki_workqueue_length(queue));
        break;
    case '%':
        key[0] = *at++; /* keys have one letter here */
        key[1] = '\0';
        if (ki_workqueue_num_requeues(queue, key) != read_number(&at))
            FAIL(self, "%d failures", ki_workqueue_num_requeues(queue, key));
        break;
    case 'x':
        ki_workqueue_shut_down(queue);
        break;
    default:
        FAIL(self, "unknown step");
    }
}

void queue_play(queue_stage *stage, const char *play) {
    player self = { stage, play, play };
    while (*self.at) {
        play_step(&self);
        self.at += strcspn(self.at, " ");
        self.at += strspn(self.at, " ");
    }
}

void queue_play_alone(const ki_workqueue_options *options, const char *play) {
    queue_stage stage;
    queue_stage_open(&stage, options);
    queue_play(&stage, play);
    queue_stage_close(&stage);
}
