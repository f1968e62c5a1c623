/* object.c: makes objects from JSON text, and counts their references. Any thread.
 *
 * The text is parsed once, in place in a copy. The header's fields and the view come from the parsed tree. The body is
 * cut out of the text, not written again. An object without its content has a digest of it instead. */
#include "src/object/object.h"

#include "src/base/assert.h"
#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/json_scan.h"
#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/json.h"
#include "src/object/json_text.h"
#include "src/object/keep.h"

/* What the caller knows about the object. */
typedef struct given {
    const char *api_version, *kind; /* filled in if the text has none; NULL: nothing is filled in */
    const ki_object *identity;      /* replaces the text's identity; NULL: none */
    ki_keep keep;                   /* what is made of the text */
    bool is_from_server;            /* deep nesting is an error, and managedFields that are dropped are not parsed */
    ki_buffer *scratch;             /* memory to parse in; NULL: allocates some */
} given;

/* A part of the text; size 0: none. */
typedef struct span {
    size_t at, size;
} span;

enum {
    GAP_MIN = 128 /* bytes */
};

/* What the parsed copy lacks of the text, in its order: the insides of brackets. */
typedef struct gaps {
    size_t count;
    span spans[KI_JSON_OUTLINE_MAX / 2];
} gaps;

/* What was found in the text. Borrowed from the text, from the parsed copy, or from the caller. */
typedef struct parts {
    ki_str json; /* without white space between its parts */
    span skip;   /* what nobody has checked: the inside of the brackets of managedFields */
    const gaps *gaps;
    yyjson_val *labels;
    ki_str name, namespace, uid, resource_version, api_version, kind;
    ki_str front[2];         /* apiVersion and kind that are written before the text; size 0: not written */
    size_t front_size;       /* bytes with a brace; 0: neither is written */
    size_t from, to;         /* what of `json` follows them */
    bool is_open;            /* a closing brace follows that */
    size_t cut_at, cut_size; /* the span of managedFields in `json`; 0: not removed */
    bool has_content;        /* else the object has the digest */
    bool is_partial;
    uint64_t digest;
    yyjson_val *root;
    ki_view_needs view; /* zero without a view */
} parts;

/* --- the body ----------------------------------------------------------------------------------------------------- */

/* Finds the span of `"name":{…}` or `"name":[…]` in the text. `parsed` is the copy that the tree's strings point into:
 * a name has the same offset in both, unless the copy lacks something before it. Returns false if there is none, or if
 * the name is written with escapes. */
static bool find_member(yyjson_val *object, const char *name, const char *parsed, const parts *p, size_t *ret_begin,
                        size_t *ret_end) {
    ki_str json = p->json;
    size_t size = strlen(name);
    yyjson_obj_iter iter = yyjson_obj_iter_with(object);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter)) != NULL;) {
        if (!yyjson_equals_str(key, name) || !yyjson_is_ctn(yyjson_obj_iter_get_val(key)))
            continue;
        size_t at = (size_t)(yyjson_get_str(key) - parsed);
        for (size_t i = 0; i < p->gaps->count && at > p->gaps->spans[i].at; i++)
            at += p->gaps->spans[i].size;
        size_t value = at + size + 2;
        if (memcmp(json.data + at, name, size) != 0 || memcmp(json.data + at + size, "\":", 2) != 0)
            return false;
        *ret_begin = at - 1;
        if (p->skip.size && value + 1 == p->skip.at)
            *ret_end = p->skip.at + p->skip.size + 1;
        else
            *ret_end = value + ki_json_container_size((ki_str){ json.data + value, json.size - value });
        return true;
    }
    return false;
}

/* Finds metadata.managedFields, with one adjacent comma. Returns false if the parsed copy lacks something else. */
static bool find_managed_fields(yyjson_val *metadata, const char *parsed, parts *p) {
    size_t begin, end;
    if (!find_member(metadata, "managedFields", parsed, p, &begin, &end))
        return p->skip.size == 0; /* keeping those written with escapes does no harm */
    if (p->skip.size && (p->skip.at < begin || p->skip.at > end))
        return false;
    if (p->json.data[end] == ',')
        end++;
    else if (p->json.data[begin - 1] == ',')
        begin--;
    p->cut_at = begin;
    p->cut_size = end - begin;
    return true;
}

static const ki_str front_names[] = { { "\"apiVersion\":", 13 }, { "\"kind\":", 7 } };

