/* model.h: what kinformer top shows, and what a key does: tabs, the typed filter, an object's YAML, the keys' help.
 * Without a terminal, a session and a clock: page.h draws it, top.c feeds it. */
#ifndef CLI_TOP_MODEL_H
#define CLI_TOP_MODEL_H

#include "document.h"
#include "summary.h"
#include "tab.h"

enum {
    DETAILS_OWNERS_MAX = 600
};

/* What the pane says of the selected object, beside its last changes. */
typedef struct details {
    char owners[DETAILS_OWNERS_MAX]; /* "replicaset cart-7d9f ← deployment cart" */
    const ki_object *const *events;  /* its Events, the last one first; borrowed */
    size_t event_count;
    const ki_columns *event_columns;     /* borrowed; NULL: no events */
    char message[KI_HEALTH_MESSAGE_MAX]; /* why there are no Events; "": they are complete */
} details;

typedef enum mode {
    MODE_TABLE,
    MODE_TYPING, /* the filter is being typed */
    MODE_OBJECT, /* the selected object's YAML */
    MODE_KEYS    /* the help */
} mode;

typedef struct model {
    tab *tabs; /* borrowed */
    size_t count;
    size_t current; /* the tab that is shown; `count`: the summary */
    mode mode;
    bool has_pane;
    bool has_server_message;
    char typed[TAB_FILTER_MAX];
    char before[TAB_FILTER_MAX]; /* the filter before it was typed, for Escape */
    document object;
    bool is_object_deleted;
    summary summary;
    size_t summary_line;
    size_t scroll;     /* the first shown line of the object or of the summary */
    size_t page_lines; /* lines of the table or text that page_draw drew last */
    details details;
    const char *server; /* its URL; borrowed */
    bool is_done;       /* q was typed */
    bool suspends;      /* Ctrl-Z was typed; the caller unsets it */
    bool redraws;       /* Ctrl-L was typed; the caller unsets it */
} model;

/* `tabs` are open, at least one. */
void model_open(model *m, tab *tabs, size_t count, const char *server);
void model_close(model *m);
/* Returns the tab that is shown; NULL: the summary is. */
tab *model_tab(const model *m);
/* Returns the object of the cursor; NULL if there is none. */
const ki_object *model_selected(const model *m);
/* Brings the changes into the tables. Errors: KI_ERR_NO_MEMORY. */
ki_status model_settle(model *m, moment at, ki_error *err);
/* Returns true if the picture is not what it was: a change, or a light that ends. */
bool model_is_dirty(const model *m, int64_t now_ms);
/* Returns true for a key that refers to lines: after earlier keys it needs a model_settle first. Typed text and changes
 * of the order do not, so that keys can come faster than a large table can be arranged. */
bool model_key_needs_lines(const model *m, int pressed);
/* Does what a key (screen.h) means. Errors: KI_ERR_NO_MEMORY. */
ki_status model_key(model *m, int pressed, ki_error *err);

#endif
