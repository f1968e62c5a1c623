/* reconcile.c: the program's reconcile function. It gives each parent the children that its spec asks for, all with the
 * spec's value, and a status with that value. It compares one child after the other in the cache with the spec, and
 * sends the write that the child needs. The first write that fails ends the reconcile. Every update and delete names
 * the resource version that it was based on. */
#include "sim/controllers/world.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ki_resource ctl_foos = { CTL_GROUP, "v1", "foos", "Foo", true };

const ki_field ctl_parent_fields[] = { KI_FIELD(ctl_parent, value, "spec.value"),
                                       KI_FIELD(ctl_parent, replicas, "spec.replicas"),
                                       KI_FIELD(ctl_parent, wait_seconds, "spec.waitSeconds"),
                                       KI_FIELD(ctl_parent, observed, "status.observed"),
                                       KI_FIELD(ctl_parent, is_ready, "status.ready"),
                                       KI_FIELD(ctl_parent, deleted_at, "metadata.deletionTimestamp"),
                                       KI_FIELD(ctl_parent, generation, "metadata.generation"),
                                       KI_FIELD_END };
const ki_field ctl_child_fields[] = { KI_FIELD(ctl_child, value, "data.value"), KI_FIELD_END };

/* A running reconcile, or an ended one whose request has not ended. */
struct ctl_op {
    ctl_op *next;
    ctl_process *process;
    uint64_t number;
    unsigned key;
    char term[32];            /* "term=N", for the oracle of leader election; "" without an elector */
    ki_reconcile *call;       /* NULL: the reconcile has ended */
    bool is_deferred;         /* ki_reconcile_defer was called */
    bool has_request;         /* on_response will be called */
    bool is_delete;           /* the last request is a delete */
    char child[32];           /* name of the child that the last request is about; "": the parent */
    bool is_watched;          /* the controller watched that object's resource when the request was sent */
    bool has_sent_last_write; /* the status, or the removal of the finalizer */
    bool written_ready;       /* status.ready in the status that was written */
    bool has_written;         /* a write was sent */
    bool has_foreign_child;   /* a child's name is taken by an object that the parent does not control */
    ki_object *parent;
    const ctl_parent *spec;
    unsigned next_child; /* number of the child to compare next */
    /* how the reconcile ends */
    ctl_result result;
    int64_t after_ms; /* of CTL_REQUEUE_AFTER */
    ki_error cause;   /* of CTL_FAILED and CTL_TERMINAL */
};

/* --- the end of an op --------------------------------------------------------------------------------------------- */

/* Frees the op once its reconcile and its request have ended. */
static void release_op(ctl_op *op) {
    if (op->call || op->has_request)
        return;
    ctl_op **place = &op->process->ops;
    while (*place != op)
        place = &(*place)->next;
    *place = op->next;
    ki_object_unref(op->parent);
    free(op);
}

/* Ends a deferred reconcile with the op's result. */
static void finish_op(ctl_op *op) {
    ki_reconcile *call = op->call;
    ctl_process *process = op->process;
    op->call = NULL;
    ctl_key_finish(process, op->key, op->result, op->after_ms);
    if (op->result == CTL_REQUEUE_AFTER)
        ki_reconcile_requeue_after(call, op->after_ms);
    if (op->result == CTL_TERMINAL)
        ki_reconcile_set_terminal(call);
    bool requeues = op->result == CTL_FAILED && sim_chance(&process->random, 20);
    if (requeues)
        ki_reconcile_requeue(call);
    bool failed = (op->result == CTL_FAILED && !requeues) || op->result == CTL_TERMINAL;
    ki_reconcile_finish(call, failed ? &op->cause : NULL);
    release_op(op);
}

static ctl_op *find_op(ctl_process *process, uint64_t number) {
    ctl_op *op = process->ops;
    while (op && op->number != number)
        op = op->next;
    return op;
}

static void finish_when_callable(void *user, uint64_t number) {
    ctl_process *process = user;
    ctl_op *op = find_op(process, number);
    if (!op || !op->call)
        return;
    int64_t callable_at = ctl_process_callable_at(process);
    if (callable_at > process->world->now)
        ctl_at(process->world, callable_at, finish_when_callable, process, number);
    else
        finish_op(op);
}

/* Ends the work with a result. A deferred reconcile ends now, or by chance up to 4 s later. Otherwise ctl_reconcile
 * ends it. */