/* Begins the body with `{` and two members, each with a comma if something follows. */
static void set_front(parts *p, ki_str api_version, ki_str kind, bool is_all) {
    p->front[0] = api_version;
    p->front[1] = kind;
    p->front_size = 1;
    for (size_t i = 0; i < 2; i++)
        if (p->front[i].size)
            p->front_size += front_names[i].size + ki_json_string_size(p->front[i]) + 1;
    p->front_size -= is_all;
}

/* Gives the view what the body has and the text does not, and where the text has what the header has. */
static void give_to_view(const given *g, parts *p, ki_str api_version, ki_str kind) {
    if (g->keep == KI_KEEP_METADATA) {
        api_version = p->api_version;
        kind = p->kind;
    }
    if (api_version.size)
        yyjson_set_strn(&p->view.given.api_version, api_version.data, api_version.size);
    if (kind.size)
        yyjson_set_strn(&p->view.given.kind, kind.data, kind.size);
    const char **texts = p->view.given.texts;
    texts[KI_VIEW_NAME] = p->name.data;
    texts[KI_VIEW_NAMESPACE] = p->namespace.data;
    texts[KI_VIEW_UID] = p->uid.data;
    texts[KI_VIEW_RESOURCE_VERSION] = p->resource_version.data;
    texts[KI_VIEW_API_VERSION] = p->api_version.data;
    texts[KI_VIEW_KIND] = p->kind.data;
}

/* Makes a body of apiVersion, kind and metadata. */
static ki_status make_metadata_body(yyjson_val *root, const char *parsed, parts *p, ki_error *err) {
    if (!find_member(root, "metadata", parsed, p, &p->from, &p->to))
        return ki_error_set(err, KI_ERR_PARSE, "the name of metadata is written with escapes");
    p->is_open = true;
    set_front(p, p->api_version, p->kind, false);
    return KI_OK;
}

/* Returns the text after kind and apiVersion at its beginning: a list's items do not have them, a watch's objects
 * do. */
static ki_str content_of(ki_str text) {
    static const char *const names[] = { "\"kind\":\"", "\"apiVersion\":\"" };
    for (size_t i = 0; text.size && i < 2 * sizeof names / sizeof *names; i++) {
        ki_str rest = { text.data + 1, text.size - 1 }; /* past { or , */
        ki_str name = ki_str_of(names[i % 2]);
        const char *end = NULL;
        if (ki_str_starts_with(rest, name))
            end = memchr(rest.data + name.size, '"', rest.size - name.size);
        if (end && end + 1 < text.data + text.size && end[1] == ',')
            text = (ki_str){ end + 1, (size_t)(text.data + text.size - end) - 1 };
    }
    return (ki_str){ text.data + 1, text.size ? text.size - 1 : 0 };
}

/* Returns the digest of a content in two pieces. Equal contents in other pieces can have another one. */
static uint64_t digest_of(ki_str first, ki_str second) {
    return ki_hash(second.data, second.size, ki_hash(first.data, first.size, 0));
}

static void make_digest(parts *p) {
    ki_str before = content_of(p->json), after = { p->json.data + p->json.size, 0 };
    if (p->cut_size) {
        before.size = (size_t)(p->json.data + p->cut_at - before.data);
        after.data = p->json.data + p->cut_at + p->cut_size;
        after.size = p->json.size - p->cut_at - p->cut_size;
    }
    p->digest = digest_of(before, after);
}

/* Writes the body, which has `size` bytes and a closing zero, or the digest. */
static void write_body(char *out, const parts *p, size_t size) {
    const char *end = out + size, *rest = p->json.data + p->from;
    if (!p->has_content) {
        memcpy(out, &p->digest, sizeof p->digest);
        return;
    }
    char *front = out;
    if (p->front_size)
        *out++ = '{';
    for (size_t i = 0; i < 2 && p->front_size; i++) {
        if (!p->front[i].size)
            continue;
        memcpy(out, front_names[i].data, front_names[i].size);
        out = ki_json_string_write(out + front_names[i].size, p->front[i]);
        *out++ = ',';
    }
    out = front + p->front_size; /* without the comma, if nothing follows */
    if (p->cut_size) {
        size_t before = p->cut_at - p->from;
        memcpy(out, rest, before);
        out += before;
        rest += before + p->cut_size;
    }
    size_t left = (size_t)(p->json.data + p->to - rest);
    memcpy(out, rest, left);
    out += left;
    if (p->is_open)
        *out++ = '}';
    KI_ASSERT(out == end);
    (void)end;
    *out = '\0';
}

