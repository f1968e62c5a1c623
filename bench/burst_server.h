/* burst_server.h: the server of peers/burst in a process of its own. */
#ifndef KI_BENCH_BURST_SERVER_H
#define KI_BENCH_BURST_SERVER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct burst_server {
    pid_t pid;
    int until; /* the server ends when this is closed */
    char url[256];
} burst_server;

/* Ends the benchmark if `ok` is false. */
static inline void need(bool ok, const char *what) {
    if (ok)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* Starts the server. `pause_us`: between two events. Returns false without Go. */
static inline bool burst_server_start(burst_server *s, bool http2, unsigned objects, unsigned events,
                                      unsigned pause_us) {
    int to[2], from[2];
    char objects_flag[32], events_flag[32], pause_flag[32];
    snprintf(objects_flag, sizeof objects_flag, "-objects=%u", objects);
    snprintf(events_flag, sizeof events_flag, "-events=%u", events);
    snprintf(pause_flag, sizeof pause_flag, "-pause=%uus", pause_us);
    need(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC), "pipe");
    s->pid = fork();
    need(s->pid >= 0, "fork");
    if (s->pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl(KI_BENCH_PEERS "/run", "run", "burst", objects_flag, events_flag, pause_flag,
              http2 ? "-http2" : "-http2=false", (char *)NULL);
        _exit(1);
    }
    close(to[0]);
    close(from[1]);
    s->until = to[1];
    FILE *output = fdopen(from[0], "r");
    bool is_there = output && fgets(s->url, sizeof s->url, output);
    s->url[strcspn(s->url, "\n")] = '\0';
    if (output)
        fclose(output);
    return is_there;
}

static inline void burst_server_stop(const burst_server *s) {
    close(s->until);
    waitpid(s->pid, NULL, 0);
}

#endif
