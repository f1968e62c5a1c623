/* cli.h: what the files of the kinformer program share: commands, options, exit status. Everything runs on the
 * program's one thread. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scripts depend on these. */
enum {
    EXIT_OK = 0,       /* done, or stopped by SIGINT or SIGTERM */
    EXIT_FAILED = 1,   /* a failure while running */
    EXIT_USAGE = 2,    /* the command line is wrong */
    EXIT_UNREACHED = 3 /* before the first sync: no connection, or an error response */
};

enum {
    MAX_ARGUMENTS = 128, /* arguments without flags */
    MAX_REPEATS = 64     /* values of a repeatable flag */
};

/* The values of a repeatable flag. */
typedef struct option_list {
    const char *items[MAX_REPEATS];
    size_t count;
} option_list;

/* A flag that is true or false, or not given. */
typedef enum choice {
    CHOICE_NONE,
    CHOICE_FALSE,
    CHOICE_TRUE
} choice;

/* The values of all flags. Strings are borrowed from the command line. */
typedef struct options {
    const char *arguments[MAX_ARGUMENTS + 1]; /* ended by NULL */
    bool help;

    /* connection and selection */
    const char *kubeconfig;
    const char *context;
    const char *server;
    const char *token;
    const char *certificate_authority;
    bool insecure;
    const char *cluster;
    const char *user;
    const char *token_file;
    const char *username;
    const char *password;
    const char *client_certificate;
    const char *client_key;
    const char *tls_server_name;
    const char *proxy_url;
    bool disable_compression;
    const char *as;
    const char *as_uid;
    option_list as_groups;
    option_list as_user_extra; /* NAME=VALUE */
    const char *namespace_name;
    bool all_namespaces;
    const char *selector;
    const char *field_selector;

    /* watch and get */
    const char *output;
    const char *template;
    bool show_managed_fields;
    bool allow_missing_keys;
    bool no_headers;
    const char *sort_by;
    bool show_labels;
    option_list label_columns;
    bool ignore_not_found;
    bool show_kind;
    bool server_print;
    int64_t chunk_size;
    bool watch;
    bool watch_only;
    const char *raw;
    const char *subresource;
    option_list files;
    bool output_watch_events;
    choice show_events;
    const char *exec;
    const char *metrics;
    bool wait;
    int64_t timeout_ms;
    int64_t request_timeout_ms;
    int64_t resync_ms;
    bool all_objects;
    bool every;
    const char *only;
    const char *where;
    bool changes_only;
    bool until_synced;
    bool memory;
    int64_t count;
    bool quiet;
    bool verbose;

    /* serve and demo */
    const char *listen;
    int64_t pods;
    int64_t nodes;
    int64_t churn;
    int64_t seed;
    bool managed_fields;
    option_list loads;
    const char *write_kubeconfig;
    bool tls;
    const char *tls_certificate;
    const char *tls_key;
    const char *tls_ca;
    option_list tokens;
    option_list rules;
    option_list faults;
    bool with_faults;
    bool rbac;
    bool gc;
    bool until_eof;
    int64_t ready_fd; /* 0: none */
    int64_t compact_after;
    int64_t seconds;

    /* gen */
    option_list fields;
    const char *from;
    const char *struct_name;
    bool ffi;

    /* completion and man */
    const char *directory;
} options;

struct flag;

/* A kubectl flag that this command does not have, with the message to print instead. */
typedef struct cli_hint {
    const char *name; /* NULL ends the table */
    char letter;
    const char *text;
} cli_hint;

typedef struct cli_command {
    const char *name;
    const char *usage;   /* the arguments, as help shows them */
    const char *purpose; /* one line */
    const char *text;    /* help: examples first */
    int max_arguments;
    const struct flag *const *flags;  /* tables, ended by NULL */
    const cli_hint *hints;            /* may be NULL */
    void (*set_defaults)(options *o); /* may be NULL */
    int (*run)(const options *o);     /* returns the exit status */
} cli_command;

extern const cli_command command_watch;
extern const cli_command command_get;
extern const cli_command command_describe;
extern const cli_command command_top;
extern const cli_command command_doctor;
extern const cli_command command_gen;
extern const cli_command command_serve;
extern const cli_command command_demo;
extern const cli_command command_version;
extern const cli_command command_completion;
extern const cli_command command_man;

/* Returns a command by its index from 0; NULL past the last. */
const cli_command *command_at(size_t index);
/* The first line and the examples of the program's help. */
extern const char program_purpose[];
extern const char program_examples[];

#endif
