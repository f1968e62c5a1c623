/* listing.c: see listing.h. */
#include "listing.h"

#include "output.h"
#include "sort.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LABEL_COLUMNS_MAX = 32
};

/* What the cached objects have at hand. */
struct listing_row {
    const char *created;
};

const ki_field listing_fields[] = { KI_FIELD(struct listing_row, created, "metadata.creationTimestamp"), KI_FIELD_END };

typedef struct listing {
    const session *session;
    printer *printer;
    bool several; /* resources: each line says which */
    char *label_text;
    const char *labels[LABEL_COLUMNS_MAX]; /* of -L */
    size_t label_count;
} listing;

/* "93s", "5m12s", "3h20m", "31d": as kubectl's. */
static void write_age(const char *created, char age[48]) {
    struct tm parts = { 0 };
    snprintf(age, 48, "<unknown>");
    if (!created || !strptime(created, "%Y-%m-%dT%H:%M:%SZ", &parts))
        return;
    long long seconds = (long long)time(NULL) - (long long)timegm(&parts);
    long long minutes = seconds / 60;
    long long hours = minutes / 60;
    long long days = hours / 24;
    if (seconds < -1)
        snprintf(age, 48, "<invalid>");
    else if (seconds < 120)
        snprintf(age, 48, "%llds", seconds < 0 ? 0 : seconds);
    else if (minutes < 10 && seconds % 60)
        snprintf(age, 48, "%lldm%llds", minutes, seconds % 60);
    else if (minutes < 180)
        snprintf(age, 48, "%lldm", minutes);
    else if (hours < 8 && minutes % 60)
        snprintf(age, 48, "%lldh%lldm", hours, minutes % 60);
    else if (hours < 48)
        snprintf(age, 48, "%lldh", hours);
    else if (days < 8 && hours % 24)
        snprintf(age, 48, "%lldd%lldh", days, hours % 24);
    else if (days < 730)
        snprintf(age, 48, "%lldd", days);
    else if (days < 8 * 365 && days % 365)
        snprintf(age, 48, "%lldy%lldd", days / 365, days % 365);
    else
        snprintf(age, 48, "%lldy", days / 365);
}

static int by_namespace_and_name(const void *a, const void *b) {
    const ki_object *const *left = a;
    const ki_object *const *right = b;
    int order = strcmp(ki_object_namespace(*left), ki_object_namespace(*right));
    return order ? order : strcmp(ki_object_name(*left), ki_object_name(*right));
}

/* ---- the table ---- */

/* "app=web,tier=a" */
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

static bool add_headers(const listing *l, table *t, bool shows_namespace) {
    bool is_fine = !shows_namespace || table_add(t, "NAMESPACE");
    is_fine = is_fine && table_add(t, "NAME") && table_add(t, "AGE");
    for (size_t i = 0; i < l->label_count; i++) {
        const char *slash = strrchr(l->labels[i], '/');
        char *header = strdup(slash ? slash + 1 : l->labels[i]);
        for (char *c = header; c && *c; c++)
            *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
        is_fine = is_fine && header && table_add(t, header);
        free(header);
    }
    return is_fine && (!l->session->options->show_labels || table_add(t, "LABELS"));
}

static bool add_row(const listing *l, table *t, const ki_object *obj, bool shows_namespace) {
    const struct listing_row *row = ki_object_view(obj);
    char age[48];
    char *name = NULL;
    write_age(row ? row->created : NULL, age);
    bool is_fine = !shows_namespace || table_add(t, ki_object_namespace(obj));
    if (l->several)
        name = object_name(obj);
    is_fine =
        is_fine && (!l->several || name) && table_add(t, l->several ? name : ki_object_name(obj)) && table_add(t, age);
    free(name);
    for (size_t i = 0; i < l->label_count; i++) {
        const char *value = ki_object_label(obj, l->labels[i]);
        is_fine = is_fine && table_add(t, value ? value : "");
    }
    return is_fine && (!l->session->options->show_labels || add_labels(t, obj));
}

