/* listing.c: see listing.h. */
#include "listing.h"

#include "cli/output.h"
#include "json.h"
#include "sort.h"

#include <stdlib.h>
#include <string.h>

enum {
    LABEL_COLUMNS_MAX = 32,
    EVENT_WIDTH = sizeof "MODIFIED" - 1 + 3 /* with its padding */
};

typedef struct listing {
    const session *session;
    printer *printer;
    ki_columns *const *columns; /* columns of each target */
    bool several;               /* several resources, or --show-kind: each name is prefixed with its resource */
    char *label_text;
    const char *labels[LABEL_COLUMNS_MAX]; /* labels of -L */
    size_t label_count;
} listing;

static int by_namespace_and_name(const void *a, const void *b) {
    const ki_object *const *left = a;
    const ki_object *const *right = b;
    int order = strcmp(ki_object_namespace(*left), ki_object_namespace(*right));
    return order ? order : strcmp(ki_object_name(*left), ki_object_name(*right));
}

/* ---- the table ---- */

/* Appends all labels as a cell: "app=web,tier=a". */
static bool add_labels(table *t, const ki_object *obj) {
    const char *name, *value;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return false;
    for (size_t i = 0; ki_object_label_at(obj, i, &name, &value); i++)
        fprintf(out, "%s%s=%s", i ? "," : "", name, value);
    if (!ki_object_label_count(obj))
        fputs("<none>", out);
    bool is_added = fclose(out) == 0 && table_add(t, text);
    free(text);
    return is_added;
}

/* The table of one resource while it is filled. */
typedef struct rows {
    const listing *listing;
    const ki_columns *columns;
    const char *name; /* replaces the text of the name's column; NULL: no replacement */
    size_t name_at;   /* index of the name's column */
    bool shows_event; /* the first column: ADDED, MODIFIED or DELETED */
    bool shows_namespace;
    bool has_no_memory; /* out of memory */
    int64_t now_ms;     /* ages are relative to it */
    table *table;
} rows;

static bool is_shown(const listing *l, const ki_column *column) {
    return column->priority == 0 || l->printer->format == FORMAT_WIDE;
}

static bool add_upper(table *t, const char *text) {
    char *header = strdup(text);
    if (header)
        make_upper(header);
    bool is_added = header && table_add(t, header);
    free(header);
    return is_added;
}

static bool add_headers(rows *r) {
    const listing *l = r->listing;
    bool is_ok = !r->shows_event || table_add(r->table, "EVENT");
    if (is_ok && r->shows_namespace)
        is_ok = table_add(r->table, "NAMESPACE");
    for (size_t i = 0; i < ki_columns_count(r->columns) && is_ok; i++) {
        if (is_shown(l, ki_columns_at(r->columns, i)))
            is_ok = add_upper(r->table, ki_columns_at(r->columns, i)->name);
    }
    for (size_t i = 0; i < l->label_count && is_ok; i++) {
        const char *slash = strrchr(l->labels[i], '/');
        is_ok = add_upper(r->table, slash ? slash + 1 : l->labels[i]);
    }
    return is_ok && (!l->session->options->show_labels || table_add(r->table, "LABELS"));
}

static bool add_cell(size_t index, const char *text, void *user) {
    rows *r = user;
    if (!is_shown(r->listing, ki_columns_at(r->columns, index)))
        return true;
    bool is_added = table_add(r->table, r->name && index == r->name_at ? r->name : text);
    r->has_no_memory = !is_added;
    return is_added;
}

