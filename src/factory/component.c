/* component.c: see component.h. Starts and stops a factory's components in their order. */
#include "src/factory/component.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"

#include <string.h>

/* --- starting and stopping ---------------------------------------------------------------------------------------- */

/* Returns a component of an order in a state, or NULL. `only_requested`: one whose start was requested. Callers search
 * again after each call of a component: the call may have removed others. */
static ki_component *find(ki_component_list *list, ki_component_order order, ki_component_state state,
                          bool only_requested) {
    ki_mutex_lock(list->mutex);
    ki_component *component = list->first;
    while (component && (component->order != order || component->state != state ||
                         (only_requested && !component->is_start_requested)))
        component = component->next;
    ki_mutex_unlock(list->mutex);
    return component;
}

static void set_state(ki_component *component, ki_component_state state) {
    KI_ON_LOOP(component->list->engine);
    ki_mutex_lock(component->list->mutex);
    KI_ASSERT(state > component->state); /* forward only */
    component->state = state;
    ki_mutex_unlock(component->list->mutex);
}

ki_status ki_component_list_add(ki_component_list *list, ki_component *component, ki_error *err) {
    KI_HELD(list->mutex);
    KI_ASSERT(!component->list && component->order < KI_COMPONENT_ORDERS);
    KI_ASSERT(component->start && component->stop && component->cut_off);
    for (const ki_component *other = list->first; other; other = other->next)
        if (component->name && other->name && other->order == component->order &&
            strcmp(other->name, component->name) == 0)
            return ki_error_set(err, KI_ERR_EXISTS, "the factory already has a component of the name %s",
                                component->name);
    component->next = component->previous = NULL;
    component->list = list;
    component->state = KI_COMPONENT_NEW;
    component->is_start_requested = component->is_left = false;
    KI_LIST_APPEND(list->first, component);
    return KI_OK;
}

void ki_component_list_request_start(ki_component_list *list) {
    KI_HELD(list->mutex);
    for (ki_component *component = list->first; component; component = component->next)
        component->is_start_requested = true;
}

void ki_component_list_start(ki_component_list *list) {
    KI_ON_LOOP(list->engine);
    for (int order = KI_COMPONENT_ORDERS; order-- > 0;) {
        ki_component *component;
        while (!list->is_stopping && (component = find(list, (ki_component_order)order, KI_COMPONENT_NEW, true))) {
            set_state(component, KI_COMPONENT_STARTED);
            component->start(component);
        }
    }
}

/* Returns the longest stop timeout of the stopping components in nanoseconds; 0 if none is stopping. */
static int64_t stop_timeout(ki_component_list *list) {
    int64_t longest = 0;
    ki_mutex_lock(list->mutex);
    for (const ki_component *component = list->first; component; component = component->next)
        if (component->state == KI_COMPONENT_STOPPING && component->stop_timeout_ns > longest)
            longest = component->stop_timeout_ns;
    ki_mutex_unlock(list->mutex);
    return longest;
}

static void ask_to_stop(ki_component_list *list, ki_component_state state) {
    ki_component *component;
    while ((component = find(list, list->stopping, state, false))) {
        set_state(component, KI_COMPONENT_STOPPING);
        component->stop(component);
    }
}

/* Stops the orders one after the other. Returns while components of an order are stopping. Called again when a
 * component has stopped. */
static void stop_next_order(ki_component_list *list) {
    KI_ON_LOOP(list->engine);
    KI_ASSERT(list->is_stopping);
    while (!list->has_stopped && list->stopping < KI_COMPONENT_ORDERS) {
        ask_to_stop(list, KI_COMPONENT_NEW);
        ask_to_stop(list, KI_COMPONENT_STARTED);
        if (find(list, list->stopping, KI_COMPONENT_STOPPING, false)) {
            if (!ki_timer_is_set(&list->deadline))
                ki_timer_set(&list->deadline, ki_engine_now(list->engine) + stop_timeout(list));
            return;
        }
        ki_timer_cancel(&list->deadline);
        list->stopping = (ki_component_order)(list->stopping + 1);
    }
    if (list->has_stopped)
        return;
    list->has_stopped = true;
    list->stopped(list->user);
}

static void cut_off(ki_component_list *list, ki_component_order order, ki_component_state state) {
    ki_component *component;
    while ((component = find(list, order, state, false))) {
        set_state(component, KI_COMPONENT_STOPPED);
        component->cut_off(component);
    }
}

static void deadline_passed(ki_timer *timer, void *user) {
    (void)timer;
    ki_component_list *list = user;
    cut_off(list, list->stopping, KI_COMPONENT_STOPPING);
    stop_next_order(list);
}

static void task_run(ki_task *task, void *user) {
    (void)task;
    ki_component_list *list = user;
    if (list->is_stopping)
        stop_next_order(list);
}