/* --- putting it together ------------------------------------------------------------------------------------------ */

static const char *at(const ki_object *obj, uint32_t place) {
    return (const char *)obj + place;
}

/* Writes the view, and its strings at `to`. Returns their end. */
static char *write_view(ki_object_format *format, ki_object *obj, const parts *p, size_t strings_at, char *to) {
    KI_ASSERT(obj->group && obj->group->format == format);
    ki_view_room room = {
        .arrays = (char *)obj + strings_at - p->view.arrays,
        .strings = to,
        .texts = { [KI_VIEW_NAME] = ki_object_name(obj),
                   [KI_VIEW_NAMESPACE] = ki_object_namespace(obj),
                   [KI_VIEW_UID] = ki_object_uid(obj),
                   [KI_VIEW_RESOURCE_VERSION] = ki_object_resource_version(obj),
                   [KI_VIEW_API_VERSION] = ki_object_api_version(obj),
                   [KI_VIEW_KIND] = ki_object_kind(obj) },
        .obj = obj,
    };
    ki_view_fill(format->view, p->root, &p->view, (char *)obj + KI_OBJECT_VIEW_AT, &room);
    if (room.fits & ~atomic_load_explicit(&format->fits, memory_order_relaxed))
        atomic_fetch_or_explicit(&format->fits, room.fits, memory_order_relaxed);
    if (room.mismatches) {
        atomic_fetch_add_explicit(&format->mismatches, room.mismatches, memory_order_relaxed);
        atomic_fetch_or_explicit(&format->misfits, room.misfits, memory_order_relaxed);
    }
    return room.strings;
}

static ki_status build(ki_object_format *format, parts *p, ki_object **ret_obj, ki_error *err) {
    const ki_group_content common = { p->api_version, p->kind, p->namespace, p->labels, p->name };
    size_t view_size = format->view ? (ki_view_size(format->view) + 7) / 8 * 8 : 0;
    size_t own = 0;
    ki_object_group *group = ki_object_group_get(format, &common, &own);
    if (!group)
        return ki_error_no_memory(err, "storing an object");
    size_t strings_at = KI_OBJECT_VIEW_AT + view_size + p->view.arrays;
    size_t key_size = p->namespace.size + (p->namespace.size > 0) + p->name.size;
    size_t strings = key_size + 1 + p->uid.size + 1 + p->resource_version.size + 1 + own + p->view.strings;
    size_t body = p->has_content ? p->front_size + (p->to - p->from) - p->cut_size + p->is_open : 0;
    size_t total = strings_at + strings + (p->has_content ? body + 1 : sizeof p->digest); /* with its closing zero */
    ki_object *obj = total <= UINT32_MAX ? ki_alloc(&format->allocator, total) : NULL;
    if (!obj) {
        ki_object_group_unref(group);
        return total <= UINT32_MAX ? ki_error_no_memory(err, "storing an object")
                                   : ki_error_set(err, KI_ERR_LIMIT, "the object takes more than 4 GiB");
    }
    memset(obj, 0, strings_at - p->view.arrays);
    ki_refcount_init(&obj->refs);
    obj->group = group;
    obj->key_at = (uint32_t)strings_at & (INT32_MAX >> 1); /* the limits of views bound what is before the key */
    obj->has_own_labels = own > 0;
    obj->is_partial = p->is_partial;
    char *to = (char *)obj + strings_at;
    if (p->namespace.size) {
        to = stpcpy(to, p->namespace.data);
        *to++ = '/';
    }
    to = stpcpy(to, p->name.data) + 1;
    to = stpcpy(to, p->uid.data) + 1;
    to = stpcpy(to, p->resource_version.data) + 1;
    if (own)
        to = ki_object_group_write_own(group, &common, to);
    if (format->view && p->root)
        to = write_view(format, obj, p, strings_at, to);
    obj->body_at = (uint32_t)(to - (char *)obj);
    obj->body_size = (uint32_t)body & INT32_MAX; /* the text has 1 GiB at most */
    write_body(to, p, body);
    KI_ASSERT(obj->body_at <= total && obj->key_at >= KI_OBJECT_VIEW_AT && obj->body_at > obj->key_at);
    *ret_obj = obj;
    return KI_OK;
}