static ki_status add_row(rows *r, const char *event, const ki_object *obj, ki_error *err) {
    const listing *l = r->listing;
    char *name = l->several ? object_name(obj) : NULL;
    bool is_ok = (!l->several || name) && (!r->shows_event || table_add(r->table, event)) &&
                 (!r->shows_namespace || table_add(r->table, ki_object_namespace(obj)));
    r->name = name;
    ki_status status = is_ok ? ki_columns_each(r->columns, obj, r->now_ms, add_cell, r, err) : KI_ERR_NO_MEMORY;
    free(name);
    is_ok = !status && !r->has_no_memory;
    for (size_t i = 0; i < l->label_count && is_ok; i++) {
        const char *value = ki_object_label(obj, l->labels[i]);
        is_ok = table_add(r->table, value ? value : "");
    }
    is_ok = is_ok && (!l->session->options->show_labels || add_labels(r->table, obj));
    return status ? status : is_ok ? KI_OK : KI_ERR_NO_MEMORY;
}

static rows make_rows(const listing *l, const target *from, const ki_columns *columns) {
    const options *o = l->session->options;
    rows r = { .listing = l,
               .columns = columns,
               .shows_event = o->output_watch_events,
               .shows_namespace = from->resource.namespaced && o->all_namespaces,
               .now_ms = wall_now_ms(),
               .table = &l->printer->table };
    size_t count = ki_columns_count(columns);
    r.name_at = count;
    if (r.shows_event)
        r.table->widths[0] = EVENT_WIDTH;
    r.table->columns = (size_t)r.shows_event + (size_t)r.shows_namespace + l->label_count + (size_t)o->show_labels;
    for (size_t i = 0; i < count; i++) {
        const ki_column *column = ki_columns_at(columns, i);
        r.table->columns += is_shown(l, column);
        if (r.name_at == count && strcmp(column->format, "name") == 0)
            r.name_at = i;
    }
    return r;
}

static ki_status print_table(const listing *l, const target *from, const ki_columns *columns,
                             const ki_object_list *list, ki_error *err) {
    table_free(&l->printer->table);
    rows r = make_rows(l, from, columns);
    ki_status status = l->session->options->no_headers || add_headers(&r) ? KI_OK : KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < list->count && !status; i++)
        status = add_row(&r, "ADDED", list->objects[i], err);
    if (!status)
        table_print(r.table);
    return status;
}

/* Prints a row under the printed table. Begins with the headers if there is no table. */
static ki_status print_row(const listing *l, const target *from, const char *event, const ki_object *obj,
                           ki_error *err) {
    bool is_first = l->printer->table.columns == 0;
    rows r = make_rows(l, from, l->columns[0]);
    ki_status status = !is_first || l->session->options->no_headers || add_headers(&r) ? KI_OK : KI_ERR_NO_MEMORY;
    if (!status)
        status = add_row(&r, event, obj, err);
    if (!status)
        table_print(r.table);
    return status;
}

/* ---- other formats ---- */

static ki_status write_json(FILE *out, const ki_object *obj, bool *first, ki_error *err) {
    ki_value json = KI_VALUE_INIT;
    ki_status status = ki_object_json(obj, &json, err);
    if (status)
        return status;
    if (!*first)
        fprintf(out, ",\n");
    *first = false;
    fwrite(json.text, 1, json.text_size, out);
    ki_value_clear(&json);
    return KI_OK;
}

/* Writes the single object that was named, or a List of all objects. */
static ki_status write_list(const listing *l, FILE *out, const ki_object *const *objects, size_t count, ki_error *err) {
    ki_status status = KI_OK;
    bool first = true;
    if (!session_is_single(l->session))
        fprintf(out, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"},\"items\":[\n");
    for (size_t i = 0; i < count && !status; i++)
        status = write_json(out, objects[i], &first, err);
    if (!session_is_single(l->session))
        fprintf(out, "%s]}", first ? "" : "\n");
    return status;
}

/* Prints each object for itself. */
static ki_status print_each(listing *l, const ki_object *const *objects, size_t count, ki_error *err) {
    bool is_empty = l->printer->format == FORMAT_COLUMNS && !count && !l->session->options->watch;
    ki_status status = is_empty ? printer_add_headers(l->printer) : KI_OK;
    for (size_t i = 0; i < count && !status; i++) {
        ki_value json = KI_VALUE_INIT;
        status = ki_object_json(objects[i], &json, err);
        if (!status)
            status = printer_print(l->printer, json.text, json.text_size, err);
        ki_value_clear(&json);
    }
    printer_flush(l->printer);
    return status;
}