static void end_op(ctl_op *op, ctl_result result, int64_t after_ms, const ki_error *cause) {
    ctl_process *process = op->process;
    op->result = result;
    op->after_ms = after_ms;
    if (cause)
        op->cause = *cause;
    if (!op->is_deferred)
        return;
    if (!sim_chance(&process->random, process->world->plan.slow_percent))
        finish_op(op);
    else
        ctl_after(process->world, sim_between(&process->random, 0, 4000) * SIM_MILLISECOND, finish_when_callable,
                  process, op->number);
}

static void fail_op(ctl_op *op, const char *message) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_STATE, "%s", message);
    end_op(op, CTL_FAILED, 0, &err);
}

void ctl_reconcile_abort(ctl_process *process) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_CANCELLED, "the process is freed");
    for (ctl_op *op = process->ops, *next; op; op = next) {
        next = op->next;
        if (!op->call)
            continue;
        op->result = CTL_FAILED;
        op->cause = err;
        finish_op(op);
    }
}

/* --- writes ------------------------------------------------------------------------------------------------------- */

static void continue_op(ctl_op *op);

/* Returns true if a delete failed because the object does not exist. */
static bool is_already_deleted(const ctl_op *op, const ki_error *err) {
    return op->is_delete && ki_error_is_not_found(err);
}

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    ctl_op *op = user;
    ctl_process *process = op->process;
    op->has_request = false;
    if (!op->call) {
        release_op(op);
        return;
    }
    if (process->is_freed)
        ctl_fail(process->world, "process %u: a response was delivered while the process was freed", process->index);
    if (process->elector && !process->is_leading && !ki_reconcile_is_cancelled(op->call))
        ctl_fail(process->world, "process %u: a reconcile was not cancelled after the leadership ended",
                 process->index);
    if (!err && op->is_watched)
        ctl_own_writes_add(process, op->key, response, op->child[0] ? op->child : NULL);
    if (err && !is_already_deleted(op, err))
        end_op(op, CTL_FAILED, 0, err);
    else if (ki_reconcile_is_cancelled(op->call) && sim_chance(&process->random, 70))
        fail_op(op, "cancelled");
    else
        continue_op(op);
}

/* Sends a write. Defers the reconcile before the first one. */
static void send_request(ctl_op *op, const ki_client_request *request) {
    ctl_process *process = op->process;
    ki_error err = KI_ERROR_INIT;
    if (!op->is_deferred) {
        ki_reconcile_defer(op->call);
        op->is_deferred = true;
    }
    op->has_written = true;
    op->has_request = true;
    op->is_delete = request->verb == KI_CLIENT_DELETE;
    op->is_watched = op->child[0] || process->watches_parents;
    if (ki_client_send(ki_factory_client(process->factory), request, on_response, op, NULL, &err)) {
        op->has_request = false;
        end_op(op, CTL_FAILED, 0, &err);
    }
}

/* Sends and frees an object. */
static void send_object(ctl_op *op, ki_client_verb verb, const ki_resource *resource, const char *name,
                        const char *subresource, ki_unstructured *object) {
    ki_error err = KI_ERROR_INIT;
    const char *json = ki_unstructured_json(object, &err);
    const ki_request_options options = KI_REQUEST_OPTIONS(.timeout_ms = op->process->world->plan.call_timeout_ms,
                                                          .subresource = subresource, .parameters = op->term);
    if (json)
        send_request(op,
                     &KI_CLIENT_REQUEST(.verb = verb, .resource = resource, .namespace_name = ctl_namespace(op->key),
                                        .name = name, .body = json, .body_size = strlen(json), .options = &options));
    else
        end_op(op, CTL_FAILED, 0, &err);
    ki_unstructured_free(object);
}

static void create_child(ctl_op *op, const char *name) {
    ki_unstructured *child = ki_unstructured_new("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{}}");
    ki_unstructured_set_string(child, "metadata.name", name);
    ki_unstructured_set_string(child, "metadata.namespace", ctl_namespace(op->key));
    ki_unstructured_set_string(child, "metadata.labels.child", "yes");
    ki_unstructured_set_controller(child, op->parent);
    ki_unstructured_set_string(child, "data.value", op->spec->value);
    send_object(op, KI_CLIENT_CREATE, KI_CONFIGMAPS, NULL, NULL, child);
}

static void update_child(ctl_op *op, const char *name, const ki_object *child_obj) {
    ki_unstructured *child = ki_unstructured_from_object(child_obj);
    ki_unstructured_set_string(child, "data.value", op->spec->value);
    send_object(op, KI_CLIENT_UPDATE, KI_CONFIGMAPS, name, NULL, child);
}

