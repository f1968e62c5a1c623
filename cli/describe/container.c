/* container.c: the containers of a pod or a template. */
#include "amounts.h"
#include "template.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Writes the ports: "8080/TCP (http), 9090/TCP". `path` is containerPort or hostPort. */
static void write_ports(sheet *s, const char *title, yyjson_val *ports, const char *path) {
    yyjson_val *port;
    size_t index, count;
    if (!yyjson_arr_size(ports)) {
        sheet_write(s, 2, "%s:\t<none>\n", title);
        return;
    }
    sheet_write(s, 2, "%s%s:\t", title, yyjson_arr_size(ports) > 1 ? "s" : "");
    yyjson_arr_foreach(ports, index, count, port) {
        const char *name = text_at(port, "name");
        sheet_write(s, 0, "%s%" PRId64 "/%s", index ? ", " : "", integer_at(port, path), text_at(port, "protocol"));
        if (*name)
            sheet_write(s, 0, " (%s)", name);
    }
    sheet_write(s, 0, "\n");
}

static void write_basics(sheet *s, yyjson_val *container, yyjson_val *status) {
    yyjson_val *ports = value_at(container, "ports");
    if (status)
        sheet_write(s, 2, "Container ID:\t%s\n", text_at(status, "containerID"));
    sheet_write(s, 2, "Image:\t%s\n", text_at(container, "image"));
    if (status)
        sheet_write(s, 2, "Image ID:\t%s\n", text_at(status, "imageID"));
    write_ports(s, "Port", ports, "containerPort");
    write_ports(s, "Host Port", ports, "hostPort");
    if (!value_at(container, "securityContext.seccompProfile"))
        return;
    const char *type = text_at(container, "securityContext.seccompProfile.type");
    sheet_write(s, 2, "SeccompProfile:\t%s\n", type);
    if (strcmp(type, "Localhost") == 0)
        sheet_write(s, 3, "LocalhostProfile:\t%s\n",
                    text_at(container, "securityContext.seccompProfile.localhostProfile"));
}

/* Writes each line of each text on a line of its own. */
static void write_command(sheet *s, const char *title, yyjson_val *texts) {
    yyjson_val *text;
    size_t index, count;
    if (!yyjson_arr_size(texts))
        return;
    sheet_write(s, 2, "%s:\n", title);
    yyjson_arr_foreach(texts, index, count, text) {
        const char *at = text_of(text);
        for (size_t size = strcspn(at, "\n"); at[size]; size = strcspn(at, "\n")) {
            sheet_write(s, 3, "%.*s\n", (int)size, at);
            at += size + 1;
        }
        sheet_write(s, 3, "%s\n", at);
    }
}

/* ---- states ---- */

static void write_terminated(sheet *s, yyjson_val *state) {
    char time[TIME_SIZE];
    if (*text_at(state, "reason"))
        sheet_write(s, 3, "Reason:\t%s\n", text_at(state, "reason"));
    if (*text_at(state, "message"))
        sheet_write(s, 3, "Message:\t%s\n", text_at(state, "message"));
    sheet_write(s, 3, "Exit Code:\t%" PRId64 "\n", integer_at(state, "exitCode"));
    if (integer_at(state, "signal") > 0)
        sheet_write(s, 3, "Signal:\t%" PRId64 "\n", integer_at(state, "signal"));
    sheet_write(s, 3, "Started:\t%s\n", time_text(value_at(state, "startedAt"), time));
    sheet_write(s, 3, "Finished:\t%s\n", time_text(value_at(state, "finishedAt"), time));
}

static void write_state(sheet *s, const char *title, yyjson_val *state) {
    yyjson_val *running = value_at(state, "running"), *waiting = value_at(state, "waiting");
    yyjson_val *terminated = value_at(state, "terminated");
    char time[TIME_SIZE];
    if (running) {
        sheet_write(s, 2, "%s:\tRunning\n", title);
        sheet_write(s, 3, "Started:\t%s\n", time_text(value_at(running, "startedAt"), time));
    } else if (terminated && !waiting) {
        sheet_write(s, 2, "%s:\tTerminated\n", title);
        write_terminated(s, terminated);
    } else {
        sheet_write(s, 2, "%s:\tWaiting\n", title);
        if (*text_at(waiting, "reason"))
            sheet_write(s, 3, "Reason:\t%s\n", text_at(waiting, "reason"));
    }
}