static ki_status print_table(const listing *l, const target *from, const ki_object_list *list) {
    const options *o = l->session->options;
    bool shows_namespace = from->resource.namespaced && o->all_namespaces;
    table t = { .columns = 2 + (size_t)shows_namespace + l->label_count + (size_t)o->show_labels };
    bool is_fine = o->no_headers || add_headers(l, &t, shows_namespace);
    for (size_t i = 0; i < list->count && is_fine; i++)
        is_fine = add_row(l, &t, list->objects[i], shows_namespace);
    if (is_fine)
        table_print(&t);
    table_free(&t);
    return is_fine ? KI_OK : KI_ERR_NO_MEMORY;
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

/* Of the objects of all resources: one, where a name was given, else a List. */
static ki_status write_list(const listing *l, FILE *out, const ki_object *const *objects, size_t count, ki_error *err) {
    ki_status status = KI_OK;
    bool first = true;
    if (!l->session->name)
        fprintf(out, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"},\"items\":[\n");
    for (size_t i = 0; i < count && !status; i++)
        status = write_json(out, objects[i], &first, err);
    if (!l->session->name)
        fprintf(out, "%s]}", first ? "" : "\n");
    return status;
}

static ki_status print_templates(listing *l, const ki_object *const *objects, size_t count, ki_error *err) {
    char *text = NULL;
    size_t size = 0;
    if (l->printer->format == FORMAT_COLUMNS) { /* a row for each: no list is needed */
        ki_status status = KI_OK;
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

/* The objects of each resource by namespace and name, or in the order of --sort-by. */
static ki_status print_lists(listing *l, ki_object_list *lists, size_t *count, ki_error *err) {
    const session *s = l->session;
    const char *sort_by = s->options->sort_by;
    bool is_table = l->printer->format == FORMAT_LINE || l->printer->format == FORMAT_WIDE;
    const ki_object **objects = NULL;
    ki_status status = KI_OK;
    size_t used = 0;
    for (size_t i = 0; i < s->target_count && !status; i++) {
        ki_object_list *list = &lists[i];
        status = ki_lister_list(s->targets[i].informer, NULL, NULL, list, err);
        if (!status && list->count)
            qsort(list->objects, list->count, sizeof *list->objects, by_namespace_and_name);
        if (!status && is_table && sort_by && list->count)
            status = sort_objects(list->objects, list->count, sort_by, err);
        if (!status && is_table && list->count) {
            if (*count && !s->options->no_headers)
                putchar('\n');
            status = print_table(l, &s->targets[i], list);
        }
        *count += status ? 0 : list->count;
    }
    if (status || is_table)
        return status;
    objects = calloc(*count + 1, sizeof *objects);
    if (!objects)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < s->target_count; i++) {
        for (size_t j = 0; j < lists[i].count; j++)
            objects[used++] = lists[i].objects[j];
    }
    if (sort_by && used)
        status = sort_objects(objects, used, sort_by, err);
    if (!status && l->printer->format == FORMAT_JSON) {
        status = write_list(l, stdout, objects, used, err);
        putchar('\n');
    } else if (!status && l->printer->format == FORMAT_NAME) {
        for (size_t i = 0; i < used; i++) {
            print_object_name(objects[i]);
            putchar('\n');
        }
    } else if (!status) {
        status = print_templates(l, objects, used, err);
    }
    free(objects);
    return status;
}

ki_status listing_print(const session *s, printer *p, size_t *ret_count, ki_error *err) {
    listing l = { .session = s, .printer = p, .several = s->target_count > 1 };
    ki_object_list lists[TARGETS_MAX] = { { 0 } };
    ki_status status = KI_OK;
    size_t count = 0;
    char *rest = NULL;
    if (s->options->label_columns) {
        l.label_text = strdup(s->options->label_columns);
        if (!l.label_text)
            return KI_ERR_NO_MEMORY;
        for (char *label = strtok_r(l.label_text, ",", &rest); label && l.label_count < LABEL_COLUMNS_MAX;
             label = strtok_r(NULL, ",", &rest))
            l.labels[l.label_count++] = label;
    }
    status = print_lists(&l, lists, &count, err);
    for (size_t i = 0; i < s->target_count; i++)
        ki_object_list_free(&lists[i]);
    free(l.label_text);
    *ret_count = count;
    return status;
}
