/* event_record.c: checks and copies a recorded event. Any thread. */
#include "controllers/events/event_record.h"

#include "src/base/memory.h"
#include "src/object/json.h"

enum {
    REFERENCE_STRINGS = 6,
    REPLACEMENT_SIZE = 3
};

size_t ki_event_text(char *out, size_t limit, ki_str text) {
    static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
    size_t written = 0;
    while (text.size) {
        size_t size = ki_str_utf8_size(text);
        ki_str piece = size ? (ki_str){ text.data, size } : (ki_str){ replacement, REPLACEMENT_SIZE };
        if (piece.size > limit - written)
            break;
        memcpy(out + written, piece.data, piece.size);
        written += piece.size;
        text.data += size ? size : 1;
        text.size -= size ? size : 1;
    }
    return written;
}

/* Returns the static string of a type; NULL if Kubernetes has no such type. */
static const char *type_of(const char *type) {
    static const char *const types[] = { KI_EVENT_NORMAL, KI_EVENT_WARNING };
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return types[i];
    return NULL;
}

/* Returns KI_OK for a JSON map of strings: the server rejects an Event with other annotations. */
static ki_status check_annotations(const ki_allocator *allocator, const char *text) {
    yyjson_doc *doc;
    size_t index, count;
    yyjson_val *name, *value;
    if (strlen(text) > KI_EVENT_ANNOTATIONS_MAX)
        return KI_ERR_LIMIT;
    ki_status status = ki_json_parse(allocator, ki_str_of(text), &doc, NULL);
    if (status)
        return status == KI_ERR_NO_MEMORY ? status : KI_ERR_INVALID;
    if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
        status = KI_ERR_INVALID;
    yyjson_obj_foreach(yyjson_doc_get_root(doc), index, count, name, value) {
        if (!yyjson_is_str(value))
            status = KI_ERR_INVALID;
    }
    yyjson_doc_free(doc);
    return status;
}

static ki_event_reference reference_of(const ki_object *obj) {
    return (ki_event_reference){ ki_object_api_version(obj), ki_object_kind(obj), ki_object_namespace(obj),
                                 ki_object_name(obj),        ki_object_uid(obj),  ki_object_resource_version(obj) };
}

static void strings_of(ki_event_reference *reference, const char **ret_strings[REFERENCE_STRINGS]) {
    const char **strings[] = { &reference->api_version, &reference->kind, &reference->namespace_name,
                               &reference->name,        &reference->uid,  &reference->resource_version };
    memcpy(ret_strings, strings, sizeof strings);
}

static size_t size_of_reference(const ki_event_reference *reference) {
    return strlen(reference->api_version) + strlen(reference->kind) + strlen(reference->namespace_name) +
           strlen(reference->name) + strlen(reference->uid) + strlen(reference->resource_version) + REFERENCE_STRINGS;
}

/* Returns the most bytes that put_cut can write: each byte may become U+FFFD, up to `limit`, then the closing zero. */
static size_t room_for(const char *text, size_t limit) {
    size_t size = strlen(text);
    return (size < limit / REPLACEMENT_SIZE ? REPLACEMENT_SIZE * size : limit) + 1;
}

static const char *put(char **at, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = *at;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

static const char *put_cut(char **at, const char *text, size_t limit) {
    char *copy = *at;
    size_t size = ki_event_text(copy, limit, ki_str_of(text));
    copy[size] = '\0';
    *at += size + 1;
    return copy;
}

static void put_reference(char **at, ki_event_reference *reference) {
    const char **strings[REFERENCE_STRINGS];
    strings_of(reference, strings);
    for (size_t i = 0; i < REFERENCE_STRINGS; i++)
        *strings[i] = put(at, *strings[i]);
}

ki_status ki_event_record_new(const ki_allocator *allocator, const ki_record *given, int64_t wall_ns,
                              ki_event_record **ret_record) {
    const char *type = type_of(given->type);
    const char *annotations = given->annotations ? given->annotations : "";
    const char *message = given->message ? given->message : "";
    const char *action = given->action && *given->action ? given->action : given->reason;
    if (!given->obj || !type || !given->reason || !*given->reason)
        return KI_ERR_INVALID;
    ki_status status = *annotations ? check_annotations(allocator, annotations) : KI_OK;
    if (status)
        return status;

    ki_event_record made = { .type = type, .wall_ns = wall_ns, .regarding = reference_of(given->obj) };
    made.has_related = given->related != NULL;
    size_t size = sizeof made + size_of_reference(&made.regarding) + strlen(annotations) + 1 +
                  room_for(given->reason, KI_EVENT_REASON_MAX) + room_for(action, KI_EVENT_REASON_MAX) +
                  room_for(message, KI_EVENT_MESSAGE_MAX);
    if (given->related) {
        made.related = reference_of(given->related);
        size += size_of_reference(&made.related);
    }
    if (size > KI_EVENT_RECORD_BYTES_MAX)
        return KI_ERR_LIMIT;
    ki_event_record *record = ki_alloc(allocator, size);
    if (!record)
        return KI_ERR_NO_MEMORY;
    char *at = (char *)(record + 1);
    put_reference(&at, &made.regarding);
    if (made.has_related)
        put_reference(&at, &made.related);
    made.reason = put_cut(&at, given->reason, KI_EVENT_REASON_MAX);
    made.action = put_cut(&at, action, KI_EVENT_REASON_MAX);
    made.message = put_cut(&at, message, KI_EVENT_MESSAGE_MAX);
    made.annotations = put(&at, annotations);
    *record = made;
    *ret_record = record;
    return KI_OK;
}
