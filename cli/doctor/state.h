/* state.h: what the files of a checkup share: its state, and how a step reports its result. One thread. */
#ifndef KI_DOCTOR_STATE_H
#define KI_DOCTOR_STATE_H

#include "checkup.h"
#include <kinformer/client.h>
#include <kinformer/discovery.h>

#include "src/base/string_view.h"

typedef struct ki_checkup_state {
    /* options of the checkup */
    const ki_config_options *config_options;
    ki_status (*make_config)(void *user, ki_config **ret_config, ki_error *err); /* NULL: from config_options */
    const ki_resource *resource;
    const char *resource_name;  /* a resource name to resolve by discovery; NULL: `resource` is set */
    const char *namespace_name; /* "": all namespaces; set once there is a config */
    const char *label_selector; /* NULL or "": all objects */
    const char *field_selector;
    int64_t timeout_ms;
    void (*on_check)(const ki_check *check, void *user);
    void *user;

    ki_engine *engine; /* the engine of the client; its clock measures the steps */
    ki_config *config;
    ki_config_description description;
    ki_client *client;
    ki_resource_map *map;  /* has `resource` and `unread`; NULL: the caller's or a built-in resource */
    const char *unread;    /* the group version of `resource_name` that discovery could not read; NULL: none */
    ki_error unread_cause; /* why; code KI_OK: unknown */
    char place[300];       /* "pods in all namespaces" */
    char user_name[200];   /* the user's name at the server; "" if unknown */
    bool is_lost;          /* a step failed that all later steps need */
    bool may_list;         /* permission to list; true if unknown */
    bool may_watch;
    bool has_end_bookmark; /* the streaming list ended with a bookmark */
    int64_t began_ns;
    ki_check check; /* the current step */
} ki_checkup_state;

/* Begins a step. Its texts go into state->check until ki_checkup_end reports it. */
void ki_checkup_begin(ki_checkup_state *state, ki_check_step step);
void ki_checkup_end(ki_checkup_state *state, ki_check_result result);
void ki_checkup_find(ki_checkup_state *state, const char *format, ...) KI_PRINTF(2, 3);
void ki_checkup_remedy(ki_checkup_state *state, const char *format, ...) KI_PRINTF(2, 3);
/* Reports a skipped step with the cause. */
void ki_checkup_skip(ki_checkup_state *state, ki_check_step step, const char *why);

/* Checks the validity of the configuration's client certificate: KI_CHECK_OK also without one; KI_CHECK_WARNING with a
 * remedy if it expires soon; KI_CHECK_FAILED with finding and remedy if it is not valid now. */
ki_status ki_checkup_certificate(ki_checkup_state *state, ki_check_result *ret_result, ki_error *err);

/* Runs the steps from the credentials on, which send requests. */
ki_status ki_checkup_ask(ki_checkup_state *state, ki_error *err);

#endif
