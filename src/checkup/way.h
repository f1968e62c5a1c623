/* way.h: what the files of a checkup share: the way so far, and how a step is told. One thread. */
#ifndef KI_CHECKUP_WAY_H
#define KI_CHECKUP_WAY_H

#include "src/checkup/checkup.h"
#include <kinformer/client.h>
#include <kinformer/discovery.h>

#include "src/base/string_view.h"

typedef struct ki_checkup_way {
    /* what was asked for */
    const ki_config_options *config_options;
    ki_status (*make_config)(void *user, ki_config **ret_config, ki_error *err); /* NULL: from config_options */
    const ki_resource *resource;
    const char *resource_name;  /* what to look up in the server's resources; NULL: `resource` is known */
    const char *namespace_name; /* "": all; known once there is a config */
    const char *label_selector; /* NULL or "": all */
    const char *field_selector;
    int64_t timeout_ms;
    void (*on_check)(const ki_check *check, void *user);
    void *user;

    ki_engine *engine; /* tells the time, and serves the client */
    ki_config *config;
    ki_config_description description;
    ki_client *client;
    ki_resource_map *map; /* that `resource` is from; NULL: it is the caller's, or a built-in one */
    char place[300];      /* "pods in all namespaces" */
    char user_name[200];  /* who we are to the server; "" until it has said so */
    bool is_lost;         /* a step failed that all later ones need */
    bool may_list;        /* as far as is known */
    bool may_watch;
    bool has_end_bookmark; /* the streaming list ended with one */
    int64_t began_ns;
    ki_check check; /* the step at hand */
} ki_checkup_way;

/* Begins a step; what is said of it goes into way->check until ki_checkup_end tells it. */
void ki_checkup_begin(ki_checkup_way *way, ki_check_step step);
void ki_checkup_end(ki_checkup_way *way, ki_check_result result);
void ki_checkup_find(ki_checkup_way *way, const char *format, ...) KI_PRINTF(2, 3);
void ki_checkup_remedy(ki_checkup_way *way, const char *format, ...) KI_PRINTF(2, 3);
/* A step that is not gone: tells why. */
void ki_checkup_skip(ki_checkup_way *way, ki_check_step step, const char *why);

/* From the credentials on: what a client asks. */
ki_status ki_checkup_ask(ki_checkup_way *way, ki_error *err);

#endif