/* Prints a List as kubectl does, an object at a time. */
static ki_status print_json_list(const ki_object *const *objects, size_t count, ki_error *err) {
    ki_status status = KI_OK;
    printf("{\n    \"apiVersion\": \"v1\",\n    \"items\": [");
    for (size_t i = 0; i < count && !status; i++) {
        ki_value json = KI_VALUE_INIT;
        status = ki_object_json(objects[i], &json, err);
        printf("%s\n%*s", i ? "," : "", 2 * JSON_INDENT, "");
        if (!status)
            status = json_print(json.text, json.text_size, 2, err);
        ki_value_clear(&json);
    }
    if (status)
        return status;
    printf("%s],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n",
           count ? "\n    " : "");
    return KI_OK;
}

/* Prints the List of all objects, or the object that was named, with a template or as YAML. */
static ki_status print_whole(listing *l, const ki_object *const *objects, size_t count, ki_error *err) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return KI_ERR_NO_MEMORY;
    ki_status status = write_list(l, out, objects, count, err);
    if (fclose(out))
        status = KI_ERR_NO_MEMORY;
    if (!status)
        status = printer_print(l->printer, text, size, err);
    free(text);
    return status;
}

static ki_status print_objects(listing *l, const ki_object *const *objects, size_t count, ki_error *err) {
    switch (l->printer->format) {
    case FORMAT_NAME:
        for (size_t i = 0; i < count; i++) {
            print_object_name(objects[i]);
            putchar('\n');
        }
        return KI_OK;
    case FORMAT_JSON:
        if (l->session->options->watch)
            return print_each(l, objects, count, err);
        return session_is_single(l->session) ? print_each(l, objects, count, err)
                                             : print_json_list(objects, count, err);
    case FORMAT_JSONL:
    case FORMAT_COLUMNS: /* one row for each object: needs no List */
        return print_each(l, objects, count, err);
    default:
        return l->session->options->watch ? print_each(l, objects, count, err) : print_whole(l, objects, count, err);
    }
}

/* Joins the objects of `count` lists. The objects are borrowed from the lists; the caller frees the array. */
static ki_status join(const ki_object_list *lists, size_t count, ki_object_list *ret_all) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += lists[i].count;
    ret_all->objects = calloc(total + 1, sizeof *ret_all->objects);
    if (!ret_all->objects)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < lists[i].count; j++)
            ret_all->objects[ret_all->count++] = lists[i].objects[j];
    }
    return KI_OK;
}

/* Returns how many targets from `begin` on share one table: names of one resource. */
static size_t table_size(const session *s, size_t begin) {
    size_t end = begin + 1;
    while (end < s->target_count && s->targets[begin].name && s->targets[end].name &&
           session_is_same_resource(&s->targets[begin], &s->targets[end]))
        end++;
    return end - begin;
}

/* Returns true if lists, or objects that were found, are of several resources. */
static bool has_several(const session *s, const ki_object_list *lists) {
    const target *first = NULL;
    for (size_t i = 0; i < s->target_count; i++) {
        const target *t = &s->targets[i];
        if (t->name && !lists[i].count)
            continue;
        if (first && !session_is_same_resource(first, t))
            return true;
        first = first ? first : t;
    }
    return false;
}

static ki_status print_tables(listing *l, const ki_object_list *lists, const char *sort_by, ki_error *err) {
    const session *s = l->session;
    bool is_first = true;
    ki_status status = KI_OK;
    for (size_t begin = 0, size; begin < s->target_count && !status; begin += size) {
        ki_object_list all = { 0 };
        size = table_size(s, begin);
        status = join(lists + begin, size, &all);
        if (!status && sort_by && all.count)
            status = sort_objects(all.objects, all.count, sort_by, err);
        if (!status && all.count) {
            if (!is_first && !s->options->no_headers)
                putchar('\n');
            is_first = false;
            status = print_table(l, &s->targets[begin], l->columns[begin], &all, err);
        }
        free(all.objects);
    }
    return status;
}

