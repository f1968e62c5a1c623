/* reconcile.c: the program's work: each parent gets as many children as its spec asks for, all with the spec's value, and a status that says so. A
 * reconcile compares the caches once, then sends one write after the other; the first that fails ends it. Every write is bound to the state that the
 * decision was made from: a resource version, or a precondition. */
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

/* One reconcile under way. */
struct ctl_op {
    ctl_op *next;
    ctl_process *process;
    uint64_t number;
    unsigned key;
    ki_reconcile *call;        /* NULL: the reconcile has ended */
    bool is_deferred;          /* the reconcile function has returned, or is about to */
    bool has_request;          /* on_answer will be called */
    bool is_delete, is_status; /* the request's kind */
    bool is_ready;             /* what the status says that was written */
    bool has_written, has_stranger;
    ki_object *parent;
    const ctl_parent *spec;
    unsigned next_child;
    /* how it ends */
    ctl_result result;
    int64_t after_ms;
    ki_error cause;
};

/* --- the life of an op ------------------------------------------------------------------------------------------------------ */

static void release(ctl_op *op) {
    if (op->call || op->has_request)
        return;
    ctl_op **place = &op->process->ops;
    while (*place != op)
        place = &(*place)->next;
    *place = op->next;
    ki_object_unref(op->parent);
    free(op);
}

static void finish_deferred(ctl_op *op) {
    ki_reconcile *call = op->call;
    ctl_process *process = op->process;
    op->call = NULL;
    ctl_key_finish(process, op->key, op->result, op->after_ms);
    if (op->result == CTL_AGAIN)
        ki_reconcile_requeue_after(call, op->after_ms);
    if (op->result == CTL_TERMINAL)
        ki_reconcile_set_terminal(call);
    bool by_result = op->result == CTL_FAILED && sim_chance(&process->random, 20);
    if (by_result)
        ki_reconcile_requeue(call);
    bool failed = (op->result == CTL_FAILED && !by_result) || op->result == CTL_TERMINAL;
    ki_reconcile_finish(call, failed ? &op->cause : NULL);
    release(op);
}

static ctl_op *find(ctl_process *process, uint64_t number) {
    ctl_op *op = process->ops;
    while (op && op->number != number)
        op = op->next;
    return op;
}

static void finish_later(void *user, uint64_t number) {
    ctl_process *process = user;
    ctl_op *op = find(process, number);
    if (!op || !op->call)
        return;
    int64_t free_at = ctl_process_free_at(process);
    if (free_at > process->world->now)
        ctl_at(process->world, free_at, finish_later, process, number);
    else
        finish_deferred(op);
}

/* The work is over. A deferred reconcile ends now or after a while; one whose function still runs ends when the function returns. */
static void end(ctl_op *op, ctl_result result, int64_t after_ms, const ki_error *cause) {
    ctl_process *process = op->process;
    op->result = result;
    op->after_ms = after_ms;
    if (cause)
        op->cause = *cause;
    if (!op->is_deferred)
        return;
    if (!sim_chance(&process->random, process->world->plan.slow))
        finish_deferred(op);
    else
        ctl_after(process->world, sim_between(&process->random, 0, 4000) * SIM_MILLISECOND, finish_later, process,
                  op->number);
}

static void fail(ctl_op *op, const char *what) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_STATE, "%s", what);
    end(op, CTL_FAILED, 0, &err);
}

void ctl_reconcile_abort(ctl_process *process) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_CANCELLED, "the process ends");
    for (ctl_op *op = process->ops, *next; op; op = next) {
        next = op->next;
        if (!op->call)
            continue;
        op->result = CTL_FAILED;
        op->cause = err;
        finish_deferred(op);
    }
}

/* --- writes ------------------------------------------------------------------------------------------------------------------ */

static void go_on(ctl_op *op);

static bool is_harmless(const ctl_op *op, const ki_error *err) {
    return op->is_delete && ki_error_is_not_found(err);
}

static void on_answer(const ki_response *answer, const ki_error *err, void *user) {
    ctl_op *op = user;
    ctl_process *process = op->process;
    (void)answer;
    op->has_request = false;
    if (!op->call) {
        release(op);
        return;
    }
    if (process->is_dropped)
        ctl_fail(process->world, "process %u: an answer while it is freed", process->index);
    if (process->elector && !process->leads && !ki_reconcile_is_cancelled(op->call))
        ctl_fail(process->world, "process %u: a reconcile goes on without leadership", process->index);
    if (err && !is_harmless(op, err))
        end(op, CTL_FAILED, 0, err);
    else if (ki_reconcile_is_cancelled(op->call) && sim_chance(&process->random, 70))
        fail(op, "cancelled");
    else
        go_on(op);
}

