/* factory_informers.c: the informers that a program asks a factory for. */
#include "src/factory/factory_parts.h"

#include "src/base/error.h"
#include "src/cache/informer/shared_informer.h"
#include "src/cache/reflector/reflector.h"

ki_engine *ki_factory_engine(const ki_factory *factory) {
    return factory->engine;
}

ki_client *ki_factory_client(ki_factory *factory) {
    return factory->client;
}

ki_status ki_factory_check_not_stopped(const ki_factory *factory, ki_error *err) {
    KI_HELD(&factory->mutex);
    ki_error cause = KI_ERROR_INIT;
    if (ki_engine_failure(factory->engine, &cause))
        return ki_error_set(err, KI_ERR_STATE, "the factory's engine has ended: %s", ki_error_message(&cause));
    if (factory->life.is_stopped)
        return ki_error_set(err, KI_ERR_STATE, "the factory is stopped");
    if (ki_engine_is_stopping(factory->engine))
        return ki_error_set(err, KI_ERR_STATE, "the factory's engine is stopped");
    return KI_OK;
}

/* Takes the selection over. `own_source` NULL: the API server's. */
static ki_status get_informer(ki_factory *factory, ki_selection *selection, ki_list_watch *own_source,
                              const ki_informer_options *given, ki_informer **ret_informer, ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    ki_mutex_lock(&factory->mutex);
    ki_status status = ki_factory_check_not_stopped(factory, &cause);
    if (!status && own_source)
        status =
            ki_informer_table_add(&factory->table, &factory->maker, selection, own_source, given, ret_informer, &cause);
    else if (!status)
        status = ki_informer_table_get(&factory->table, &factory->maker, selection, given, ret_informer, &cause);
    ki_mutex_unlock(&factory->mutex);
    ki_selection_unref(selection);
    if (status && err)
        *err = cause;
    return status;
}

static ki_status informer_of(ki_factory *factory, const ki_resource *resource, ki_list_watch *own_source,
                             const ki_informer_options *options, ki_informer **ret_informer, ki_error *err) {
    ki_informer_options given;
    ki_selection *selection = NULL;
    ki_status status = ki_informer_options_complete(options, &factory->options, resource, &given, err);
    if (!status)
        status = ki_selection_new(factory->table.allocator, resource, &given, &selection, err);
    return status ? status : get_informer(factory, selection, own_source, &given, ret_informer, err);
}

ki_status ki_factory_informer(ki_factory *factory, const ki_resource *resource, const ki_informer_options *options,
                              ki_informer **ret_informer, ki_error *err) {
    if (!factory || !ret_informer)
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_informer: factory or ret_informer is NULL");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    return informer_of(factory, resource, NULL, options, ret_informer, err);
}

ki_status ki_factory_informer_for(ki_factory *factory, const ki_resource *resource, ki_list_watch *list_watch,
                                  const ki_informer_options *options, ki_informer **ret_informer, ki_error *err) {
    if (!factory || !ret_informer)
        return ki_error_missing(err, "ki_factory_informer_for");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    ki_status status = ki_list_watch_check(list_watch, err);
    return status ? status : informer_of(factory, resource, list_watch, options, ret_informer, err);
}

ki_status ki_factory_informer_by_name(ki_factory *factory, const char *resource_name,
                                      const ki_informer_options *options, ki_informer **ret_informer, ki_error *err) {
    ki_informer_options given;
    ki_selection *selection = NULL;
    if (!factory || !resource_name || !ret_informer)
        return ki_error_missing(err, "ki_factory_informer_by_name");
    const ki_resource *built_in = ki_resource_find(resource_name);
    if (built_in)
        return ki_factory_informer(factory, built_in, options, ret_informer, err);
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    ki_resource resource;
    char plural[KI_SELECTION_PLURAL_SIZE];
    ki_status status = ki_selection_split_name(resource_name, plural, &resource, err);
    if (!status)
        status = ki_informer_options_complete(options, &factory->options, &resource, &given, err);
    if (!status && given.namespace_set)
        status = ki_error_set(err, KI_ERR_INVALID, "a set of namespaces of a resource by name");
    if (!status)
        status = ki_selection_new_by_name(factory->table.allocator, &resource, &given, &selection, err);
    return status ? status : get_informer(factory, selection, NULL, &given, ret_informer, err);
}

/* Gives the set to each informer of the name. Caller holds the mutex. */
static ki_status give_namespaces(const ki_informer_table *table, const char *set_name, ki_namespaces *set,
                                 ki_error *err) {
    bool has_any = false;
    ki_status status = KI_OK;
    for (const ki_informer_entry *entry = table->first; !status && entry; entry = entry->next) {
        if (entry->is_removed || !ki_selection_has_set(entry->selection, set_name))
            continue;
        has_any = true;
        status = ki_informer_give_namespaces(entry->informer, set, err);
    }
    return has_any ? status
                   : ki_error_set(err, KI_ERR_NOT_FOUND, "no informer has .namespace_set \"%.100s\"", set_name);
}

ki_status ki_factory_set_namespaces(ki_factory *factory, const char *set_name, const char *const *names, size_t count,
                                    ki_error *err) {
    if (!factory || !set_name)
        return ki_error_missing(err, "ki_factory_set_namespaces");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    ki_namespaces *set;
    ki_error cause = KI_ERROR_INIT;
    ki_status status = ki_namespaces_new(factory->table.allocator, names, count, &set, err);
    if (status)
        return status;
    ki_mutex_lock(&factory->mutex);
    status = ki_factory_check_not_stopped(factory, &cause);
    if (!status)
        status = give_namespaces(&factory->table, set_name, set, &cause);
    ki_mutex_unlock(&factory->mutex);
    ki_namespaces_unref(set);
    if (status && err)
        *err = cause;
    return status;
}

ki_status ki_factory_remove_informer(ki_factory *factory, ki_informer *informer, ki_error *err) {
    if (!factory || !informer)
        return ki_error_missing(err, "ki_factory_remove_informer");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    ki_error cause = KI_ERROR_INIT;
    ki_mutex_lock(&factory->mutex);
    ki_status status = ki_factory_check_not_stopped(factory, &cause);
    if (!status)
        status = ki_informer_table_remove(&factory->table, informer, &cause);
    ki_mutex_unlock(&factory->mutex);
    if (!status)
        ki_informer_remove_handlers(informer);
    else if (err)
        *err = cause;
    return status;
}