/* Reads the object's identity from the text. */
static ki_status read_identity(yyjson_val *root, yyjson_val *metadata, const given *g, parts *p, ki_error *err) {
    if (!yyjson_is_obj(metadata))
        return ki_error_set(err, KI_ERR_PARSE, "the object has no metadata");
    struct {
        yyjson_val *object;
        const char *member, *prefix;
        ki_str *to;
    } texts[] = {
        { metadata, "name", "metadata.", &p->name }, { metadata, "namespace", "metadata.", &p->namespace },
        { metadata, "uid", "metadata.", &p->uid },   { metadata, "resourceVersion", "metadata.", &p->resource_version },
        { root, "apiVersion", "", &p->api_version }, { root, "kind", "", &p->kind }
    };
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < sizeof texts / sizeof *texts; i++) {
        yyjson_val *value = yyjson_obj_get(texts[i].object, texts[i].member);
        *texts[i].to = KI_STR("");
        if (yyjson_is_str(value))
            *texts[i].to = (ki_str){ yyjson_get_str(value), yyjson_get_len(value) };
        else if (value && !yyjson_is_null(value))
            status = ki_error_set(err, KI_ERR_PARSE, "%s%s is not a string", texts[i].prefix, texts[i].member);
        if (memchr(texts[i].to->data, '\0', texts[i].to->size))
            status = ki_error_set(err, KI_ERR_PARSE, "%s%s has a zero character", texts[i].prefix, texts[i].member);
    }
    if (!status && p->name.size == 0)
        status = ki_error_set(err, KI_ERR_PARSE, "metadata.name is missing");
    if (!status && p->resource_version.size > KI_OBJECT_RESOURCE_VERSION_MAX)
        status = ki_error_set(err, KI_ERR_PARSE, "metadata.resourceVersion is longer than %d bytes",
                              KI_OBJECT_RESOURCE_VERSION_MAX);
    if (status) {
        if (p->name.size && err)
            ki_error_prefix(err, "%.*s%s%.*s", (int)p->namespace.size, p->namespace.size ? p->namespace.data : "",
                            p->namespace.size ? "/" : "", (int)p->name.size, p->name.data);
        return status;
    }
    if (p->api_version.size == 0 && g->api_version)
        p->api_version = ki_str_of(g->api_version);
    if (p->kind.size == 0 && g->kind)
        p->kind = ki_str_of(g->kind);
    if (g->keep == KI_KEEP_METADATA && g->kind && g->api_version && ki_str_equals(p->kind, KI_KIND_OF_METADATA)) {
        p->kind = ki_str_of(g->kind);
        p->api_version = ki_str_of(g->api_version);
    }
    return KI_OK;
}

static void take_identity(const ki_object *obj, parts *p) {
    p->name = ki_str_of(ki_object_name(obj));
    p->namespace = ki_str_of(ki_object_namespace(obj));
    p->uid = ki_str_of(ki_object_uid(obj));
    p->resource_version = ki_str_of(ki_object_resource_version(obj));
    p->api_version = ki_str_of(ki_object_api_version(obj));
    p->kind = ki_str_of(ki_object_kind(obj));
}

/* Makes the object from the tree. `parsed` is the copy of the text that `root` was parsed in. */
static ki_status from_tree(ki_object_format *format, yyjson_val *root, const char *parsed, const given *g, parts *p,
                           ki_object **ret_obj, ki_error *err) {
    if (!yyjson_is_obj(root))
        return ki_error_set(err, KI_ERR_PARSE, "expected a JSON object, got %s %s", yyjson_is_arr(root) ? "an" : "a",
                            yyjson_get_type_desc(root));
    yyjson_val *metadata = yyjson_obj_get(root, "metadata");
    ki_status status = KI_OK;
    if (g->identity)
        take_identity(g->identity, p);
    else
        status = read_identity(root, metadata, g, p, err);
    if (status)
        return status;
    p->has_content = g->keep != KI_KEEP_VIEW;
    p->is_partial = g->keep == KI_KEEP_METADATA || (g->identity && g->identity->is_partial);
    p->view.given.has_labels = p->has_content || ki_object_format_has_labels(format);
    if (p->view.given.has_labels)
        p->labels = yyjson_obj_get(metadata, "labels");
    p->root = root;
    ki_str api_version = KI_STR(""), kind = KI_STR(""); /* which the text does not have */
    if (g->api_version && !yyjson_obj_get(root, "apiVersion"))
        api_version = ki_str_of(g->api_version);
    if (g->kind && !yyjson_obj_get(root, "kind"))
        kind = ki_str_of(g->kind);
    if (format->view)
        give_to_view(g, p, api_version, kind);
    if (format->view && (status = ki_view_measure(format->view, root, &p->view, err)) != KI_OK)
        return status;
    if (!format->keep_managed_fields && !find_managed_fields(metadata, parsed, p))
        return ki_error_set(err, KI_ERR_PARSE, "managedFields are not where they seemed to be");
    p->to = p->json.size;
    p->from = api_version.size || kind.size; /* without the text's own '{' */
    if (!p->has_content)
        make_digest(p);
    else if (g->keep == KI_KEEP_METADATA)
        status = make_metadata_body(root, parsed, p, err);
    else if (p->from)
        set_front(p, api_version, kind, yyjson_obj_size(root) == 0);
    if (status)
        return status;
    if (format->view)
        ki_view_share(format->view, &p->view, format, p->name);
    status = build(format, p, ret_obj, err);
    if (status)
        ki_view_unshare(&p->view);
    return status;
}