static void delete_child(ctl_op *op, const char *name, const ki_object *child_obj) {
    const ki_request_options options =
        KI_REQUEST_OPTIONS(.timeout_ms = op->process->world->plan.call_timeout_ms, .parameters = op->term,
                           .precondition_uid = ki_object_uid(child_obj),
                           .precondition_resource_version = ki_object_resource_version(child_obj));
    send_request(op, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = KI_CONFIGMAPS,
                                        .namespace_name = ctl_namespace(op->key), .name = name, .options = &options));
}

static void remove_finalizer(ctl_op *op) {
    ki_unstructured *parent = ki_unstructured_from_object(op->parent);
    ki_unstructured_remove_finalizer(parent, CTL_FINALIZER);
    op->has_sent_last_write = true;
    send_object(op, KI_CLIENT_UPDATE, &ctl_foos, ki_object_name(op->parent), NULL, parent);
}

static void update_status(ctl_op *op, bool is_ready) {
    ki_unstructured *parent = ki_unstructured_from_object(op->parent);
    ki_unstructured_set_string(parent, "status.observed", op->spec->value);
    ki_unstructured_set_bool(parent, "status.ready", is_ready);
    op->has_sent_last_write = true;
    op->written_ready = is_ready;
    send_object(op, KI_CLIENT_UPDATE, &ctl_foos, ki_object_name(op->parent), "status", parent);
}

/* --- decisions ---------------------------------------------------------------------------------------------------- */

/* Sends the write that the child with this number needs. Returns false if it needs none. */
static bool write_child(ctl_op *op, unsigned number) {
    char key[64];
    bool is_wanted = !op->spec->deleted_at && (int64_t)number < op->spec->replicas;
    snprintf(key, sizeof key, "%s/p%u-%u", ctl_namespace(op->key), op->key, number);
    const char *name = strchr(key, '/') + 1;
    snprintf(op->child, sizeof op->child, "%s", name);
    ki_object *child_obj = ki_informer_get(op->process->children, key);
    bool writes = true;
    if (!child_obj) {
        writes = is_wanted;
        if (is_wanted)
            create_child(op, name);
        return writes;
    }
    const ctl_child *child = ki_object_view(child_obj);
    if (!ki_object_is_controlled_by(child_obj, op->parent)) {
        op->has_foreign_child = op->has_foreign_child || is_wanted;
        writes = false;
    } else if (!is_wanted) {
        delete_child(op, name, child_obj);
    } else if (!child->value || strcmp(child->value, op->spec->value) != 0) {
        update_child(op, name, child_obj);
    } else {
        writes = false;
    }
    ki_object_unref(child_obj);
    return writes;
}

static void record_event(const ctl_op *op) {
    ctl_process *process = op->process;
    if (!process->recorder || (!op->has_written && !op->has_foreign_child))
        return;
    process->recorded_events++;
    process->world->recorded_events++;
    if (op->has_foreign_child)
        ki_event_recorder_record(process->recorder, op->parent, KI_EVENT_WARNING, "ErrResourceExists",
                                 "a child of %s belongs to somebody else", ki_object_name(op->parent));
    else
        ki_event_recorder_record(process->recorder, op->parent, KI_EVENT_NORMAL, "Synced", "%s is synced to %s",
                                 ki_object_name(op->parent), op->spec->value);
}

static bool is_status_current(const ctl_parent *spec) {
    return spec->observed && strcmp(spec->observed, spec->value) == 0;
}

/* Returns the milliseconds until the value becomes ready (spec.waitSeconds); 0: it is ready. A value that was ready
 * once stays ready: a status that goes back to not ready would not change the generation, and a controller with the
 * generation predicate would not see it. */
static int64_t remaining_wait_ms(const ctl_op *op) {
    ctl_process *process = op->process;
    ctl_key *key = &process->keys[op->key];
    uint64_t value = strtoull(op->spec->value + 1, NULL, 10);
    if (!op->spec->wait_seconds || (is_status_current(op->spec) && op->spec->is_ready))
        return 0;
    if (key->wait_value != value) {
        key->wait_value = value;
        key->wait_since = ctl_process_now(process);
    }
    int64_t left = key->wait_since + op->spec->wait_seconds * SIM_SECOND - ctl_process_now(process);
    return left <= 0 ? 0 : left / SIM_MILLISECOND + 1;
}

