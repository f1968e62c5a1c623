/* main.c: an API server of pods for the programs of bench/peers, fast enough not to be what is measured: ready bytes
 * over plain HTTP/1.1, a thread for each connection.
 *
 *     server [--count N] [--no-managed-fields]
 *     server --objects FILE
 *
 * Prints its URL, the number of pods, and the mean size of one. Serves its version, and lists, in pages too, streaming
 * lists and watches of pods, whole or as PartialObjectMetadata; selectors are ignored. Lines on its standard input make
 * changes, which every watch gets:
 *     burst COUNT [WHAT]     COUNT changes as fast as the connection accepts them; WHAT: annotation, label or status
 *     rate PER_SECOND COUNT  COUNT changes, each sent alone at its time
 * It ends when its standard input does. */
#include "bench/peers/server/objects.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    REQUEST_MAX = 16384,
    BATCH = 64 * 1024,  /* bytes of a burst that are sent together */
    CHUNK_HEAD = 10,    /* "0000ffff\r\n" */
    AROUND_OBJECT = 64, /* bytes of a watch event around its object, and of a chunk around the event */
    PAUSE_MS = 500,     /* between two checks whether a client has closed its connection */
    BACKLOG = 256
};

/* --- what happens ------------------------------------------------------------------------------------------------- */

typedef struct plan {
    unsigned number;     /* 0: none yet */
    uint64_t count;      /* changes */
    uint64_t per_second; /* 0: as fast as the connection accepts them */
    uint64_t version;    /* resource version of the first change */
    int64_t from_ns;
    enum {
        ANNOTATION, /* each change writes its time into one */
        LABEL,      /* gets a new value each time */
        STATUS      /* the time of a condition is another one each time */
    } what;
} plan;

static pods all;
static pthread_mutex_t plan_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t plan_changed = PTHREAD_COND_INITIALIZER;
static plan current = { .version = 1 }; /* under plan_lock */

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t current_version(void) {
    pthread_mutex_lock(&plan_lock);
    uint64_t version = current.version + current.count;
    pthread_mutex_unlock(&plan_lock);
    return version;
}

/* --- a connection ------------------------------------------------------------------------------------------------- */

typedef struct connection {
    int fd;
    bool failed;
    char *out; /* what waits to be sent */
    size_t size;
    size_t room;
    bool metadata; /* of the current request: PartialObjectMetadata */
} connection;