static void send(ctl_op *op, const ki_client_request *request) {
    ctl_process *process = op->process;
    ki_error err = KI_ERROR_INIT;
    if (!op->is_deferred) {
        ki_reconcile_defer(op->call);
        op->is_deferred = true;
    }
    op->has_written = true;
    op->has_request = true;
    op->is_delete = request->verb == KI_CLIENT_DELETE;
    if (ki_client_send(ki_factory_client(process->factory), request, on_answer, op, NULL, &err)) {
        op->has_request = false;
        end(op, CTL_FAILED, 0, &err);
    }
}

/* Sends an object, which it frees. */
static void send_object(ctl_op *op, ki_client_verb verb, const ki_resource *resource, const char *name,
                        const char *subresource, ki_unstructured *object) {
    ki_error err = KI_ERROR_INIT;
    const char *json = ki_unstructured_json(object, &err);
    const ki_request_options options =
        KI_REQUEST_OPTIONS(.timeout_ms = op->process->world->plan.call_timeout_ms, .subresource = subresource);
    if (json)
        send(op, &KI_CLIENT_REQUEST(.verb = verb, .resource = resource, .namespace_name = ctl_namespace(op->key),
                                    .name = name, .body = json, .body_size = strlen(json), .options = &options));
    else
        end(op, CTL_FAILED, 0, &err);
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

static void update_child(ctl_op *op, const char *name, const ki_object *known) {
    ki_unstructured *child = ki_unstructured_from_object(known);
    ki_unstructured_set_string(child, "data.value", op->spec->value);
    send_object(op, KI_CLIENT_UPDATE, KI_CONFIGMAPS, name, NULL, child);
}

static void delete_child(ctl_op *op, const char *name, const ki_object *known) {
    const ki_request_options options =
        KI_REQUEST_OPTIONS(.timeout_ms = op->process->world->plan.call_timeout_ms,
                           .precondition_uid = ki_object_uid(known),
                           .precondition_resource_version = ki_object_resource_version(known));
    send(op, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = KI_CONFIGMAPS,
                                .namespace_name = ctl_namespace(op->key), .name = name, .options = &options));
}

static void remove_finalizer(ctl_op *op) {
    ki_unstructured *parent = ki_unstructured_from_object(op->parent);
    ki_unstructured_remove_finalizer(parent, CTL_FINALIZER);
    op->is_status = true; /* the last write */
    send_object(op, KI_CLIENT_UPDATE, &ctl_foos, ki_object_name(op->parent), NULL, parent);
}

static void update_status(ctl_op *op, bool is_ready) {
    ki_unstructured *parent = ki_unstructured_from_object(op->parent);
    ki_unstructured_set_string(parent, "status.observed", op->spec->value);
    ki_unstructured_set_bool(parent, "status.ready", is_ready);
    op->is_status = true;
    op->is_ready = is_ready;
    send_object(op, KI_CLIENT_UPDATE, &ctl_foos, ki_object_name(op->parent), "status", parent);
}

/* --- decisions ----------------------------------------------------------------------------------------------------------------- */

/* Writes what the child with this number needs. Returns false where it needs nothing. */
static bool settle_child(ctl_op *op, unsigned number) {
    char key[64];
    bool is_wanted = !op->spec->deleted_at && (int64_t)number < op->spec->replicas;
    snprintf(key, sizeof key, "%s/p%u-%u", ctl_namespace(op->key), op->key, number);
    const char *name = strchr(key, '/') + 1;
    ki_object *known = ki_informer_get(op->process->children, key);
    bool writes = true;
    if (!known) {
        writes = is_wanted;
        if (is_wanted)
            create_child(op, name);
        return writes;
    }
    const ctl_child *child = ki_object_view(known);
    if (!ki_object_is_controlled_by(known, op->parent)) {
        op->has_stranger = op->has_stranger || is_wanted;
        writes = false;
    } else if (!is_wanted) {
        delete_child(op, name, known);
    } else if (!child->value || strcmp(child->value, op->spec->value) != 0) {
        update_child(op, name, known);
    } else {
        writes = false;
    }
    ki_object_unref(known);
    return writes;
}

static void record(const ctl_op *op) {
    ctl_process *process = op->process;
    if (!process->recorder || (!op->has_written && !op->has_stranger))
        return;
    process->recorded++;
    process->world->recorded++;
    if (op->has_stranger)
        ki_event_recorder_record(process->recorder, op->parent, KI_EVENT_WARNING, "ErrResourceExists",
                                 "a child of %s belongs to somebody else", ki_object_name(op->parent));
    else
        ki_event_recorder_record(process->recorder, op->parent, KI_EVENT_NORMAL, "Synced", "%s is synced to %s",
                                 ki_object_name(op->parent), op->spec->value);
}

static bool has_observed(const ctl_parent *spec) {
    return spec->observed && strcmp(spec->observed, spec->value) == 0;
}

/* How long until a value that takes its time is ready, in ms; 0: it is. What was ready once stays so: a status that went back would not be seen by a
 * controller that watches generations and reads an old cache. */