/* Finds the inside of the brackets of managedFields without parsing. They are a large part of an object, and are
 * dropped. What has their name elsewhere is found, too: the parsed copy shows it. */
static span find_skip(ki_str json) {
    static const char name[] = "\"managedFields\":[";
    const size_t size = sizeof name - 1, capital = 8;
    for (ki_str rest = json; rest.size;) {
        const char *at = memchr(rest.data, name[capital], rest.size);
        if (!at)
            break;
        rest = (ki_str){ at + 1, (size_t)(rest.data + rest.size - at) - 1 };
        size_t begin = (size_t)(at - json.data) - capital;
        if ((size_t)(at - json.data) < capital || json.size - begin < size ||
            memcmp(json.data + begin, name, size) != 0)
            continue;
        ki_json_walk walk = { .depth_max = KI_JSON_DEPTH_MAX - 2 }; /* in the object and its metadata */
        size_t array = begin + size - 1;
        size_t array_size = ki_json_find_end(&walk, (ki_str){ json.data + array, json.size - array });
        if (!array_size || walk.too_deep || json.data[array + array_size - 1] != ']')
            break;
        return (span){ array + 1, array_size - 2 };
    }
    return (span){ 0, 0 };
}

/* `*ret_opened`: the number of brackets. */
static bool is_compact(ki_str json, span skip, size_t *ret_opened) {
    size_t rest = skip.at + skip.size;
    *ret_opened = 0;
    return ki_json_is_compact((ki_str){ json.data, skip.at }, ret_opened) &&
           ki_json_is_compact((ki_str){ json.data + rest, json.size - rest }, ret_opened);
}

/* --- what is parsed of valid text --------------------------------------------------------------------------------- */

/* Returns the name of the member whose value begins at `at` of `text`; an empty view if the value is in an array, or
 * the name has escapes. */
static ki_str name_before(ki_str text, size_t at) {
    if (text.data[at - 1] != ':')
        return KI_STR("");
    size_t end = at - 2, begin = end; /* the closing quote */
    while (text.data[begin - 1] != '"') {
        if (text.data[--begin] == '\\')
            return KI_STR("");
    }
    if (text.data[begin - 2] == '\\')
        return KI_STR("");
    return (ki_str){ text.data + begin, end - begin };
}

/* Finds the insides of the containers that nobody reads, of valid text. Short ones are parsed sooner than left out.
 * Returns false if `skip` (size 0: none) is not one of them. */
static bool find_gaps(const ki_object_format *format, ki_str json, const ki_json_outline *outline, span skip,
                      gaps *found) {
    ki_str outer = KI_STR("");
    bool in_metadata = false;
    struct {
        size_t at, gaps; /* its opening bracket, and the gaps before that */
    } opened[KI_JSON_OUTLINE_DEPTH + 1] = { { 0, 0 } };
    size_t depth = 0;
    found->count = 0;
    for (size_t i = 0; i < outline->count; i++) {
        size_t at = outline->at[i];
        if (json.data[at] == '{' || json.data[at] == '[') {
            depth++;
            opened[depth].at = at;
            opened[depth].gaps = found->count;
            if (depth == 2) {
                outer = name_before(json, at);
                in_metadata = ki_str_equal(outer, KI_STR("metadata"));
            }
            continue;
        }
        span inside = { opened[depth].at + 1, at - opened[depth].at - 1 };
        bool is_gap = skip.size && inside.at == skip.at;
        if (!is_gap && inside.size >= GAP_MIN && outer.size && !(in_metadata && depth == 2)) {
            ki_str name = depth == 2 ? KI_STR("") : name_before(json, opened[depth].at);
            is_gap = (depth == 2 || name.size) && !(in_metadata && ki_str_equal(name, KI_STR("labels"))) &&
                     !(format->view && ki_view_enters(format->view, outer, name));
        }
        if (is_gap) {
            found->count = opened[depth].gaps;
            found->spans[found->count++] = inside;
        }
        depth--;
    }
    bool has_skip = !skip.size;
    for (size_t i = 0; i < found->count && !has_skip; i++)
        has_skip = found->spans[i].at == skip.at;
    return has_skip;
}

