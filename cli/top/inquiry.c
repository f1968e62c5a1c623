/* inquiry.c: see inquiry.h. */
#include "inquiry.h"

#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OWNERS_MAX = 6, /* owners that are followed: pod, replica set, deployment, and what made that */
    SEEN_SIZE = 40  /* of a time, "2006-01-02T15:04:05.000000Z" */
};

struct inquiry {
    const ki_config *config;
    ki_engine *engine;
    ki_columns *columns; /* of Events */
    ki_object *selected; /* referenced; its later versions are the same selection */
    int64_t since_ms;
    bool is_asked;

    ki_factory *factory; /* of this selection; NULL: nothing is asked */
    ki_informer *events;
    ki_object_list list; /* what inquiry_read returned last */
    bool is_list_current;
    char owners[DETAILS_OWNERS_MAX];
    size_t owner_count;
    char namespace_name[KI_OBJECT_KEY_MAX];
    char failure[KI_HEALTH_MESSAGE_MAX]; /* why the Events cannot be asked for; "": they are */
    bool has_changed;
};

inquiry *inquiry_new(const ki_config *config, ki_engine *engine) {
    inquiry *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->config = config;
    q->engine = engine;
    if (ki_columns_new(KI_EVENTS, NULL, 0, NULL, &q->columns, NULL)) {
        free(q);
        return NULL;
    }
    return q;
}

/* Ends what was asked about the selection. */
static void forget(inquiry *q) {
    ki_object_list_free(&q->list);
    q->list = (ki_object_list){ 0 };
    q->is_list_current = false;
    ki_factory_free(q->factory); /* calls the handlers of its requests: after it none is called */
    q->factory = NULL;
    q->events = NULL;
    ki_object_unref(q->selected);
    q->selected = NULL;
    q->owners[0] = '\0';
    q->owner_count = 0;
    q->failure[0] = '\0';
    q->is_asked = false;
    q->has_changed = true;
}

void inquiry_free(inquiry *q) {
    if (!q)
        return;
    forget(q);
    ki_columns_free(q->columns);
    free(q);
}

/* ---- owners ---- */

static void on_owner(const ki_response *response, const ki_error *err, void *user);

static ki_status unless_no_memory(ki_status status) {
    return status == KI_ERR_NO_MEMORY ? status : KI_OK;
}

/* Returns the resource of a kind, if it is built in; else NULL. */
static const ki_resource *resource_of(const ki_owner_reference *owner) {
    const ki_resource *one;
    const char *slash = strrchr(owner->api_version, '/');
    size_t group_size = slash ? (size_t)(slash - owner->api_version) : 0;
    for (unsigned i = 0; (one = ki_resource_at(i)); i++) {
        if (strcmp(one->kind, owner->kind) == 0 && strlen(one->group) == group_size &&
            memcmp(one->group, owner->api_version, group_size) == 0)
            return one;
    }
    return NULL;
}

static ki_status add_owner(inquiry *q, const ki_owner_reference *owner, ki_error *err) {
    size_t size = strlen(q->owners);
    const ki_resource *resource = resource_of(owner);
    char kind[64];
    snprintf(kind, sizeof kind, "%.60s", owner->kind);
    make_lower(kind);
    snprintf(q->owners + size, sizeof q->owners - size, "%s%s %s", size ? " ← " : "", kind, owner->name);
    q->has_changed = true;
    if (!resource || ++q->owner_count == OWNERS_MAX)
        return KI_OK;
    const ki_client_request request = { .size = sizeof request,
                                        .verb = KI_CLIENT_GET,
                                        .resource = resource,
                                        .namespace_name = resource->namespaced ? q->namespace_name : NULL,
                                        .name = owner->name };
    return ki_client_send(ki_factory_client(q->factory), &request, on_owner, q, NULL, err);
}

/* Adds the controller of an object, and asks for it, because it can have one, too. */
static ki_status follow(inquiry *q, const ki_object *obj, ki_error *err) {
    ki_owner_reference *owners = NULL;
    size_t count = 0;
    ki_status status = ki_object_owner_references(obj, &owners, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        if (owners[i].controller) {
            status = add_owner(q, &owners[i], err);
            break;
        }
    }
    ki_owner_references_free(owners);
    return status;
}

/* An owner that cannot be read ends the chain: its name is there. */
static void on_owner(const ki_response *response, const ki_error *err, void *user) {
    inquiry *q = user;
    if (!err && q->selected)
        (void)follow(q, ki_response_object(response), NULL);
}

/* ---- Events ---- */

static void on_event(const ki_event *event, void *user) {
    inquiry *q = user;
    (void)event;
    q->has_changed = true;
    q->is_list_current = false;
}

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    inquiry *q = user;
    (void)informer;
    (void)health;
    q->has_changed = true;
}

