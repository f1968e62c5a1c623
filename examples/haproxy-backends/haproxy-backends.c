/* haproxy-backends.c: a controller with one key: the servers of a backend of HAProxy follow the ready endpoints of a
 * Service, through HAProxy's runtime socket. PORT is the name of the Service's port, "" for one without a name. HAProxy
 * reads the file STATE when it starts. README.md has the configuration of HAProxy. C99.
 * usage: haproxy-backends NAMESPACE SERVICE PORT BACKEND SOCKET STATE */
#include "slice.h"

#include <kinformer-controllers/controller.h>
#include <kinformer/kinformer.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    SERVERS_MAX = 1000,
    CHECK_MS = 1000 /* between two looks at HAProxy, which may have restarted */
};

static struct program {
    const char *port, *backend, *socket, *state;
    ki_informer *slices;
    char answer[SERVERS_MAX * 256]; /* HAProxy's last one */
    struct server {
        char name[64], address[64];
        int port;
        bool is_used, is_wanted;
    } servers[SERVERS_MAX];
    size_t count, changes, missing; /* servers, changes of them, endpoints without one */
} program;

/* Sends a command, and reads the answer up to its end. */
static KI_PRINTF(3, 4) ki_status talk(struct program *p, ki_error *err, const char *format, ...) {
    const struct timeval patience = { 1, 0 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char command[512];
    size_t used = 0;
    ssize_t got = -1;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", p->socket);
    if (!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) &&
        !connect(fd, (const struct sockaddr *)&address, sizeof address) &&
        send(fd, command, strlen(command), MSG_NOSIGNAL) > 0)
        while ((got = read(fd, p->answer + used, sizeof p->answer - 1 - used)) > 0)
            used += (size_t)got;
    p->answer[used] = '\0';
    close(fd);
    return got ? ki_error_set(err, KI_ERR_SYSTEM, "%s: %s", p->socket, strerror(errno)) : KI_OK;
}

/* Reads the servers of the backend, one from each line of "show servers state" (HAProxy's management guide). */
static ki_status read_servers(struct program *p, ki_error *err) {
    unsigned admin_state = 0; /* its first bit: in maintenance */
    p->count = 0;
    if (talk(p, err, "show servers state %s\n", p->backend))
        return err->code;
    for (const char *line = p->answer; (line = strchr(line, '\n')) && p->count < SERVERS_MAX; line++) {
        struct server *one = &p->servers[p->count];
        p->count += sscanf(line, "%*d %*s %*d %63s %63s %*d %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
                           one->name, one->address, &admin_state, &one->port) == 4;
        one->is_used = !(admin_state & 1);
        one->is_wanted = false;
    }
    return p->count ? KI_OK : ki_error_set(err, KI_ERR_NOT_FOUND, "HAProxy has no servers in %s", p->backend);
}

/* Finds the server of an endpoint, or gives the endpoint to an unused one. */
static ki_status want(struct program *p, const char *address, int port, ki_error *err) {
    struct server *unused = NULL;
    for (struct server *one = p->servers; one < p->servers + p->count; one++) {
        if (one->is_used && one->port == port && strcmp(one->address, address) == 0) {
            one->is_wanted = true;
            return KI_OK;
        }
        unused = unused || one->is_used ? unused : one;
    }
    if (!unused)
        return p->missing++, KI_OK;
    p->changes++;
    snprintf(unused->address, sizeof unused->address, "%s", address);
    unused->port = port;
    unused->is_used = unused->is_wanted = true;
    return talk(p, err, "set server %s/%s addr %s port %d; set server %s/%s state ready\n", p->backend, unused->name,
                address, port, p->backend, unused->name);
}

/* Wants the endpoints of a slice that are ready, as those without the condition are. */
static ki_status want_slice(struct program *p, const struct slice *slice, ki_error *err) {
    const struct slice_endpoint *endpoints = slice->endpoints.items;
    const struct slice_port *ports = slice->ports.items;
    for (size_t i = 0; i < slice->ports.count; i++)
        for (size_t j = 0; j < slice->endpoints.count; j++)
            if (strcmp(ports[i].name ? ports[i].name : "", p->port) == 0 && endpoints[j].addresses.count &&
                (endpoints[j].conditions.ready || !endpoints[j].conditions.has_ready) &&
                want(p, endpoints[j].addresses.items[0], ports[i].port, err))
                return err->code;
    return KI_OK;
}

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    struct program *p = user;
    ki_snapshot *now = ki_informer_snapshot(p->slices);
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    char path[1024];
    (void)key;
    p->changes = p->missing = 0;
    ki_status status = read_servers(p, err);
    while (!status && (obj = ki_snapshot_next(now, &cursor)))
        status = want_slice(p, slice_view(obj), err);
    ki_snapshot_free(now);
    for (const struct server *one = p->servers; !status && one < p->servers + p->count; one++)
        if (one->is_used && !one->is_wanted) {
            p->changes++;
            status = talk(p, err, "set server %s/%s state maint\n", p->backend, one->name);
        }
    if (status)
        return status;
    if (p->changes && read_servers(p, err))
        return err->code;
    ki_reconcile_requeue_after(call, CHECK_MS);
    snprintf(path, sizeof path, "%s.new", p->state);
    FILE *file = fopen(path, "w");
    const bool is_written = file && fputs(p->answer, file) >= 0;
    if ((file && fclose(file)) || !is_written || rename(path, p->state))
        return ki_error_set(err, KI_ERR_SYSTEM, "write %s: %s", path, strerror(errno));
    return p->missing ? ki_error_set(err, KI_ERR_LIMIT, "%zu endpoints without a server", p->missing) : KI_OK;
}

static void add_key(const ki_object *obj, ki_reconcile_keys *keys, void *user) {
    (void)obj;
    (void)ki_reconcile_keys_add(keys, ((struct program *)user)->backend);
}

int main(int argc, char **argv) {
    const ki_rate_limit retries = KI_RATE_LIMIT_EXPONENTIAL(5, CHECK_MS);
    struct program *p = &program;
    char selector[512];
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    ki_controller *controller = NULL;
    if (argc != 7)
        return fprintf(stderr, "usage: haproxy-backends NAMESPACE SERVICE PORT BACKEND SOCKET STATE\n"), 2;
    p->port = argv[3], p->backend = argv[4], p->socket = argv[5], p->state = argv[6];
    snprintf(selector, sizeof selector, "kubernetes.io/service-name=%s", argv[2]);
    if (ki_factory_new_default(
            &KI_FACTORY_OPTIONS(.log = &(ki_log){ .write = ki_log_stderr }, .namespace_name = argv[1]), &factory,
            &err) ||
        ki_factory_informer(factory, KI_ENDPOINTSLICES,
                            &KI_INFORMER_OPTIONS(.label_selector = selector, .view = slice_fields), &p->slices, &err) ||
        ki_controller_new(factory,
                          &KI_CONTROLLER_OPTIONS(.name = "haproxy-backends", .reconcile = reconcile, .user = p,
                                                 .rate_limits = &retries, .rate_limit_count = 1),
                          &controller, &err) ||
        ki_controller_watch(controller, p->slices, &KI_CONTROLLER_WATCH(.map = add_key, .user = p), &err) ||
        ki_workqueue_add(ki_controller_queue(controller), p->backend) || /* also without a slice */
        ki_factory_run(factory, &err))                                   /* until SIGTERM or SIGINT */
        fprintf(stderr, "haproxy-backends: %s\n", ki_error_message(&err));
    ki_controller_free(controller);
    ki_factory_free(factory);
    return err.code ? 1 : 0;
}