/* Continues after all children match the spec, or their writes succeeded. */
static void continue_after_children(ctl_op *op) {
    op->child[0] = '\0';
    if (op->spec->deleted_at) {
        if (!op->has_sent_last_write && !op->has_written && ki_object_has_finalizer(op->parent, CTL_FINALIZER)) {
            remove_finalizer(op); /* only if no child was left to delete */
            return;
        }
        end_op(op, CTL_DONE, 0, NULL); /* the deletion of a child queues the key again */
        return;
    }
    if (op->has_foreign_child) {
        record_event(op);
        fail_op(op, "a child belongs to somebody else");
        return;
    }
    int64_t wait_ms = remaining_wait_ms(op);
    if (op->has_sent_last_write && !op->written_ready && wait_ms == 0)
        wait_ms = 1; /* it became ready while the status was written */
    if (!op->has_sent_last_write && (!is_status_current(op->spec) || op->spec->is_ready != (wait_ms == 0))) {
        update_status(op, wait_ms == 0);
        return;
    }
    record_event(op);
    end_op(op, wait_ms ? CTL_REQUEUE_AFTER : CTL_DONE, wait_ms, NULL);
}

static void continue_op(ctl_op *op) {
    while (op->next_child < CTL_MAX_CHILDREN) {
        if (write_child(op, op->next_child++))
            return;
    }
    continue_after_children(op);
}

/* --- the reconcile function --------------------------------------------------------------------------------------- */

static void check_begin(ctl_process *process, const char *key) {
    ctl_world *world = process->world;
    if (!process->is_running || process->is_freed)
        ctl_fail(world, "process %u: a reconcile began after the process was freed", process->index);
    else if (ctl_key_parse(key) < 0)
        ctl_fail(world, "process %u: a reconcile of the unknown key \"%s\"", process->index, key);
    else if (process->elector && !ki_elector_is_leader(process->elector))
        ctl_fail(world, "process %u: a reconcile began without leadership", process->index);
    else if ((!world->plan.late_watch_ms && !ki_informer_has_synced(process->parents)) ||
             !ki_informer_has_synced(process->children))
        ctl_fail(world, "process %u: a reconcile began before the informers had synced", process->index);
}

/* Takes ownership of `parent`. */
static ctl_op *new_op(ctl_process *process, ki_reconcile *call, unsigned key, ki_object *parent) {
    ctl_op *op = sim_alloc(sizeof *op);
    *op = (ctl_op){ .next = process->ops,
                    .process = process,
                    .number = ++process->op_count,
                    .key = key,
                    .call = call,
                    .parent = parent,
                    .spec = ki_object_view(parent) };
    process->ops = op;
    if (process->elector)
        snprintf(op->term, sizeof op->term, "term=%" PRIu64, process->term);
    return op;
}

/* Ends a reconcile whose work has ended before the function returns: by the function's result, or by defer and finish
 * at once. */
static ki_status return_result(ctl_op *op, ki_error *err) {
    ki_reconcile *call = op->call;
    if (sim_chance(&op->process->random, 30)) {
        ki_reconcile_defer(call);
        op->is_deferred = true;
        finish_op(op);
        return KI_OK;
    }
    ki_status status = KI_OK;
    if (op->result == CTL_REQUEUE_AFTER)
        ki_reconcile_requeue_after(call, op->after_ms);
    if (op->result == CTL_TERMINAL)
        ki_reconcile_set_terminal(call);
    if (op->result == CTL_FAILED || op->result == CTL_TERMINAL) {
        *err = op->cause;
        status = op->cause.code;
    }
    op->call = NULL;
    ctl_key_finish(op->process, op->key, op->result, op->after_ms);
    release_op(op);
    return status;
}

static void begin_stop(ctl_process *process) {
    process->stop_in_reconcile = false;
    ctl_process_stop(process, process->restart_delay);
}

ki_status ctl_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    ctl_process *process = user;
    ctl_world *world = process->world;
    check_begin(process, key);
    if (world->failed)
        return KI_OK;
    unsigned number = (unsigned)ctl_key_parse(key);
    CTL_TRACE(world, "process %u: reconciles %s", process->index, key);
    ctl_digest_add(world, 0x100 + number);
    ctl_key_start(process, number);
    if (process->stop_in_reconcile)
        begin_stop(process);
    ki_object *parent = ki_informer_get(process->parents, key);
    if (!parent) {
        ctl_key_finish(process, number, CTL_DONE, 0);
        return KI_OK;
    }
    ctl_op *op = new_op(process, call, number, parent);
    uint64_t op_number = op->number;
    if (!world->is_quiet && sim_chance(&process->random, world->plan.error_percent))
        fail_op(op, "injected error");
    else if (op->spec->replicas < 0 && !op->spec->deleted_at) {
        fail_op(op, "invalid spec");
        op->result = CTL_TERMINAL;
    } else {
        continue_op(op);
    }
    op = find_op(process, op_number); /* NULL: a deferred reconcile has ended already */
    return !op || op->is_deferred ? KI_OK : return_result(op, err);
}