/* Returns the field selector of the object's Events, which the caller frees; NULL if out of memory. */
static char *select_events(const ki_object *obj) {
    const char *const parts[] = { "involvedObject.kind=", ki_object_kind(obj),          ",involvedObject.name=",
                                  ki_object_name(obj),    ",involvedObject.namespace=", ki_object_namespace(obj) };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i += 2) {
        if (!*parts[i + 1])
            continue;
        fputs(parts[i], out);
        print_selector_value(out, parts[i + 1]);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static ki_status add_events(inquiry *q, ki_error *err) {
    static const ki_handler handler = { .on_add = on_event, .on_update = on_event, .on_delete = on_event };
    const ki_registration_options registration = { .size = sizeof registration, .on_loop = true };
    char *fields = select_events(q->selected);
    if (!fields)
        return KI_ERR_NO_MEMORY;
    const ki_informer_options options = { .size = sizeof options,
                                          .namespace_name = q->namespace_name,
                                          .field_selector = fields };
    ki_status status = ki_factory_informer(q->factory, KI_EVENTS, &options, &q->events, err);
    free(fields);
    if (!status)
        status = ki_informer_set_state_handler(q->events, on_state, q, err);
    if (!status)
        status = ki_informer_add_handler(q->events, &handler, q, &registration, NULL, err);
    return status ? status : ki_factory_start(q->factory, err);
}

/* An object or owner whose name no request can have does not end the program: the name is there. */
static ki_status ask(inquiry *q) {
    const ki_factory_options options = { .size = sizeof options, .engine = q->engine };
    ki_error cause = KI_ERROR_INIT;
    q->is_asked = q->has_changed = true;
    snprintf(q->namespace_name, sizeof q->namespace_name, "%s", ki_object_namespace(q->selected));
    ki_status status = ki_factory_new(q->config, &options, &q->factory, &cause);
    if (!status)
        status = unless_no_memory(follow(q, q->selected, NULL));
    if (!status && strcmp(ki_object_kind(q->selected), "Event") != 0) /* an Event has none */
        status = add_events(q, &cause);
    if (status)
        snprintf(q->failure, sizeof q->failure, "%s", ki_error_message(&cause));
    return unless_no_memory(status);
}

/* Returns true for versions of one object. Some servers give no UIDs. */
static bool is_same(const ki_object *a, const ki_object *b) {
    if (!a || !b)
        return a == b;
    return strcmp(ki_object_key(a), ki_object_key(b)) == 0 && strcmp(ki_object_uid(a), ki_object_uid(b)) == 0 &&
           strcmp(ki_object_kind(a), ki_object_kind(b)) == 0;
}

ki_status inquiry_select(inquiry *q, const ki_object *obj, int64_t now_ms) {
    if (!is_same(obj, q->selected)) {
        forget(q);
        q->selected = obj ? ki_object_ref(obj) : NULL;
        q->since_ms = now_ms;
    }
    if (!q->selected || q->is_asked || now_ms < q->since_ms + INQUIRY_AFTER_MS)
        return KI_OK;
    return ask(q);
}

bool inquiry_has_changed(inquiry *q) {
    bool has_changed = q->has_changed;
    q->has_changed = false;
    return has_changed;
}

/* An Event and when it was seen last. */
typedef struct dated {
    const ki_object *event;
    char seen[SEEN_SIZE];
} dated;

static dated date(const ki_object *event) {
    static const char *const paths[] = { "lastTimestamp", "series.lastObservedTime", "eventTime",
                                         "metadata.creationTimestamp" };
    dated d = { .event = event };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && !d.seen[0]; i++) {
        ki_value value = KI_VALUE_INIT;
        if (!ki_object_field(event, paths[i], &value, NULL) && value.type == KI_VALUE_STRING)
            snprintf(d.seen, sizeof d.seen, "%s", value.text);
        ki_value_clear(&value);
    }
    return d;
}

/* The last one first. */
static int by_time(const void *a, const void *b) {
    const dated *left = a, *right = b;
    return strcmp(right->seen, left->seen);
}

/* Lists the Events anew, if they have changed. */
static ki_status read_list(inquiry *q, ki_error *err) {
    if (q->is_list_current)
        return KI_OK;
    ki_object_list_free(&q->list);
    q->list = (ki_object_list){ 0 };
    ki_status status = ki_lister_list(q->events, NULL, NULL, NULL, &q->list, err);
    dated *all = status ? NULL : malloc((q->list.count + 1) * sizeof *all);
    if (!all)
        return status ? status : KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < q->list.count; i++)
        all[i] = date(q->list.objects[i]);
    qsort(all, q->list.count, sizeof *all, by_time);
    for (size_t i = 0; i < q->list.count; i++)
        q->list.objects[i] = all[i].event;
    free(all);
    q->is_list_current = true;
    return KI_OK;
}

ki_status inquiry_read(inquiry *q, details *ret, ki_error *err) {
    ki_health health;
    *ret = (details){ .event_columns = q->columns };
    memcpy(ret->owners, q->owners, sizeof ret->owners);
    memcpy(ret->message, q->failure, sizeof ret->message);
    if (!q->events)
        return KI_OK;
    ki_informer_health(q->events, &health);
    if (health.state == KI_STATE_BACKING_OFF || health.state == KI_STATE_BLOCKED)
        snprintf(ret->message, sizeof ret->message, "%s", health.message);
    ki_status status = read_list(q, err);
    if (status)
        return status;
    ret->events = q->list.objects;
    ret->event_count = q->list.count;
    return KI_OK;
}