static void flush(connection *c) {
    for (size_t sent = 0; sent < c->size && !c->failed;) {
        ssize_t n = send(c->fd, c->out + sent, c->size - sent, MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else if (n == 0 || errno != EINTR)
            c->failed = true;
    }
    c->size = 0;
}

/* Begins a chunk that has at most the longest object. end_chunk writes its size. */
static size_t begin_chunk(connection *c) {
    if (c->size + all.longest + AROUND_OBJECT + CHUNK_HEAD > c->room)
        flush(c);
    size_t at = c->size;
    c->size += CHUNK_HEAD;
    return at;
}

static void end_chunk(connection *c, size_t at) {
    char head[CHUNK_HEAD + 1];
    snprintf(head, sizeof head, "%08zx\r\n", c->size - at - CHUNK_HEAD);
    memcpy(c->out + at, head, CHUNK_HEAD);
    memcpy(c->out + c->size, "\r\n", 2);
    c->size += 2;
}

static void add(connection *c, const char *text) {
    size_t size = strlen(text);
    memcpy(c->out + c->size, text, size);
    c->size += size;
}

static void begin_response(connection *c, const char *status) {
    add(c, "HTTP/1.1 ");
    add(c, status);
    add(c, "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

static void end_response(connection *c) {
    add(c, "0\r\n\r\n");
    flush(c);
}

static void send_event(connection *c, const char *type, size_t number, const pod_change *change) {
    size_t at = begin_chunk(c);
    add(c, "{\"type\":\"");
    add(c, type);
    add(c, "\",\"object\":");
    c->size += write_pod(&all, number, c->metadata, change, c->out + c->size);
    add(c, "}\n");
    end_chunk(c, at);
}

static void send_list(connection *c, size_t from, size_t limit) {
    size_t to = limit > 0 && from + limit < all.count ? from + limit : all.count;
    char text[256], next[80] = "";
    begin_response(c, "200 OK");
    size_t at = begin_chunk(c);
    if (to < all.count)
        snprintf(next, sizeof next, ",\"continue\":\"%zu\",\"remainingItemCount\":%zu", to, all.count - to);
    snprintf(text, sizeof text,
             "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"%s},",
             c->metadata ? "PartialObjectMetadataList" : "PodList", c->metadata ? "meta.k8s.io/v1" : "v1",
             current_version(), next);
    add(c, text);
    add(c, "\"items\":[");
    end_chunk(c, at);
    for (size_t i = from; i < to && !c->failed; i++) {
        at = begin_chunk(c);
        c->size +=
            write_pod(&all, i, c->metadata, &(pod_change){ .version = i + 1, .stamp_ns = now_ns() }, c->out + c->size);
        if (i + 1 < to)
            add(c, ",");
        end_chunk(c, at);
    }
    at = begin_chunk(c);
    add(c, "]}\n");
    end_chunk(c, at);
    end_response(c);
}

static void send_version(connection *c) {
    begin_response(c, "200 OK");
    size_t at = begin_chunk(c);
    add(c, "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.0\"}");
    end_chunk(c, at);
    end_response(c);
}

static void send_initial_events(connection *c) {
    for (size_t i = 0; i < all.count && !c->failed; i++)
        send_event(c, "ADDED", i, &(pod_change){ .version = i + 1, .stamp_ns = now_ns() });
    char text[320];
    size_t at = begin_chunk(c);
    snprintf(text, sizeof text,
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{"
             "\"resourceVersion\":\"%" PRIu64 "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
             c->metadata ? "PartialObjectMetadata" : "Pod", c->metadata ? "meta.k8s.io/v1" : "v1", current_version());
    add(c, text);
    end_chunk(c, at);
    flush(c);
}

static void sleep_until(int64_t time_ns) {
    struct timespec until = { .tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000 };
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static void send_changes(connection *c, const plan *p) {
    for (uint64_t i = 0; i < p->count && !c->failed; i++) {
        if (p->per_second > 0)
            sleep_until(p->from_ns + (int64_t)(i * 1000000000 / p->per_second));
        uint64_t version = p->version + i;
        const pod_change change = { .version = version,
                                    .stamp_ns = p->what == ANNOTATION ? now_ns() : 0,
                                    .label = p->what == LABEL ? version : 0,
                                    .status_s = p->what == STATUS ? p->from_ns / 1000000000 + (int64_t)i : 0 };
        send_event(c, "MODIFIED", i % all.count, &change);
        if (p->per_second > 0)
            flush(c);
    }
    flush(c);
}

static bool is_closed(const connection *c) {
    char byte;
    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Waits for a plan after `last`. Returns false when the client closes the connection. */
static bool next_plan(connection *c, unsigned last, plan *ret_plan) {
    bool is_open = true;
    pthread_mutex_lock(&plan_lock);
    while (current.number == last && is_open) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PAUSE_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&plan_changed, &plan_lock, &until);
        is_open = !is_closed(c);
    }
    *ret_plan = current;
    pthread_mutex_unlock(&plan_lock);
    return is_open;
}

static void watch(connection *c, bool sends_initial) {
    pthread_mutex_lock(&plan_lock);
    unsigned last = current.number;
    pthread_mutex_unlock(&plan_lock);
    begin_response(c, "200 OK");
    flush(c);
    if (sends_initial)
        send_initial_events(c);
    plan p;
    while (!c->failed && next_plan(c, last, &p)) {
        last = p.number;
        if (all.count > 0)
            send_changes(c, &p);
    }
    c->failed = true; /* a watch has no end */
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Returns a query parameter as a number; 0 if there is none. */
static size_t parameter(const char *target, const char *name) {
    const char *at = strpbrk(target, "?");
    for (size_t size = strlen(name); at; at = strchr(at, '&')) {
        at++;
        if (strncmp(at, name, size) == 0 && at[size] == '=')
            return strncmp(at + size + 1, "true", 4) == 0 ? 1 : (size_t)strtoul(at + size + 1, NULL, 10);
    }
    return 0;
}

static void serve(connection *c, char *request) {
    char *target = strchr(request, ' '), *end = target ? strchr(target + 1, ' ') : NULL;
    if (!end) {
        c->failed = true;
        return;
    }
    c->metadata = strstr(end, "as=PartialObjectMetadata") != NULL;
    *end = '\0';
    target++;
    static const char path[] = "/api/v1/pods";
    const char *after = target + sizeof path - 1;
    static const char version[] = "/version"; /* kr8s asks for /version/ */
    if (strncmp(target, version, sizeof version - 1) == 0) {
        send_version(c);
    } else if (strncmp(target, path, sizeof path - 1) != 0 || (*after != '\0' && *after != '?')) {
        begin_response(c, "404 Not Found");
        end_response(c);
    } else if (parameter(target, "watch")) {
        watch(c, parameter(target, "sendInitialEvents"));
    } else {
        send_list(c, parameter(target, "continue"), parameter(target, "limit"));
    }
}

static void *run_connection(void *user) {
    connection c = { .fd = (int)(intptr_t)user, .room = BATCH + all.longest + AROUND_OBJECT };
    char request[REQUEST_MAX];
    size_t size = 0;
    c.out = malloc(c.room + REQUEST_MAX);
    while (c.out && !c.failed) {
        ssize_t n = recv(c.fd, request + size, sizeof request - 1 - size, 0);
        if (n <= 0)
            break;
        size += (size_t)n;
        request[size] = '\0';
        if (strstr(request, "\r\n\r\n")) {
            size = 0; /* a request has no body, and clients wait for the response */
            serve(&c, request);
        } else if (size == sizeof request - 1) {
            break;
        }
    }
    free(c.out);
    close(c.fd);
    return NULL;
}

static void *accept_all(void *user) {
    int listener = (int)(intptr_t)user;
    for (;;) {
        int fd = accept(listener, NULL, NULL), on = 1;
        pthread_t thread;
        if (fd < 0)
            continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (pthread_create(&thread, NULL, run_connection, (void *)(intptr_t)fd) == 0)
            pthread_detach(thread);
        else
            close(fd);
    }
    return NULL;
}

static void set_plan(uint64_t per_second, uint64_t count, const char *what) {
    pthread_mutex_lock(&plan_lock);
    current = (plan){ .number = current.number + 1,
                      .count = count,
                      .per_second = per_second,
                      .version = current.version + current.count,
                      .from_ns = now_ns(),
                      .what = strcmp(what, "label") == 0    ? LABEL
                              : strcmp(what, "status") == 0 ? STATUS
                                                            : ANNOTATION };
    pthread_cond_broadcast(&plan_changed);
    pthread_mutex_unlock(&plan_lock);
}

int main(int argc, char **argv) {
    size_t objects = 20000;
    const char *file = NULL;
    bool managed_fields = true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-managed-fields") == 0)
            managed_fields = false;
        else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            objects = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--objects") == 0 && i + 1 < argc)
            file = argv[++i];
        else
            return fprintf(stderr, "usage: server [--count N] [--no-managed-fields] | --objects FILE\n"), 2;
    }
    if (objects > OBJECTS_MAX)
        return fprintf(stderr, "server: at most %d objects\n", (int)OBJECTS_MAX), 2;
    if (file)
        read_pods(&all, file);
    else
        load_pods(&all, objects, managed_fields);
    current.version = all.count + 1;

    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t address_size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, BACKLOG) ||
        getsockname(listener, (struct sockaddr *)&address, &address_size) ||
        pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener)) {
        perror("server");
        return 1;
    }
    printf("http://127.0.0.1:%d %zu %zu\n", ntohs(address.sin_port), all.count,
           all.loaded ? all.bytes / all.loaded : 0);
    fflush(stdout);

    char line[128], what[16];
    uint64_t per_second, count;
    while (fgets(line, sizeof line, stdin)) {
        what[0] = '\0';
        if (sscanf(line, "burst %" SCNu64 " %15s", &count, what) >= 1)
            set_plan(0, count, what);
        else if (sscanf(line, "rate %" SCNu64 " %" SCNu64, &per_second, &count) == 2)
            set_plan(per_second, count, what);
    }
    return 0;
}
