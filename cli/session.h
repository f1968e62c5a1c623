/* session.h: a connection to a cluster with one informer for each resource that was asked for, driven by a poll loop of the
 * program's own: everything happens on one thread, handlers too. Used by watch, get and demo. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli.h"

#include <kinformer/kinformer.h>

enum {
    TARGETS_MAX = 128,
    PARTS_MAX = 2,
    LABEL_MAX = 512 /* bytes of a label, with the closing zero; longer ones are cut */
};

typedef struct session session;
struct pollfd;

/* Something else that the session's loop drives. Callbacks but `prepare` and `run` may be NULL. */
typedef struct session_part {
    /* Fills in at most `max` descriptors to be polled, gives how many, and may shorten the wait. */
    size_t (*prepare)(struct session_part *part, struct pollfd *fds, size_t max, int *timeout_ms);
    /* After each poll, with those descriptors. */
    void (*run)(struct session_part *part, const struct pollfd *fds, size_t count);
    bool (*is_full)(const struct session_part *part); /* the informers wait */
    bool (*is_busy)(const struct session_part *part); /* the session's end waits */
    void (*stop)(struct session_part *part);          /* by a signal or failure: be done soon; by another one: now */
    void *user;
} session_part;

/* One resource. */
typedef struct target {
    session *session;
    ki_resource resource;
    char *text;       /* of a resource that nobody knows: what `resource` points to */
    char *word;       /* not yet looked up; NULL: `resource` is known */
    const char *name; /* only the object of this name, borrowed from the command line; NULL: all */
    ki_informer *informer;
    bool synced;
    ki_error failure;  /* why its list does not come, where the command does not wait for that; else KI_OK */
    size_t initial;    /* objects that it began with */
    size_t heartbeats; /* folded since its last line */
    ki_state shown;    /* the last state that was said */
} target;

struct session {
    const char *command;
    const options *options;
    bool may_ask; /* words that are not built in are looked up in what the server has */
    bool is_once; /* ends once it has synced: that all is well is not said */
    target targets[TARGETS_MAX];
    size_t target_count;

    /* What the command wants to hear of; any may be NULL. */
    ki_handler handler; /* user is the target */
    const ki_field *view;
    int (*on_resolved)(session *s); /* once the targets are known, before their informers start; gives an exit status */
    void (*on_tick)(session *s, int64_t now_ms); /* every tick_ms */
    int64_t tick_ms;
    void *user;
    session_part *parts[PARTS_MAX];
    size_t part_count;

    ki_config *config;
    ki_engine *engine;
    ki_factory *factory;
    ki_resource_map *map;          /* what the server has; NULL: it was not asked */
    const ki_allocator *allocator; /* NULL: malloc */
    int signals;                   /* a descriptor */
    int64_t started_ms;
    bool has_hinted;     /* what to do about a list that does not come was said */
    bool is_interrupted; /* a signal ended it */
    bool done;           /* ends session_run */
    int status;          /* the exit status then */
    bool progressing;
};

/* Fills in the targets that the words name, ended by NULL; at least one. Gives an exit status: EXIT_USAGE, said on stderr, where a word cannot be read, or is
 * not known and may not be asked for. */
int session_set_resources(session *s, const char *const *arguments);
/* Connects and starts the informers. Gives an exit status; anything but EXIT_FINE was said on stderr. */
int session_start(session *s);
/* Until `done`, a signal, or a deadline. Gives the exit status. */
int session_run(session *s);
void session_close(session *s);

/* For session_start: looks up the words that are left. Gives an exit status; what failed was said. */
int session_resolve(session *s);
/* "foos.v1.example.com": a resource that not even the cluster knows yet. Its kind is guessed ("Foo"): it would be filled in where the server
 * left it out, which it does for built-in resources only. */
bool session_set_custom(target *t, const char *name);
/* Returns true where another target but `but` (may be NULL) is of this resource and name; NULL: of all names. */
bool session_has_target(const session *s, const target *but, const ki_resource *resource, const char *name);
/* Returns true where the words name one object: it is shown alone, not as a list. */
bool session_is_single(const session *s);
bool session_is_same_resource(const target *a, const target *b);
/* "pods", or "pods/web-1". */
const char *session_label(const target *t, char text[LABEL_MAX]);
/* The field selector of one name, to be freed; NULL where there is no memory. */
char *session_name_selector(const char *name);

/* Says that a word means nothing, and what may have been meant (or NULL). EXIT_USAGE. */
int session_say_unknown(const session *s, const char *name, const char *meant);

/* From now on SIGINT and SIGTERM come to session_run alone. To be called before threads are made. */
void session_block_signals(void);
/* Turns the session's loop until something is so, or a signal. */
ki_status session_wait(session *s, bool (*is_so)(void *user), void *user, ki_error *err);
void session_end(session *s, int status);
/* Reads those that have come; any but that of a child's end, whom its starter looks for, ends the session. */
void session_take_signals(session *s);
/* What the first sync may take; 0: any time. */
int64_t session_allowed_ms(const session *s);
/* Returns true once each list is there, or will not come. */
bool session_has_synced(const session *s);
/* Returns true for a command that ends where waiting would not help: get without --wait and --timeout. */
bool session_ends_at_once(const session *s);
/* Milliseconds of CLOCK_MONOTONIC. */
int64_t session_now_ms(void);

#endif