void ki_component_list_init(ki_component_list *list, ki_engine *engine, ki_mutex *mutex, ki_cond *changed,
                            void (*stopped)(void *user), void *user) {
    list->engine = engine;
    list->mutex = mutex;
    list->changed = changed;
    list->stopped = stopped;
    list->user = user;
    ki_task_init(&list->task, engine, task_run, list);
    ki_timer_init(&list->deadline, engine, deadline_passed, list);
}

void ki_component_list_close(ki_component_list *list) {
    if (!list->engine)
        return;
    ki_task_cancel(&list->task);
    ki_timer_close(&list->deadline);
}

void ki_component_list_stop(ki_component_list *list) {
    KI_ON_LOOP(list->engine);
    list->is_stopping = true;
    stop_next_order(list);
}

void ki_component_list_cut_off(ki_component_list *list) {
    KI_ON_LOOP(list->engine);
    list->is_stopping = true;
    for (int order = 0; order < KI_COMPONENT_ORDERS; order++)
        for (int state = KI_COMPONENT_NEW; state < KI_COMPONENT_STOPPED; state++)
            cut_off(list, (ki_component_order)order, (ki_component_state)state);
    ki_timer_cancel(&list->deadline);
    stop_next_order(list);
}

void ki_component_stopped(ki_component *component) {
    if (!component->list || component->state == KI_COMPONENT_STOPPED)
        return;
    set_state(component, KI_COMPONENT_STOPPED);
    ki_task_post(&component->list->task);
}

/* --- removing ----------------------------------------------------------------------------------------------------- */

static void remove_on_loop(void *user) {
    ki_component *component = user;
    ki_component_list *list = component->list;
    KI_ON_LOOP(list->engine);
    ki_mutex_lock(list->mutex);
    ki_component *next = component->next;
    KI_LIST_REMOVE(list->first, component);
    component->next = next; /* for a reader that is at this component */
    component->list = NULL;
    ki_cond_broadcast(list->changed);
    ki_mutex_unlock(list->mutex);
    ki_task_post(&list->task); /* a stop may be waiting for the component */
}

void ki_component_remove(ki_component *component) {
    ki_component_list *list = component->list;
    if (!list)
        return;
    ki_engine_call(list->engine, remove_on_loop, component);
    ki_mutex_lock(list->mutex);
    while (list->readers > 0) /* a reader may be at this component: its `next` still leads on */
        ki_cond_wait(list->changed, list->mutex);
    ki_mutex_unlock(list->mutex);
}

void ki_component_leave(ki_component *component) {
    KI_ASSERT(component->reap && !component->is_left);
    ki_mutex_lock(component->list->mutex);
    component->is_left = true;
    ki_mutex_unlock(component->list->mutex);
}

void ki_component_note_end(ki_component *component) {
    ki_component_list *list = component->list;
    ki_mutex_lock(list->mutex);
    list->ends++;
    ki_cond_broadcast(list->changed);
    ki_mutex_unlock(list->mutex);
}

const void *ki_component_owner(const ki_component *component) {
    return component->list;
}

/* Returns the first left component after `component`; after NULL, the first of all. */
static ki_component *next_left(const ki_component_list *list, const ki_component *component) {
    KI_HELD(list->mutex);
    ki_component *at = component ? component->next : list->first;
    while (at && !at->is_left)
        at = at->next;
    return at;
}

static void reap_on_loop(void *user) {
    ki_component_list *list = user;
    ki_mutex_lock(list->mutex);
    ki_component *component = next_left(list, NULL);
    while (component) {
        ki_component *next = next_left(list, component);
        ki_mutex_unlock(list->mutex);
        component->reap(component); /* frees no other component */
        ki_mutex_lock(list->mutex);
        component = next;
    }
    ki_mutex_unlock(list->mutex);
}

void ki_component_list_reap(ki_component_list *list) {
    if (!list->engine)
        return;
    ki_mutex_lock(list->mutex);
    while (next_left(list, NULL)) {
        size_t ends = list->ends;
        ki_mutex_unlock(list->mutex);
        ki_engine_call(list->engine, reap_on_loop, list);
        ki_mutex_lock(list->mutex);
        while (next_left(list, NULL) && list->ends == ends)
            ki_cond_wait(list->changed, list->mutex);
    }
    ki_mutex_unlock(list->mutex);
}

/* --- metrics ------------------------------------------------------------------------------------------------------ */

void ki_component_list_visit_metrics(ki_component_list *list, const ki_metrics_visit *to) {
    ki_mutex_lock(list->mutex);
    list->readers++;
    for (const ki_component *component = list->first; component; component = component->next) {
        ki_mutex_unlock(list->mutex);
        if (component->visit_metrics)
            component->visit_metrics(component, to);
        ki_mutex_lock(list->mutex);
    }
    KI_ASSERT(list->readers > 0);
    if (--list->readers == 0)
        ki_cond_broadcast(list->changed);
    ki_mutex_unlock(list->mutex);
}