ki_status listing_read(const target *t, ki_object_list *ret_list, ki_error *err) {
    char *fields = t->name ? session_name_selector(t->name) : NULL;
    if (t->name && !fields)
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_lister_list(t->informer, NULL, NULL, fields, ret_list, err); /* a server can ignore fields */
    free(fields);
    if (!status && ret_list->count)
        qsort(ret_list->objects, ret_list->count, sizeof *ret_list->objects, by_namespace_and_name);
    return status;
}

/* Prints the objects of each resource, sorted by namespace and name or by --sort-by. */
static ki_status print_lists(listing *l, ki_object_list *lists, size_t *count, ki_error *err) {
    const session *s = l->session;
    const char *sort_by = s->options->sort_by;
    bool is_table = l->printer->format == FORMAT_LINE || l->printer->format == FORMAT_WIDE;
    ki_object_list all = { 0 };
    ki_status status = KI_OK;
    for (size_t i = 0; i < s->target_count && !status; i++) {
        if (!s->targets[i].synced)
            continue;
        status = listing_read(&s->targets[i], &lists[i], err);
        *count += status ? 0 : lists[i].count;
    }
    l->several = s->options->show_kind || has_several(s, lists);
    if (status || is_table)
        return status ? status : print_tables(l, lists, sort_by, err);
    if (join(lists, s->target_count, &all))
        return KI_ERR_NO_MEMORY;
    if (sort_by && all.count)
        status = sort_objects(all.objects, all.count, sort_by, err);
    if (!status)
        status = print_objects(l, all.objects, all.count, err);
    free(all.objects);
    return status;
}

/* Returns the values of -L with commas; the caller frees them. Returns NULL if out of memory. */
static char *join_labels(const option_list *labels) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && i < labels->count; i++)
        fprintf(out, "%s,", labels->items[i]);
    if (out && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static ki_status open_listing(listing *l, const session *s, printer *p, ki_columns *const *columns) {
    char *rest = NULL;
    *l = (listing){ .session = s, .printer = p, .columns = columns, .several = s->options->show_kind };
    for (size_t i = 1; i < s->target_count; i++)
        l->several |= !session_is_same_resource(&s->targets[0], &s->targets[i]);
    l->label_text = join_labels(&s->options->label_columns);
    if (!l->label_text)
        return KI_ERR_NO_MEMORY;
    for (char *label = strtok_r(l->label_text, ",", &rest); label && l->label_count < LABEL_COLUMNS_MAX;
         label = strtok_r(NULL, ",", &rest))
        l->labels[l->label_count++] = label;
    return KI_OK;
}

ki_status listing_print(const session *s, printer *p, ki_columns *const *columns, size_t *ret_count, ki_error *err) {
    listing l;
    ki_object_list lists[TARGETS_MAX] = { { 0 } };
    size_t count = 0;
    ki_status status = open_listing(&l, s, p, columns);
    if (!status)
        status = print_lists(&l, lists, &count, err);
    for (size_t i = 0; i < s->target_count; i++)
        ki_object_list_free(&lists[i]);
    free(l.label_text);
    *ret_count = count;
    return status;
}

ki_status listing_print_change(const session *s, printer *p, ki_columns *const *columns, const char *event,
                               const ki_object *obj, ki_error *err) {
    listing l;
    ki_status status = open_listing(&l, s, p, columns);
    if (!status && (p->format == FORMAT_LINE || p->format == FORMAT_WIDE))
        status = print_row(&l, &s->targets[0], event, obj, err);
    else if (!status)
        status = print_objects(&l, &obj, 1, err);
    free(l.label_text);
    return status;
}
