/* environment.c: the variables and the probes of a container. */
#include "amounts.h"
#include "template.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- probes ---- */

/* Writes a URL's path: every character but those that a path may have is percent-encoded. */
static void write_path(sheet *s, const char *path) {
    for (; *path; path++) {
        if (isalnum((unsigned char)*path) || strchr("-_.~$&+,/:;=@", *path))
            sheet_write(s, 0, "%c", *path);
        else
            sheet_write(s, 0, "%%%02X", (unsigned)(unsigned char)*path);
    }
}

static void write_url(sheet *s, yyjson_val *get) {
    const char *host = text_at(get, "host"), *path = text_at(get, "path");
    bool is_ipv6 = strchr(host, ':') != NULL;
    sheet_write(s, 0, "http-get ");
    for (const char *c = text_at(get, "scheme"); *c; c++)
        sheet_write(s, 0, "%c", tolower((unsigned char)*c));
    sheet_write(s, 0, "://%s%s%s:", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "");
    write_int_or_string(s, value_at(get, "port"));
    sheet_write(s, 0, "%s", *path && *path != '/' ? "/" : "");
    write_path(s, path);
}

void write_probe(sheet *s, const char *title, yyjson_val *probe) {
    yyjson_val *exec = value_at(probe, "exec"), *get = value_at(probe, "httpGet");
    yyjson_val *socket = value_at(probe, "tcpSocket"), *grpc = value_at(probe, "grpc");
    if (!probe)
        return;
    sheet_write(s, 2, "%s:\t", title);
    if (exec) {
        sheet_write(s, 0, "exec [");
        write_joined(s, value_at(exec, "command"), " ");
        sheet_write(s, 0, "]");
    } else if (get) {
        write_url(s, get);
    } else if (socket) {
        sheet_write(s, 0, "tcp-socket %s:", text_at(socket, "host"));
        write_int_or_string(s, value_at(socket, "port"));
    } else if (grpc) {
        sheet_write(s, 0, "grpc <pod>:%" PRId64 " %s", integer_at(grpc, "port"), text_at(grpc, "service"));
    } else {
        sheet_write(s, 0, "unknown");
    }
    sheet_write(s, 0,
                " delay=%" PRId64 "s timeout=%" PRId64 "s period=%" PRId64 "s successThreshold=%" PRId64
                " failureThreshold=%" PRId64 "\n",
                integer_at(probe, "initialDelaySeconds"), integer_at(probe, "timeoutSeconds"),
                integer_at(probe, "periodSeconds"), integer_at(probe, "successThreshold"),
                integer_at(probe, "failureThreshold"));
}

/* ---- variables ---- */

static void write_sources(sheet *s, yyjson_val *sources) {
    yyjson_val *source;
    size_t index, count;
    if (!yyjson_arr_size(sources))
        return;
    sheet_write(s, 2, "Environment Variables from:\n");
    yyjson_arr_foreach(sources, index, count, source) {
        yyjson_val *map = value_at(source, "configMapRef"), *secret = value_at(source, "secretRef");
        yyjson_val *from = map ? map : secret;
        const char *prefix = text_at(source, "prefix");
        sheet_write(s, 3, "%s\t%s", text_at(from, "name"), map ? "ConfigMap" : secret ? "Secret" : "");
        if (*prefix)
            sheet_write(s, 0, " with prefix '%s'", prefix);
        sheet_write(s, 0, "\tOptional: %s\n", is_true_at(from, "optional") ? "true" : "false");
    }
}

static void write_literal(sheet *s, const char *name, const char *value) {
    sheet_write(s, 3, "%s:", name);
    for (size_t size = strcspn(value, "\n"); value[size]; size = strcspn(value, "\n")) {
        sheet_write(s, 0, "\t%.*s\n", (int)size, value);
        sheet_write(s, 3, "%s", "");
        value += size + 1;
    }
    sheet_write(s, 0, "\t%s\n", value);
}

/* Returns the value of a field of the pod that kubectl knows. */
static const char *field_text(yyjson_val *pod, yyjson_val *reference) {
    const char *path = text_at(reference, "fieldPath");
    if (strcmp(path, "metadata.name") == 0 || strcmp(path, "metadata.namespace") == 0)
        return text_at(pod, path);
    return "";
}

/* Returns the value of a resource in units of the divisor, rounded up. */
static int64_t in_units(const char *name, ki_quantity amount, ki_quantity divisor) {
    int64_t value = ki_quantity_units(&amount), unit = ki_quantity_units(&divisor);
    if (strcmp(name, "cpu") == 0 && (!ki_quantity_milli(&amount, &value) || !ki_quantity_milli(&divisor, &unit)))
        return 0;
    return unit ? value / unit + (value % unit > 0) : 0;
}

static void write_resource(sheet *s, const char *name, yyjson_val *container, yyjson_val *reference) {
    const char *resource = text_at(reference, "resource"), *dot = strchr(resource, '.');
    const char *key = dot ? dot + 1 : "";
    bool is_limit = strncmp(resource, "limits.", 7) == 0, is_request = strncmp(resource, "requests.", 9) == 0;
    bool is_plain = strcmp(key, "cpu") == 0 || strcmp(key, "memory") == 0;
    bool is_known = is_plain || strcmp(key, "ephemeral-storage") == 0 || strncmp(key, "hugepages-", 10) == 0;
    ki_quantity divisor = amount_of(value_at(reference, "divisor")), one = { .whole = 1 }, zero = { 0 };
    yyjson_val *all = value_at(container, is_limit ? "resources.limits" : "resources.requests");
    if (ki_quantity_compare(&divisor, &zero) == 0)
        divisor = one;
    int64_t value = in_units(key, amount_of(yyjson_obj_get(all, key)), divisor);
    sheet_write(s, 3, "%s:\t", name);
    if (is_limit && is_plain && value == 0)
        sheet_write(s, 0, "node allocatable");
    else if ((is_limit || is_request) && is_known)
        sheet_write(s, 0, "%" PRId64, value);
    sheet_write(s, 0, " (%s)\n", resource);
}

static void write_variable(sheet *s, yyjson_val *variable, yyjson_val *container, yyjson_val *pod) {
    const char *name = text_at(variable, "name");
    yyjson_val *from = value_at(variable, "valueFrom"), *field = value_at(from, "fieldRef");
    yyjson_val *resource = value_at(from, "resourceFieldRef"), *secret = value_at(from, "secretKeyRef");
    yyjson_val *map = value_at(from, "configMapKeyRef"), *key = secret ? secret : map;
    if (!from)
        write_literal(s, name, text_at(variable, "value"));
    else if (field)
        sheet_write(s, 3, "%s:\t%s (%s:%s)\n", name, field_text(pod, field), text_at(field, "apiVersion"),
                    text_at(field, "fieldPath"));
    else if (resource)
        write_resource(s, name, container, resource);
    else if (key)
        sheet_write(s, 3, "%s:\t<set to the key '%s' %s '%s'>\tOptional: %s\n", name, text_at(key, "key"),
                    secret ? "in secret" : "of config map", text_at(key, "name"),
                    is_true_at(key, "optional") ? "true" : "false");
}

void write_environment(sheet *s, yyjson_val *container, yyjson_val *pod) {
    yyjson_val *variable, *variables = value_at(container, "env");
    size_t index, count;
    write_sources(s, value_at(container, "envFrom"));
    sheet_write(s, 2, "Environment:%s\n", yyjson_arr_size(variables) ? "" : "\t<none>");
    yyjson_arr_foreach(variables, index, count, variable) {
        write_variable(s, variable, container, pod);
    }
}
