/* page.c: see page.h. */
#include "testing/rest/page.h"

#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/continue_token.h"
#include "testing/request/form.h"
#include "testing/request/status.h"

#define TOO_OLD_TO_CONTINUE \
    "The provided continue parameter is too old to display a consistent list result. You can start a new list " \
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the " \
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, " \
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."

static ki_status fail_expired_token(kt_call *call, ki_str after) {
    ki_buffer token;
    ki_buffer_init(&token, call->allocator, 0);
    ki_status status = kt_continue_token_append(&token, -1, after);
    kt_details details = { .continue_token = { token.data, token.size } };
    if (!status)
        status = kt_fail(call, 410, "Expired", &details, TOO_OLD_TO_CONTINUE);
    ki_buffer_free(&token);
    return status;
}

/* Returns the snapshot at a revision, or responds with an error. */
static ki_status snapshot_at(kt_call *call, uint64_t revision, kt_snapshot **ret_snapshot) {
    if (revision > kt_cluster_revision(call->cluster))
        return kt_fail_too_large(call, revision);
    ki_status status = kt_storage_past(call->storage, revision, ret_snapshot);
    if (status == KI_ERR_EXPIRED)
        return kt_fail(call, 410, "Expired", NULL, "The resourceVersion for the provided list is too old.");
    return status;
}

/* Selects the request's snapshot. `*ret_after` is the last key of the previous page. */
static ki_status choose_snapshot(kt_call *call, const kt_list_options *options, ki_buffer *after_text,
                                 ki_str *ret_after, kt_snapshot **ret_snapshot) {
    if (options->continue_token.size) {
        int64_t revision;
        ki_status status = kt_continue_token_parse(call, options->continue_token, after_text, &revision, ret_after);
        if (status)
            return status;
        if (options->resource_version.size && !ki_str_equals(options->resource_version, "0"))
            return kt_fail_bad_request(call, "specifying resource version is not allowed when using continue");
        if (revision < 0)
            return kt_storage_present(call->storage, ret_snapshot);
        if ((uint64_t)revision > kt_cluster_revision(call->cluster))
            return kt_fail_too_large(call, (uint64_t)revision);
        status = kt_storage_past(call->storage, (uint64_t)revision, ret_snapshot);
        return status == KI_ERR_EXPIRED ? fail_expired_token(call, *ret_after) : status;
    }
    if (options->match == KT_MATCH_EXACT ||
        (options->match == KT_MATCH_UNSET && options->limit && options->revision > 0))
        return snapshot_at(call, options->revision, ret_snapshot);
    if (options->revision > kt_cluster_revision(call->cluster))
        return kt_fail_too_large(call, options->revision);
    if (call->injection.stale_by) { /* like a server whose cache lags */
        const kt_cluster *cluster = call->cluster;
        uint64_t back = (uint64_t)call->injection.stale_by, room = cluster->revision - cluster->compacted;
        return kt_storage_past(call->storage, cluster->revision - (back < room ? back : room), ret_snapshot);
    }
    return kt_storage_present(call->storage, ret_snapshot);
}

/* Selects the objects of a page. */
static ki_status pick(kt_call *call, const kt_snapshot *snapshot, const kt_selector *selector, ki_str after,
                      int64_t limit, kt_page *ret_page) {
    size_t begin, end;
    kt_objects_range(snapshot->objects, snapshot->count, call->ns, &begin, &end);
    if (after.size) {
        size_t from = kt_objects_bound(snapshot->objects, snapshot->count, after, true);
        if (from > begin)
            begin = from < end ? from : end;
    }
    size_t room = limit && (uint64_t)limit < end - begin ? (size_t)limit : end - begin;
    kt_object **objects = ki_alloc_array(call->allocator, room + 1, sizeof(kt_object *));
    if (!objects)
        return KI_ERR_NO_MEMORY;
    kt_page picked = { .objects = objects, .remaining = -1 };
    bool is_one_key = kt_selector_name(call).data && (call->ns.size || !call->resource->namespaced);
    size_t index = begin;
    for (; index < end; index++) {
        if (picked.count == room) { /* as the real server: also if no further object matches, but for one key */
            picked.more = !is_one_key;
            break;
        }
        if (!kt_selector_matches(selector, snapshot->objects[index]))
            continue;
        objects[picked.count++] = snapshot->objects[index];
    }
    if (picked.more && !kt_selector_is_filter(selector))
        picked.remaining = (int64_t)(end - index);
    picked.snapshot = ret_page->snapshot;
    *ret_page = picked;
    return KI_OK;
}

ki_status kt_page_select(kt_call *call, const kt_list_options *options, const kt_selector *selector,
                         kt_page *ret_page) {
    ki_buffer after_text;
    ki_str after = { NULL, 0 };
    *ret_page = (kt_page){ .remaining = -1 };
    ki_buffer_init(&after_text, call->allocator, 0);
    ki_status status = choose_snapshot(call, options, &after_text, &after, &ret_page->snapshot);
    /* A list at "0" comes from the server's cache, which returns all objects in one page. */
    bool pages = !ki_str_equals(options->resource_version, "0") || options->continue_token.size;
    if (!status)
        status = pick(call, ret_page->snapshot, selector, after, pages ? options->limit : 0, ret_page);
    ki_buffer_free(&after_text);
    return status;
}

ki_status kt_page_respond(kt_call *call, const kt_page *page) {
    kt_shape shape;
    ki_buffer token;
    ki_buffer_init(&token, call->allocator, 0);
    ki_status status = kt_shape_of(call, &shape);
    if (!status && page->more)
        status =
            kt_continue_token_append(&token, (int64_t)page->snapshot->revision, page->objects[page->count - 1]->key);
    if (!status)
        status = kt_shape_append_list(&shape, page->objects, page->count, page->snapshot->revision,
                                      (ki_str){ token.data, token.size }, page->remaining, call->now_ms,
                                      &call->response->body);
    ki_buffer_free(&token);
    return status ? status : kt_call_done(call, 200);
}

void kt_page_free(kt_call *call, kt_page *page) {
    ki_free(call->allocator, page->objects);
    kt_snapshot_unref(page->snapshot);
}