static void write_status(sheet *s, yyjson_val *status) {
    if (!status)
        return;
    write_state(s, "State", value_at(status, "state"));
    if (value_at(status, "lastState.terminated"))
        write_state(s, "Last State", value_at(status, "lastState"));
    sheet_write(s, 2, "Ready:\t%s\n", is_true_at(status, "ready") ? "True" : "False");
    sheet_write(s, 2, "Restart Count:\t%" PRId64 "\n", integer_at(status, "restartCount"));
}

/* ---- requirements and mounts ---- */

static void write_amounts(sheet *s, int level, const char *title, yyjson_val *all) {
    char text[KI_QUANTITY_SIZE];
    size_t count;
    named_value *sorted = members_sorted(s, all, &count);
    if (count)
        sheet_write(s, level, "%s:\n", title);
    for (size_t i = 0; i < count; i++)
        sheet_write(s, level + 1, "%s:\t%s\n", sorted[i].name, amount_text(sorted[i].value, text));
    free(sorted);
}

void write_requirements(sheet *s, int level, yyjson_val *resources) {
    write_amounts(s, level, "Limits", value_at(resources, "limits"));
    write_amounts(s, level, "Requests", value_at(resources, "requests"));
}

static int by_mount_path(const void *a, const void *b) {
    yyjson_val *const *left = a, *const *right = b;
    return strcmp(text_at(*left, "mountPath"), text_at(*right, "mountPath"));
}

static int by_device_path(const void *a, const void *b) {
    yyjson_val *const *left = a, *const *right = b;
    return strcmp(text_at(*left, "devicePath"), text_at(*right, "devicePath"));
}

/* Writes a text in quotes as Go's %q, for printable text. */
static void write_quoted(sheet *s, const char *text) {
    sheet_write(s, 0, "\"");
    for (; *text; text++)
        sheet_write(s, 0, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    sheet_write(s, 0, "\"");
}

static void write_mounts(sheet *s, yyjson_val *container) {
    yyjson_val *mounts = value_at(container, "volumeMounts"), *devices = value_at(container, "volumeDevices");
    const char *none = yyjson_arr_size(mounts) ? "" : "\t<none>";
    yyjson_val **sorted = elements_sorted(s, mounts, by_mount_path);
    sheet_write(s, 2, "Mounts:%s\n", none);
    for (size_t i = 0; sorted && i < yyjson_arr_size(mounts); i++) {
        const char *sub = text_at(sorted[i], "subPath");
        sheet_write(s, 3, "%s from %s (%s", text_at(sorted[i], "mountPath"), text_at(sorted[i], "name"),
                    is_true_at(sorted[i], "readOnly") ? "ro" : "rw");
        if (*sub) {
            sheet_write(s, 0, ",path=");
            write_quoted(s, sub);
        }
        sheet_write(s, 0, ")\n");
    }
    free(sorted);
    sorted = elements_sorted(s, devices, by_device_path);
    if (sorted)
        sheet_write(s, 2, "Devices:%s\n", none);
    for (size_t i = 0; sorted && i < yyjson_arr_size(devices); i++)
        sheet_write(s, 3, "%s from %s\n", text_at(sorted[i], "devicePath"), text_at(sorted[i], "name"));
    free(sorted);
}

/* ---- containers ---- */

static yyjson_val *status_of(yyjson_val *pod, const char *statuses, const char *name) {
    yyjson_val *one, *found = NULL, *all = yyjson_obj_get(value_at(pod, "status"), statuses);
    size_t index, count;
    yyjson_arr_foreach(all, index, count, one) {
        if (strcmp(text_at(one, "name"), name) == 0)
            found = one;
    }
    return found;
}

void write_containers(sheet *s, const char *title, yyjson_val *containers, yyjson_val *pod, const char *statuses,
                      const char *space) {
    yyjson_val *container;
    size_t index, count;
    sheet_write(s, 0, "%s%s:%s\n", space, title, yyjson_arr_size(containers) ? "" : " <none>");
    yyjson_arr_foreach(containers, index, count, container) {
        const char *name = text_at(container, "name");
        yyjson_val *status = pod ? status_of(pod, statuses, name) : NULL;
        sheet_write(s, 1, "%s%s:\n", *space ? " " : "", name);
        write_basics(s, container, status);
        write_command(s, "Command", value_at(container, "command"));
        write_command(s, "Args", value_at(container, "args"));
        write_status(s, status);
        write_requirements(s, 2, value_at(container, "resources"));
        write_probe(s, "Liveness", value_at(container, "livenessProbe"));
        write_probe(s, "Readiness", value_at(container, "readinessProbe"));
        write_probe(s, "Startup", value_at(container, "startupProbe"));
        write_environment(s, container, pod);
        write_mounts(s, container);
    }
}
