/* fetch_result.c: what the response to a fetch means: an object as the informer makes its own, "there is none", or a
 * failure; and whether the cache has seen more. Any thread, under no lock but the fetcher's. */
#include "src/factory/fetch_parts.h"

#include "src/base/error.h"
#include "src/cache/reflector/transform.h"
#include "src/object/selector.h"

#include <stdio.h>

enum {
    HTTP_NOT_FOUND = 404,
    HTTP_TOO_MANY = 429,
    HTTP_SERVER_ERROR = 500
};

bool ki_fetch_is_retriable(const ki_error *err) {
    bool is_result = err->http_status && err->http_status < HTTP_SERVER_ERROR && err->http_status != HTTP_TOO_MANY;
    return !is_result && err->code != KI_ERR_INVALID && err->code != KI_ERR_CANCELLED;
}

static ki_status set_absent(const ki_informer *informer, const char *key, const char *why, ki_error *err) {
    ki_error_set(err, KI_ERR_NOT_FOUND, "%s %.200s: %s", ki_informer_made_with(informer)->selection->resource.plural,
                 key, why);
    err->http_status = HTTP_NOT_FOUND;
    return KI_ERR_NOT_FOUND;
}

/* A GET reads the newest state: the object is absent at the version that the cache had before. */
static void set_none(const ki_fetch_item *item, ki_error *err) {
    char why[KI_RESOURCE_VERSION_MAX + 64];
    snprintf(why, sizeof why, "there is none%s%s", item->as_of[0] ? " at resource version " : "", item->as_of);
    (void)set_absent(item->fetcher->informer, item->key, why, err);
}

/* Makes an object with all that the server sent, for selectors also of fields that the cache does not keep. */
static ki_status check_selectors(const ki_informer *informer, const char *body, size_t size, ki_error *err) {
    const ki_selection *selection = ki_informer_made_with(informer)->selection;
    ki_selector *selector = NULL;
    ki_object *obj = NULL;
    if (!selection->label_selector[0] && !selection->field_selector[0])
        return KI_OK;
    ki_status status = ki_selector_new(selection->label_selector, selection->field_selector, &selector, err);
    if (!status)
        status = ki_object_from_json_whole(ki_informer_made_with(informer)->format, (ki_str){ body, size }, NULL, NULL,
                                           &obj, err);
    if (!status && !ki_selector_matches_whole(selector, obj))
        status = set_absent(informer, ki_object_key(obj), "the informer's selectors exclude it", err);
    ki_object_unref(obj);
    ki_selector_free(selector);
    return status;
}

static void name_request(const ki_fetch_item *item, ki_error *err) {
    ki_error_prefix(err, "get %s %.200s", item->fetcher->made_with->selection->resource.plural, item->key);
}

/* The response has no object, but the page of a proxy or so: says of which request, and whose fault it is. */
static void name_garbage(const ki_fetch_item *item, ki_error *err) {
    ki_error_prefix(err, "the response is no object");
    name_request(item, err);
    err->category = KI_CATEGORY_SERVER;
}

/* Makes the object of a response as the informer makes and keeps its own. */
static ki_status make_object(const ki_informer *informer, const ki_response *response, ki_object **ret_obj,
                             ki_error *err) {
    const ki_transform_step step = ki_informer_transform_step(informer);
    ki_object *obj = NULL, *changed = NULL;
    size_t size;
    const char *body = ki_response_body(response, &size);
    ki_status status = ki_informer_object_from_json(informer, body, size, &obj, err);
    if (!status)
        status = check_selectors(informer, body, size, err);
    if (!status)
        status = ki_transform_object(&step, obj, &changed, err);
    if (!status)
        status = ki_object_key_only(changed, ret_obj, err);
    ki_object_unref(changed);
    ki_object_unref(obj);
    return status;
}

/* Returns the newer one of a fetched object and the cache's, as a reference; releases the other one. */
static ki_object *newest(const ki_informer *informer, const char *key, ki_object *fetched) {
    ki_object *cached = ki_informer_get(informer, key);
    if (!cached)
        return fetched;
    bool is_older = fetched && ki_resource_version_compare(ki_object_resource_version(cached),
                                                           ki_object_resource_version(fetched)) == KI_ORDER_OLDER;
    ki_object_unref(is_older ? cached : fetched);
    return is_older ? fetched : cached;
}

/* Returns true if a cache that lacks the object is at its version or a newer one: it was deleted. A list after a gap
 * shows no deletion of what the cache never had. */
bool ki_fetch_is_behind_cache(const ki_informer *informer, const char *key, const ki_object *obj) {
    ki_snapshot *now = obj ? ki_informer_snapshot(informer) : NULL;
    const char *version = now ? ki_snapshot_resource_version(now) : "";
    bool is_there = now && ki_snapshot_get(now, key);
    ki_order order =
        version[0] ? ki_resource_version_compare(version, ki_object_resource_version(obj)) : KI_ORDER_OLDER;
    ki_snapshot_unref(now);
    return !is_there && (order == KI_ORDER_SAME || order == KI_ORDER_NEWER);
}

void ki_fetch_result(const ki_fetch_item *item, const ki_response *response, const ki_error *failure,
                     ki_object **ret_obj, ki_error *ret_err) {
    const ki_informer *informer = item->fetcher->informer;
    *ret_obj = NULL;
    *ret_err = (ki_error)KI_ERROR_INIT;
    if (!failure)
        (void)make_object(informer, response, ret_obj, ret_err); /* `ret_err` has the failure */
    else if (ki_error_is_not_found(failure))
        set_none(item, ret_err);
    else {
        *ret_err = *failure;
        name_request(item, ret_err);
    }
    if (!failure && ret_err->code == KI_ERR_PARSE)
        name_garbage(item, ret_err);
    if (!ret_err->code || ret_err->code == KI_ERR_NOT_FOUND)
        *ret_obj = newest(informer, item->key, *ret_obj);
    if (*ret_obj)
        *ret_err = (ki_error)KI_ERROR_INIT;
}