/* Parses a copy of the text in place, without the gaps, and makes the object. `opened`: brackets of the text, which
 * cannot nest deeper than that. */
static ki_status from_copy(ki_object_format *format, ki_str json, span skip, const gaps *without, size_t opened,
                           const given *g, ki_object **ret_obj, ki_error *err) {
    const ki_allocator *allocator = &format->allocator;
    size_t size = json.size, from = 0;
    for (size_t i = 0; i < without->count; i++)
        size -= without->spans[i].size;
    ki_buffer own, *memory = g->scratch;
    if (!memory) {
        memory = &own;
        ki_buffer_init(memory, allocator, 0);
    }
    if (ki_buffer_reserve(memory, ki_json_room_size(size))) {
        ki_buffer_reset(memory, 0);
        return ki_error_no_memory(err, "parsing an object");
    }
    char *text = memory->data, *to = text;
    for (size_t i = 0; i < without->count; i++) {
        memcpy(to, json.data + from, without->spans[i].at - from);
        to += without->spans[i].at - from;
        from = without->spans[i].at + without->spans[i].size;
    }
    memcpy(to, json.data + from, json.size - from);
    ki_json_room room;
    yyjson_doc *doc = NULL;
    ki_status status = ki_json_room_parse(&room, allocator, text, size, &doc, err);
    bool may_be_deep = g->is_from_server && opened > KI_JSON_DEPTH_MAX;
    if (!status && may_be_deep && ki_json_is_deep(doc, KI_JSON_DEPTH_MAX))
        status = ki_error_set(err, KI_ERR_LIMIT, "the object is nested deeper than %d", KI_JSON_DEPTH_MAX);
    if (!status) {
        parts p = { .json = json, .skip = skip, .gaps = without };
        status = from_tree(format, yyjson_doc_get_root(doc), text, g, &p, ret_obj, err);
    }
    yyjson_doc_free(doc);
    ki_buffer_reset(memory, g->scratch ? KI_OBJECT_SCRATCH_KEEP : 0);
    return status;
}

/* Removes white space from text that is known to be valid: in invalid text this could join tokens. API servers send
 * compact JSON; only other sources are parsed twice. */
static ki_status from_spaced(ki_object_format *format, ki_str json, const given *g, ki_object **ret_obj,
                             ki_error *err) {
    const ki_allocator *allocator = &format->allocator;
    yyjson_doc *doc;
    ki_status status = ki_json_parse(allocator, json, &doc, err);
    if (status)
        return status;
    yyjson_doc_free(doc);
    char *copy = ki_alloc(allocator, json.size);
    if (!copy)
        return ki_error_no_memory(err, "parsing an object");
    size_t size = ki_json_compact(copy, json);
    status =
        from_copy(format, (ki_str){ copy, size }, (span){ 0, 0 }, &(gaps){ .count = 0 }, SIZE_MAX, g, ret_obj, err);
    ki_free(allocator, copy);
    return status;
}

