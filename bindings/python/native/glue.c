/* glue.c: what the extension adds to the library's functions, in C: the loop that steps an engine without the GIL, the
 * log's messages on their way to Python, and the fields of a view. native/glue.cdef declares it for Python. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- the loop of a factory ---- */

enum {
    KPY_MESSAGES_MAX = 256, /* messages that wait for Python; further ones are counted */
    KPY_LOOK_FOR_DESCRIPTORS_MS = 5000
};

/* A message of the library's log. */
typedef struct kpy_message {
    struct kpy_message *next;
    const char *component;
    int level;
    char text[];
} kpy_message;

/* The library must not be called from its log, and Python code can call anything, if only by a finalizer. So messages
 * wait here until the loop's thread is outside the library. Any thread of the library writes. */
typedef struct kpy_loop {
    int wake_fd; /* -1 until the loop is opened */
    pthread_mutex_t mutex;
    /* under the mutex */
    kpy_message *first, **last;
    size_t count, dropped;
} kpy_loop;

static kpy_loop *kpy_loop_new(void) {
    kpy_loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return NULL;
    loop->wake_fd = -1;
    loop->last = &loop->first;
    pthread_mutex_init(&loop->mutex, NULL);
    return loop;
}

static void kpy_loop_free(kpy_loop *loop) {
    if (!loop)
        return;
    while (loop->first) {
        kpy_message *message = loop->first;
        loop->first = message->next;
        free(message);
    }
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    pthread_mutex_destroy(&loop->mutex);
    free(loop);
}

/* Opens the descriptor that wakes the loop, in the process that drives it. Repeatable. Returns 0, or the errno. */
static int kpy_loop_open(kpy_loop *loop) {
    if (loop->wake_fd < 0)
        loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return loop->wake_fd < 0 ? errno : 0;
}

/* Returns the descriptor that kpy_loop_wake makes readable; kpy_loop_drive resets it. */
static int kpy_loop_wake_fd(const kpy_loop *loop) {
    return loop->wake_fd;
}

/* Ends the current or next kpy_loop_drive. Any thread. */
static void kpy_loop_wake(kpy_loop *loop) {
    ssize_t ignored;
    if (loop->wake_fd >= 0)
        ignored = write(loop->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
    (void)ignored;
}

/* The `write` of a ki_log whose `user` is the loop. */
static void kpy_loop_log(ki_log_level level, const char *component, const char *text, void *user) {
    kpy_loop *loop = user;
    size_t size = strlen(text) + 1;
    kpy_message *message = malloc(sizeof *message + size);
    if (message) {
        message->next = NULL;
        message->component = component;
        message->level = (int)level;
        memcpy(message->text, text, size);
    }
    pthread_mutex_lock(&loop->mutex);
    if (message && loop->count < KPY_MESSAGES_MAX) {
        *loop->last = message;
        loop->last = &message->next;
        loop->count++;
        message = NULL;
    } else {
        loop->dropped++;
    }
    pthread_mutex_unlock(&loop->mutex);
    free(message);
    kpy_loop_wake(loop);
}

/* Returns the oldest message, which the caller frees with kpy_message_free; NULL if there is none. `*ret_dropped` is
 * the number of messages that were dropped since the last call. */
static kpy_message *kpy_loop_take_message(kpy_loop *loop, size_t *ret_dropped) {
    pthread_mutex_lock(&loop->mutex);
    kpy_message *message = loop->first;
    if (message) {
        loop->first = message->next;
        if (!loop->first)
            loop->last = &loop->first;
        loop->count--;
    }
    *ret_dropped = loop->dropped;
    loop->dropped = 0;
    pthread_mutex_unlock(&loop->mutex);
    return message;
}

static int kpy_message_level(const kpy_message *message) {
    return message->level;
}

static const char *kpy_message_component(const kpy_message *message) {
    return message->component;
}

static const char *kpy_message_text(const kpy_message *message) {
    return message->text;
}

static void kpy_message_free(kpy_message *message) {
    free(message);
}

/* Returns true once the informer is stopped. */
static bool kpy_has_stopped(const ki_informer *informer) {
    ki_health health;
    ki_informer_health(informer, &health);
    return health.state == KI_STATE_STOPPED;
}

/* Steps the engine until kpy_loop_wake is called, or until `stopping` (may be NULL) is stopped. */
static ki_status kpy_loop_drive(kpy_loop *loop, ki_engine *engine, const ki_informer *stopping, ki_error *err) {
    struct pollfd fds[2] = { { .fd = ki_engine_fd(engine), .events = POLLIN },
                             { .fd = loop->wake_fd, .events = POLLIN } };
    for (;;) {
        if (stopping && kpy_has_stopped(stopping))
            return KI_OK;
        /* The end of the wait is for descriptors that the program has closed: nothing else tells. */
        if (poll(fds, 2, KPY_LOOK_FOR_DESCRIPTORS_MS) < 0 && errno != EINTR)
            return ki_error_set(err, KI_ERR_SYSTEM, "poll: errno %d", errno);
        if ((fds[0].revents | fds[1].revents) & POLLNVAL)
            return ki_error_set(err, KI_ERR_SYSTEM, "the program has closed the factory's descriptors (closerange)");
        if (fds[0].revents) {
            ki_status status = ki_engine_step(engine, 0, err);
            if (status)
                return status;
        }
        if (fds[1].revents) {
            uint64_t count;
            ssize_t ignored = read(loop->wake_fd, &count, sizeof count);
            (void)ignored;
            return KI_OK;
        }
    }
}

/* ---- controllers ---- */

/* The `map` of a watch: queues the key of the object's controller, if that is one of the resource of `user`, a
 * ki_informer. Unlike `owner`, the informer may find its resource later: until then it has no objects. */
static void kpy_map_controller(const ki_object *obj, ki_reconcile_keys *keys, void *user) {
    char key[KI_OBJECT_KEY_MAX];
    if (ki_object_controller_key(obj, ki_informer_resource(user), key, sizeof key))
        (void)ki_reconcile_keys_add(keys, key);
}

/* ---- the fields of a view: `base` is the struct, `offset` that of the member ---- */

#define KPY_MEMBER(type, base, offset) ((const type *)((const char *)(base) + (offset)))

static const char *kpy_text(const void *base, size_t offset) {
    return *KPY_MEMBER(char *, base, offset);
}

static int64_t kpy_int(const void *base, size_t offset) {
    return *KPY_MEMBER(int64_t, base, offset);
}

static double kpy_double(const void *base, size_t offset) {
    return *KPY_MEMBER(double, base, offset);
}

static bool kpy_bool(const void *base, size_t offset) {
    return *KPY_MEMBER(bool, base, offset);
}

static const ki_string_list *kpy_string_list(const void *base, size_t offset) {
    return KPY_MEMBER(ki_string_list, base, offset);
}

static const ki_string_map *kpy_string_map(const void *base, size_t offset) {
    return KPY_MEMBER(ki_string_map, base, offset);
}

static const ki_list *kpy_list(const void *base, size_t offset) {
    return KPY_MEMBER(ki_list, base, offset);
}
