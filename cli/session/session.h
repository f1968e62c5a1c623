/* session.h: a connection to a cluster with one informer for each target, driven by the program's own poll loop.
 * Everything runs on one thread, handlers too. Used by watch, get and demo. */
#ifndef CLI_SESSION_SESSION_H
#define CLI_SESSION_SESSION_H

#include "cli/cli.h"

#include <kinformer/kinformer.h>

enum {
    TARGETS_MAX = 128,
    LABEL_MAX = 512 /* bytes of a label, with the closing zero; longer labels are cut */
};

typedef struct session session;
struct exec_queue;

/* One resource, or one object of it, with its informer. */
typedef struct target {
    session *session;
    ki_resource resource;
    char *text;                 /* owns the strings of `resource` if it was made from an unknown name; else NULL */
    char *lookup_name;          /* not resolved yet, owned; NULL: `resource` is set */
    const char *name;           /* the object's name, borrowed from the command line; NULL: all objects */
    const char *namespace_name; /* borrowed; NULL: the config's, or all */
    ki_informer *informer;
    bool synced;
    ki_error failure;  /* why its list failed, if the command does not try again; else KI_OK */
    size_t initial;    /* number of initial objects */
    size_t heartbeats; /* heartbeats since its last printed line */
    ki_state shown;    /* the last printed state, with its cause */
    char shown_message[KI_HEALTH_MESSAGE_MAX];
} target;

struct session {
    const char *command;
    const options *options;
    bool uses_discovery; /* resources that are not built in are looked up by discovery */
    /* The session ends once it has synced; a healthy connection is not reported. get --watch unsets it then. */
    bool is_once;
    target targets[TARGETS_MAX];
    size_t target_count;

    /* The command's callbacks; any may be NULL. */
    ki_handler handler; /* its user is the target */
    const ki_field *view;
    /* Called once the targets are resolved, before their informers start. Returns an exit status. */
    int (*on_resolved)(session *s);
    void (*on_tick)(session *s, int64_t now_ms); /* called every tick_ms */
    int64_t tick_ms;
    /* Called when input_fd is readable, and after SIGWINCH. Set before session_start. */
    void (*on_input)(session *s);
    int input_fd; /* of on_input; -1: nothing is read now */
    void *user;
    struct exec_queue *exec; /* of --exec (exec.h), which the loop drives; NULL: none */

    ki_config *config;
    ki_engine *engine;
    ki_factory *factory;
    ki_resource_map *map;          /* the server's resources; NULL: no discovery has run */
    const ki_allocator *allocator; /* NULL: malloc */
    int signals;                   /* the signalfd */
    int64_t started_ms;
    bool is_resized;     /* SIGWINCH has come since the last on_input */
    bool has_hinted;     /* the hint about a failed list was printed */
    bool is_interrupted; /* a signal ended the session */
    bool done;           /* ends session_run */
    int status;          /* the exit status once `done` */
    bool progressing;
};

/* Fills in the targets of the arguments (at least one, ended by NULL). Returns an exit status: EXIT_USAGE, with a
 * message on stderr, for an argument that cannot be parsed or for an unknown resource without discovery. */
int session_set_resources(session *s, const char *const *arguments);
/* Connects and starts the informers. Returns an exit status; a failure has been printed. */
int session_start(session *s);
/* Runs the loop until `done`, a signal, or a time limit. Returns the exit status. */
int session_run(session *s);
void session_close(session *s);

/* Resolves the remaining resource names, for session_start. Returns an exit status; a failure has been printed. */
int session_resolve(session *s);
/* Sets the resource "foos.v1.example.com", which the cluster does not know yet. Its kind is guessed ("Foo"): the kind
 * is only used for objects that the server sends without one, and the server does so only for built-in resources.
 * Returns false if `name` has another form or out of memory. */
bool session_set_custom(target *t, const char *name);
/* Adds one object. `name` and `namespace_name` are borrowed; NULL: the config's namespace. Returns an exit status; a
 * failure has been printed. */
int session_add_object(session *s, const char *word, const char *name, const char *namespace_name);
/* Checks for combinations of flags that kubectl rejects too. Returns an exit status. */
int session_check_flags(const session *s);
/* Returns the namespace of a target's objects; NULL: all, or the resource has none. */
const char *session_namespace(const target *t);
/* Returns true if a target other than `but` (may be NULL) has this resource, name and namespace. A NULL name is a
 * target of all objects. */
bool session_has_target(const session *s, const target *but, const ki_resource *resource, const char *name,
                        const char *namespace_name);
/* Returns true if the arguments name one object: it is printed alone, not in a List. */
bool session_is_single(const session *s);
/* Returns EXIT_FAILED, with a message on stderr, if the command needs a verb that the resource lacks. */
int session_check_verbs(const session *s, const ki_resource *resource, bool lists, bool watches);
bool session_is_same_resource(const target *a, const target *b);
/* Writes "pods" or "pods/web-1". Returns `text`. */
const char *session_label(const target *t, char text[LABEL_MAX]);
/* Returns the field selector of one name, to be freed; NULL if out of memory. */
char *session_name_selector(const char *name);

/* Prints that a resource name is unknown, with a suggestion or NULL. Returns EXIT_USAGE. */
int session_print_unknown(const session *s, const char *name, const char *meant);

/* Blocks SIGINT, SIGTERM and SIGCHLD, so that only session_run receives them. Called before threads start. */
void session_block_signals(void);
/* Runs the engine until `is_done` returns true, or until a signal. */
ki_status session_wait(session *s, bool (*is_done)(void *user), void *user, ki_error *err);
void session_end(session *s, int status);
/* Reads the signals that have arrived. SIGINT and SIGTERM end the session; SIGCHLD and SIGWINCH wake the loop. */
void session_take_signals(session *s);
/* Returns the time limit of the first sync; 0: none. */
int64_t session_allowed_ms(const session *s);
/* Returns true if the command needs the verb watch, too. */
bool session_needs_watch(const session *s);
/* Returns true once each list has succeeded or failed for good. */
bool session_has_synced(const session *s);
/* Returns true for a command that ends after a failure that waiting does not fix: get without --wait and --timeout. */
bool session_ends_at_once(const session *s);
/* Returns milliseconds of CLOCK_MONOTONIC. */
int64_t session_now_ms(void);
/* Returns milliseconds since 1970, which ages are relative to. */
int64_t wall_now_ms(void);

#endif