static ki_status from_json(ki_object_format *format, ki_str json, const given *g, ki_object **ret_obj, ki_error *err) {
    while (json.size && strchr(" \t\r\n", json.data[0]) && json.data[0]) {
        json.data++;
        json.size--;
    }
    while (json.size && strchr(" \t\r\n", json.data[json.size - 1]) && json.data[json.size - 1])
        json.size--;
    if (json.size > KI_OBJECT_TEXT_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "the object's JSON has more than 1 GiB");
    const span none = { 0, 0 };
    span skip = none;
    ki_json_outline outline;
    gaps without;
    size_t opened;
    if (g->is_from_server && !format->reads_managed_fields)
        skip = find_skip(json);
    /* The form of the text is assumed: an error can be that of a wrong span. */
    ki_status status = KI_ERR_PARSE;
    if (g->is_from_server && ki_json_is_valid(json, skip.at, skip.size, &outline) &&
        find_gaps(format, json, &outline, skip, &without))
        status = from_copy(format, json, skip, &without, 0, g, ret_obj, NULL);
    without = (gaps){ 1, { skip } };
    if (status && status != KI_ERR_NO_MEMORY && skip.size && is_compact(json, skip, &opened))
        status = from_copy(format, json, skip, &without, opened, g, ret_obj, NULL);
    if (status == KI_ERR_NO_MEMORY) /* the other ways would fail, too */
        return ki_error_no_memory(err, "making an object");
    if (!status)
        return KI_OK;
    without.count = 0;
    if (!is_compact(json, none, &opened))
        return from_spaced(format, json, g, ret_obj, err);
    return from_copy(format, json, none, &without, opened, g, ret_obj, err);
}

static given given_of(const ki_object_format *format, const char *api_version, const char *kind) {
    bool is_whole =
        format->keep == KI_KEEP_KEYS || (format->keep == KI_KEEP_VIEW && atomic_load(&format->is_for_transform));
    return (given){ .api_version = api_version, .kind = kind, .keep = is_whole ? KI_KEEP_OBJECT : format->keep };
}

ki_status ki_object_from_json(ki_object_format *format, ki_str json, const char *api_version, const char *kind,
                              ki_object **ret_obj, ki_error *err) {
    const given g = given_of(format, api_version, kind);
    return from_json(format, json, &g, ret_obj, err);
}

ki_status ki_object_from_server(ki_object_format *format, ki_str json, const char *api_version, const char *kind,
                                ki_buffer *scratch, ki_object **ret_obj, ki_error *err) {
    given g = given_of(format, api_version, kind);
    g.scratch = scratch;
    g.is_from_server = true;
    return from_json(format, json, &g, ret_obj, err);
}

ki_status ki_object_from_json_whole(ki_object_format *format, ki_str json, const char *api_version, const char *kind,
                                    ki_object **ret_obj, ki_error *err) {
    return from_json(format, json, &(given){ .api_version = api_version, .kind = kind, .keep = KI_KEEP_OBJECT },
                     ret_obj, err);
}

ki_status ki_object_format_read(ki_object_format *format, const char *json, size_t size, ki_object **ret_obj,
                                ki_error *err) {
    if (!format || !json || !ret_obj)
        return ki_error_missing(err, "ki_object_format_read");
    return ki_object_from_json(format, (ki_str){ json, size }, NULL, NULL, ret_obj, err);
}

static const char *unless_empty(const char *text) {
    return *text ? text : NULL;
}

ki_status ki_object_with_json(const ki_object *obj, const char *json, size_t size, ki_object **ret_obj, ki_error *err) {
    if (!obj || !json || !ret_obj)
        return ki_error_missing(err, "ki_object_with_json");
    const given g = { .api_version = unless_empty(ki_object_api_version(obj)),
                      .kind = unless_empty(ki_object_kind(obj)),
                      .identity = obj,
                      .keep = KI_KEEP_OBJECT };
    return from_json(ki_format_of(obj), (ki_str){ json, size }, &g, ret_obj, err);
}

size_t ki_object_memory(const ki_object *obj) {
    if (obj->is_packed)
        return (size_t)obj->body_at + offsetof(ki_packed_body, bytes) + ki_object_packed_body(obj)->size;
    return (size_t)obj->body_at + (obj->body_size ? (size_t)obj->body_size + 1 : sizeof(uint64_t));
}

size_t ki_object_memory_with_base(const ki_object *obj) {
    return ki_object_memory(obj) + (obj->is_packed ? ki_object_packed_body(obj)->base->packed_size : 0);
}

static bool is_in(const char *text, const void *block, size_t size) {
    return (uintptr_t)text - (uintptr_t)block < size;
}

/* Returns true if the text is that of the object or of its groups. */
static bool is_own(const ki_object *obj, const char *text) {
    bool is_it = is_in(text, obj, obj->body_at);
    for (const ki_object_group *group = obj->group; group && !is_it; group = group->base)
        is_it = is_in(text, group, group->size);
    return is_it;
}

