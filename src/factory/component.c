/* component.c: starting and stopping a factory's components in their order; see component.h. */
#include "src/factory/component.h"

#include "src/base/memory.h"

/* Returns a component of an order in a state, or NULL. It is looked up anew after each call of a component, which may have removed others. */
static ki_component *find(ki_component_list *list, ki_component_order order, ki_component_state state) {
    ki_mutex_lock(list->mutex);
    ki_component *component = list->first;
    while (component && (component->order != order || component->state != state))
        component = component->next;
    ki_mutex_unlock(list->mutex);
    return component;
}

static void set_state(ki_component *component, ki_component_state state) {
    ki_mutex_lock(component->list->mutex);
    component->state = state;
    ki_mutex_unlock(component->list->mutex);
}

void ki_component_list_add(ki_component_list *list, ki_component *component) {
    ki_component **end = &list->first;
    while (*end)
        end = &(*end)->next;
    component->next = NULL;
    component->list = list;
    component->state = KI_COMPONENT_NEW;
    *end = component;
}

void ki_component_list_start(ki_component_list *list) {
    if (list->is_stopping)
        return;
    for (int order = KI_COMPONENT_ORDERS; order-- > 0;) {
        ki_component *component;
        while ((component = find(list, (ki_component_order)order, KI_COMPONENT_NEW))) {
            set_state(component, KI_COMPONENT_STARTED);
            component->start(component);
        }
    }
}

/* Returns how long the components that are stopping may take, in nanoseconds; 0 where none is. */
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
    while ((component = find(list, list->stopping, state))) {
        set_state(component, KI_COMPONENT_STOPPING);
        component->stop(component);
    }
}

static void go_on(ki_component_list *list) {
    while (!list->has_stopped && list->stopping < KI_COMPONENT_ORDERS) {
        ask_to_stop(list, KI_COMPONENT_NEW);
        ask_to_stop(list, KI_COMPONENT_STARTED);
        if (find(list, list->stopping, KI_COMPONENT_STOPPING)) {
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
    while ((component = find(list, order, state))) {
        set_state(component, KI_COMPONENT_STOPPED);
        component->cut_off(component);
    }
}

static void deadline_passed(ki_timer *timer, void *user) {
    (void)timer;
    ki_component_list *list = user;
    cut_off(list, list->stopping, KI_COMPONENT_STOPPING);
    go_on(list);
}

static void task_run(ki_task *task, void *user) {
    (void)task;
    ki_component_list *list = user;
    if (list->is_stopping)
        go_on(list);
}

ki_status ki_component_list_init(ki_component_list *list, ki_engine *engine, ki_mutex *mutex,
                                 void (*stopped)(void *user), void *user) {
    list->engine = engine;
    list->mutex = mutex;
    list->stopped = stopped;
    list->user = user;
    ki_task_init(&list->task, engine, task_run, list);
    return ki_timer_init(&list->deadline, engine, deadline_passed, list);
}

void ki_component_list_close(ki_component_list *list) {
    if (!list->engine)
        return;
    ki_task_cancel(&list->task);
    ki_timer_close(&list->deadline);
}

void ki_component_list_stop(ki_component_list *list) {
    list->is_stopping = true;
    go_on(list);
}

void ki_component_list_cut_off(ki_component_list *list) {
    list->is_stopping = true;
    for (int order = 0; order < KI_COMPONENT_ORDERS; order++)
        for (int state = KI_COMPONENT_NEW; state < KI_COMPONENT_STOPPED; state++)
            cut_off(list, (ki_component_order)order, (ki_component_state)state);
    ki_timer_cancel(&list->deadline);
    go_on(list);
}

void ki_component_stopped(ki_component *component) {
    if (!component->list || component->state == KI_COMPONENT_STOPPED)
        return;
    set_state(component, KI_COMPONENT_STOPPED);
    ki_task_post(&component->list->task);
}

static void remove_on_loop(void *user) {
    ki_component *component = user;
    ki_component_list *list = component->list;
    ki_mutex_lock(list->mutex);
    ki_component **place = &list->first;
    while (*place != component)
        place = &(*place)->next;
    *place = component->next;
    component->list = NULL;
    ki_mutex_unlock(list->mutex);
    ki_task_post(&list->task); /* a stop may have waited for it */
}

void ki_component_remove(ki_component *component) {
    if (component->list)
        ki_engine_call(component->list->engine, remove_on_loop, component);
}