static int64_t time_to_wait(const ctl_op *op) {
    ctl_process *process = op->process;
    ctl_key *key = &process->keys[op->key];
    uint64_t value = strtoull(op->spec->value + 1, NULL, 10);
    if (!op->spec->wait_seconds || (has_observed(op->spec) && op->spec->is_ready))
        return 0;
    if (key->wait_value != value) {
        key->wait_value = value;
        key->wait_since = ctl_process_now(process);
    }
    int64_t left = key->wait_since + op->spec->wait_seconds * SIM_SECOND - ctl_process_now(process);
    return left <= 0 ? 0 : left / SIM_MILLISECOND + 1;
}

/* All children are as they should be, or being made so. */
static void end_well(ctl_op *op) {
    if (op->spec->deleted_at) {
        if (!op->is_status && !op->has_written && ki_object_has_finalizer(op->parent, CTL_FINALIZER)) {
            remove_finalizer(op);
            return;
        }
        end(op, CTL_DONE, 0, NULL); /* the deletion of a child is the next event */
        return;
    }
    if (op->has_stranger) {
        record(op);
        fail(op, "a child belongs to somebody else");
        return;
    }
    int64_t wait_ms = time_to_wait(op);
    if (op->is_status && !op->is_ready && wait_ms == 0)
        wait_ms = 1; /* it became ready while the status was written */
    if (!op->is_status && (!has_observed(op->spec) || op->spec->is_ready != (wait_ms == 0))) {
        update_status(op, wait_ms == 0);
        return;
    }
    record(op);
    end(op, wait_ms ? CTL_AGAIN : CTL_DONE, wait_ms, NULL);
}

static void go_on(ctl_op *op) {
    while (op->next_child < CTL_MAX_CHILDREN) {
        if (settle_child(op, op->next_child++))
            return;
    }
    end_well(op);
}

/* --- the reconcile function ------------------------------------------------------------------------------------------------------ */

static void check_call(ctl_process *process, const char *key) {
    ctl_world *world = process->world;
    if (!process->is_running || process->is_dropped)
        ctl_fail(world, "process %u: a reconcile after the end", process->index);
    else if (ctl_key_number(key) < 0)
        ctl_fail(world, "process %u: a reconcile of \"%s\"", process->index, key);
    else if (process->elector && !ki_elector_is_leader(process->elector))
        ctl_fail(world, "process %u: a reconcile without leadership", process->index);
    else if (!ki_informer_has_synced(process->parents) || !ki_informer_has_synced(process->children))
        ctl_fail(world, "process %u: a reconcile before its informers have synced", process->index);
}

static ctl_op *new_op(ctl_process *process, ki_reconcile *call, unsigned key, ki_object *parent) {
    ctl_op *op = sim_alloc(sizeof *op);
    *op = (ctl_op){ .next = process->ops,
                    .process = process,
                    .number = ++process->ops_made,
                    .key = key,
                    .call = call,
                    .parent = parent,
                    .spec = ki_object_view(parent) };
    process->ops = op;
    return op;
}

/* The function is about to return, and the work has ended: by its result, or by deferring and finishing at once. */
static ki_status return_from(ctl_op *op, ki_error *err) {
    ki_reconcile *call = op->call;
    if (sim_chance(&op->process->random, 30)) {
        ki_reconcile_defer(call);
        op->is_deferred = true;
        finish_deferred(op);
        return KI_OK;
    }
    ki_status status = KI_OK;
    if (op->result == CTL_AGAIN)
        ki_reconcile_requeue_after(call, op->after_ms);
    if (op->result == CTL_TERMINAL)
        ki_reconcile_set_terminal(call);
    if (op->result == CTL_FAILED || op->result == CTL_TERMINAL) {
        *err = op->cause;
        status = op->cause.code;
    }
    op->call = NULL;
    ctl_key_finish(op->process, op->key, op->result, op->after_ms);
    release(op);
    return status;
}

static void stop_inside(ctl_process *process) {
    process->stop_inside = false;
    ctl_process_stop(process, process->restart_in);
}

ki_status ctl_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    ctl_process *process = user;
    ctl_world *world = process->world;
    check_call(process, key);
    if (world->failed)
        return KI_OK;
    unsigned number = (unsigned)ctl_key_number(key);
    CTL_TRACE(world, "process %u: reconciles %s", process->index, key);
    ctl_note(world, 0x100 + number);
    ctl_key_start(process, number);
    if (process->stop_inside)
        stop_inside(process);
    ki_object *parent = ki_informer_get(process->parents, key);
    if (!parent) {
        ctl_key_finish(process, number, CTL_DONE, 0);
        return KI_OK;
    }
    ctl_op *op = new_op(process, call, number, parent);
    uint64_t op_number = op->number;
    if (!world->is_quiet && sim_chance(&process->random, world->plan.errors))
        fail(op, "no reason");
    else if (op->spec->replicas < 0 && !op->spec->deleted_at) {
        fail(op, "the spec is not valid");
        op->result = CTL_TERMINAL;
    } else {
        go_on(op);
    }
    op = find(process, op_number); /* a deferred one may have ended already */
    return !op || op->is_deferred ? KI_OK : return_from(op, err);
}