void ki_object_each_text(const ki_object *obj, void (*visit)(const char *text, void *user), void *user) {
    const ki_view *view = ki_format_of(obj)->view;
    size_t count = view ? ki_view_member_count(view) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *text = ki_view_string(view, i, at(obj, KI_OBJECT_VIEW_AT));
        if (text && !is_own(obj, text))
            visit(text, user);
    }
}

static void add_text(const char *text, void *user) {
    uint64_t *hash = user;
    *hash = ki_hash(text, strlen(text), *hash);
}

uint64_t ki_object_fingerprint(const ki_object *obj, size_t size) {
    size_t from = sizeof obj->refs;
    uint64_t hash = 0;
    const char *name, *value;
    add_text(ki_object_api_version(obj), &hash);
    add_text(ki_object_kind(obj), &hash);
    add_text(ki_object_namespace(obj), &hash);
    for (size_t i = 0; ki_object_label_at(obj, i, &name, &value); i++) {
        add_text(name, &hash);
        add_text(value, &hash);
    }
    ki_object_each_text(obj, add_text, &hash);
    return ki_hash((const char *)obj + from, size - from, hash);
}

/* --- without the content ------------------------------------------------------------------------------------------ */

uint64_t ki_object_digest(const ki_object *obj) {
    uint64_t stored;
    if (obj->is_packed)
        return ki_object_packed_body(obj)->digest;
    if (obj->body_size)
        return digest_of(content_of(ki_object_plain_body(obj)), KI_STR(""));
    memcpy(&stored, at(obj, obj->body_at), sizeof stored);
    return stored;
}

ki_status ki_object_view_only(ki_object *obj, ki_object **ret_obj, ki_error *err) {
    if (ki_format_of(obj)->keep != KI_KEEP_VIEW || !obj->body_size) {
        *ret_obj = ki_object_ref(obj);
        return KI_OK;
    }
    ki_body body;
    ki_status status = ki_body_open(obj, &body, err);
    if (status)
        return status;
    status = from_json(ki_format_of(obj), body.text, &(given){ .identity = obj, .keep = KI_KEEP_VIEW }, ret_obj, err);
    ki_body_close(obj, &body);
    return status;
}

ki_status ki_object_key_only(ki_object *obj, ki_object **ret_obj, ki_error *err) {
    if (ki_format_of(obj)->keep == KI_KEEP_KEYS && obj->body_size) {
        parts p = { .digest = ki_object_digest(obj) };
        take_identity(obj, &p);
        return build(ki_format_of(obj), &p, ret_obj, err);
    }
    *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

bool ki_object_is_same(const ki_object *a, const ki_object *b) {
    const char *left = ki_object_uid(a), *right = ki_object_uid(b);
    return left[0] == '\0' || right[0] == '\0' || strcmp(left, right) == 0;
}

static bool is_same_content(const ki_object *a, const ki_object *b) {
    if (a->body_size && b->body_size && !a->is_packed && !b->is_packed)
        return ki_str_equal(content_of(ki_object_plain_body(a)), content_of(ki_object_plain_body(b)));
    return ki_object_digest(a) == ki_object_digest(b);
}

bool ki_object_is_same_state(const ki_object *a, const ki_object *b) {
    if (a == b)
        return true;
    return ki_object_is_same(a, b) && strcmp(ki_object_resource_version(a), ki_object_resource_version(b)) == 0 &&
           is_same_content(a, b);
}

ki_object *ki_object_ref(const ki_object *obj) {
    if (!obj)
        return NULL;
    ki_object *owned = (ki_object *)(uintptr_t)obj; /* only the reference count of an object changes */
    ki_refcount_inc(&owned->refs);
    return owned;
}

static void release_text(const char *text, void *user) {
    (void)user;
    ki_text_unref(text);
}

/* Apart from ki_object_unref, which is called often and rarely frees. */
static void __attribute__((noinline)) free_object(ki_object *owned) {
    ki_object_group *group = owned->group;
    KI_ASSERT(atomic_load(&owned->refs.count) == 0 && atomic_load(&group->refs.count) > 0);
    ki_body_base *base = owned->is_packed ? ki_object_packed_body(owned)->base : NULL;
    ki_object_each_text(owned, release_text, NULL);
    ki_free(&group->format->allocator, owned);
    if (base)
        ki_body_base_unref(base);
    ki_object_group_unref(group);
}

void ki_object_unref(const ki_object *obj) {
    ki_object *owned = (ki_object *)(uintptr_t)obj;
    if (owned && ki_refcount_dec(&owned->refs))
        free_object(owned);
}
