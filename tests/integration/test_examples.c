/* test_examples.c: the examples, run as a user would: against an API server, by a kubeconfig. */
#include "tests/support/load_nodes.h"
#include "tests/support/process.h"
#include "tests/support/test.h"

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    PODS = 40
};

static ki_process server, example;
static pid_t daemon_process; /* which no longer is a child of this one; 0: none */
static char kubeconfig[64], environment_entry[96];

static int set_up(void **state) {
    (void)state;
    memset(&example, 0, sizeof example);
    example.in = example.out = example.err = -1;
    snprintf(kubeconfig, sizeof kubeconfig, "/tmp/ki-examples-%d.kubeconfig", (int)getpid());
    snprintf(environment_entry, sizeof environment_entry, "KUBECONFIG=%s", kubeconfig);
    const char *const argv[] = { KI_TEST_PROGRAM,      "serve",    "--pods", "40", "--nodes", "4", "--seed", "7",
                                 "--write-kubeconfig", kubeconfig, NULL };
    if (!ki_process_start(&server, argv, NULL, false))
        return -1;
    return ki_process_expect(&server, "serving http://") ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    ki_process_free(&example);
    ki_process_signal(&server, SIGTERM);
    (void)ki_process_wait(&server);
    ki_process_free(&server);
    unlink(kubeconfig);
    return 0;
}

static void start_example(const char *name) {
    const char *const argv[] = { name, NULL };
    const char *const environment[] = { environment_entry, NULL };
    assert_true(ki_process_start(&example, argv, environment, false));
}

#ifndef __SANITIZE_THREAD__ /* which has a thread of its own */
static int count_threads(pid_t pid) {
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}
#endif

static int clean_example(void **state) {
    (void)state;
    if (daemon_process)
        kill(daemon_process, SIGKILL);
    daemon_process = 0;
    ki_process_free(&example);
    return 0;
}

#define EXAMPLES_TEST(name) TEST_WITH(NULL, clean_example, name)

EXAMPLES_TEST(the_shortest_program_prints_every_pod_and_ends_with_a_signal) {
    start_example(KI_TEST_EXAMPLES_DIR "/example-watch-pods");
    for (int i = 0; i < PODS; i++) {
        const char *line = ki_process_expect(&example, "+ ");
        assert_non_null(line);
        assert_non_null(strstr(line, " on "));
    }
    ki_process_signal(&example, SIGTERM);
    assert_int_equal(ki_process_wait(&example), 0);
}

/* Its view is a header that `kinformer gen` made (integration/cli_gen). */
EXAMPLES_TEST(a_generated_header_reads_the_containers_of_every_pod) {
    start_example(KI_TEST_EXAMPLES_DIR "/example-images-by-node");
    for (int i = 0; i < PODS; i++) {
        char node[64], key[128], image[128];
        int milli = -1;
        const char *line = ki_process_expect(&example, " ");
        assert_non_null(line);
        assert_int_equal(sscanf(line, "%63s %127s %127s %dm", node, key, image, &milli), 4);
        assert_true(strncmp(node, "ip-10-", 6) == 0 || strcmp(node, "-") == 0);
        assert_non_null(strchr(key, '/'));
        assert_non_null(strchr(image, ':'));
        assert_true(milli >= 0);
    }
    ki_process_signal(&example, SIGTERM);
    assert_int_equal(ki_process_wait(&example), 0);
}

EXAMPLES_TEST(a_host_with_its_own_loop_is_served_without_a_thread) {
    start_example(KI_TEST_EXAMPLES_DIR "/example-host-loop");
    const char *line = ki_process_expect(&example, "synced: ");
    assert_non_null(line);
    assert_int_equal(atoi(line + strlen("synced: ")), PODS);
#ifndef __SANITIZE_THREAD__
    assert_int_equal(count_threads(example.pid), 1);
#endif
    assert_true(write(example.in, "nowhere/nothing\n", 16) == 16);
    assert_non_null(ki_process_expect(&example, "nowhere/nothing: not found"));
    ki_process_close_in(&example);
    line = ki_process_expect(&example, " changes");
    assert_non_null(line);
    assert_int_equal(atoi(line), PODS);
    assert_int_equal(ki_process_wait(&example), 0);
}

/* Reads "process PID serves COUNT pods". Returns the process. */
static pid_t expect_daemon(int pods) {
    long pid = 0;
    int count = -1;
    const char *line = ki_process_expect(&example, " serves ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "process %ld serves %d pods", &pid, &count), 2);
    assert_int_equal(count, pods);
    return daemon_process = (pid_t)pid;
}

/* Its loop has nothing but descriptors. */
EXAMPLES_TEST(a_daemon_that_forks_serves_reloads_and_ends) {
    start_example(KI_TEST_EXAMPLES_DIR "/example-daemon");
    assert_int_equal(ki_process_wait(&example), 0); /* the process that was started, before the daemon has synced */
    pid_t daemon = expect_daemon(PODS);
    assert_int_not_equal(daemon, example.pid);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kill(daemon, SIGHUP), 0);
        assert_int_equal(expect_daemon(PODS), daemon);
    }
#ifndef __SANITIZE_THREAD__
    assert_int_equal(count_threads(daemon), 1);
#endif
    assert_int_equal(kill(daemon, SIGTERM), 0);
    assert_non_null(ki_process_expect(&example, " ends"));
    assert_null(ki_process_line(&example)); /* the daemon's standard output is closed */
    daemon_process = 0;
}

EXAMPLES_TEST(a_cxx_program_counts_by_an_index_of_its_own) {
    int pods = 0, nodes = 0;
    start_example(KI_TEST_EXAMPLES_DIR "/example-count-by-node-cc");
    for (const char *line; (line = ki_process_line(&example));) {
        const char *count = strstr(line, ": ");
        assert_non_null(count);
        pods += atoi(count + 2);
        nodes++;
    }
    assert_int_equal(ki_process_wait(&example), 0);
    assert_true(pods > 0 && pods <= PODS);
    assert_true(nodes > 0 && nodes <= 4);
}

/* ---- the router ---- */

/* What several threads ask of the router. */
typedef struct router_client {
    pthread_t thread;
    int fd;
    int wrong;
    atomic_bool *stop;
} router_client;

static int connect_to_router(const char *line) {
    struct sockaddr_in address = { .sin_family = AF_INET };
    const struct timeval patience = { .tv_sec = KI_PROCESS_PATIENCE_MS / 1000 };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)atoi(strrchr(line, ':') + 1));
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    return fd;
}

/* Returns false without an answer. */
static bool ask_router(int fd, const char *name, char *ret_answer, size_t size) {
    if (send(fd, name, strlen(name), 0) != (ssize_t)strlen(name))
        return false;
    ssize_t got = recv(fd, ret_answer, size - 1, 0);
    if (got <= 0)
        return false;
    ret_answer[got - 1] = '\0'; /* for the newline */
    return true;
}

static void ask_router_until(int fd, const char *name, const char *wanted) {
    char answer[256] = "";
    while (strcmp(answer, wanted) != 0)
        assert_true(ask_router(fd, name, answer, sizeof answer));
}

static void *ask_router_always(void *user) {
    router_client *client = user;
    char answer[256];
    while (!atomic_load(client->stop))
        if (!ask_router(client->fd, "shop.example.com\n", answer, sizeof answer) ||
            (strcmp(answer, "10.0.0.1:8080") != 0 && strcmp(answer, "10.0.0.2:8080") != 0))
            client->wrong++;
    return NULL;
}

static void put_slice(ki_testing_server *cluster, const char *first, const char *conditions) {
    char json[1024];
    int size = snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\",\"labels\":{\"kubernetes.io/"
        "service-name\":\"web\"}},\"addressType\":\"IPv4\",\"ports\":[{\"name\":\"admin\",\"port\":9},{"
        "\"name\":\"http\",\"port\":8080}],\"endpoints\":[{\"addresses\":[\"%s\"],\"conditions\":{\"ready\":%s}"
        "},{\"addresses\":[\"10.0.0.9\"],\"conditions\":{\"ready\":false}}]}",
        first, conditions);
    assert_int_equal(ki_testing_server_put(cluster, KI_ENDPOINTSLICES, json, (size_t)size, NULL), KI_OK);
}

EXAMPLES_TEST(a_cxx_router_answers_from_several_threads_while_its_table_changes) {
    static const char service[] =
        "{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"labels\":{\"router/host\":\"shop."
        "example.com\"}},\"spec\":{\"ports\":[{\"name\":\"http\",\"port\":80}]}}";
    static const char renamed[] = "{\"metadata\":{\"labels\":{\"router/host\":\"new.example.com\"}}}";
    ki_testing_server *cluster = NULL;
    char path[64], entry[96], answer[256];
    snprintf(path, sizeof path, "/tmp/ki-router-%d.kubeconfig", (int)getpid());
    snprintf(entry, sizeof entry, "KUBECONFIG=%s", path);
    assert_int_equal(ki_testing_server_new(NULL, &cluster, NULL), KI_OK);
    assert_int_equal(ki_testing_server_write_kubeconfig(cluster, path, NULL), KI_OK);
    assert_int_equal(ki_testing_server_put(cluster, KI_SERVICES, service, strlen(service), NULL), KI_OK);
    const char *const argv[] = { KI_TEST_EXAMPLES_DIR "/example-router-cc", "0", NULL };
    const char *const environment[] = { entry, NULL };
    assert_true(ki_process_start(&example, argv, environment, false));
    char address[64];
    snprintf(address, sizeof address, "%s", ki_process_expect(&example, "answering on 127.0.0.1:"));
    int fd = connect_to_router(address);

    put_slice(cluster, "10.0.0.1", "true");
    ask_router_until(fd, "shop.example.com\n", "10.0.0.1:8080");
    ask_router_until(fd, "shop/web\n", "10.0.0.1:8080");
    ask_router_until(fd, "shop/other\n", "none");

    atomic_bool stop = false;
    router_client clients[3];
    for (size_t i = 0; i < 3; i++) {
        clients[i] = (router_client){ .fd = connect_to_router(address), .stop = &stop };
        assert_int_equal(pthread_create(&clients[i].thread, NULL, ask_router_always, &clients[i]), 0);
    }
    for (int i = 0; i < 50; i++) {
        put_slice(cluster, i % 2 ? "10.0.0.1" : "10.0.0.2", i % 3 ? "true" : "null");
        ask_router_until(fd, "shop.example.com\n", i % 2 ? "10.0.0.1:8080" : "10.0.0.2:8080");
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < 3; i++) {
        pthread_join(clients[i].thread, NULL);
        close(clients[i].fd);
        assert_int_equal(clients[i].wrong, 0);
    }

    put_slice(cluster, "10.0.0.1", "false");
    ask_router_until(fd, "shop.example.com\n", "none");
    put_slice(cluster, "10.0.0.1", "true");
    assert_int_equal(ki_testing_server_patch(cluster, KI_SERVICES, "shop", "web", renamed, 0, NULL), KI_OK);
    ask_router_until(fd, "new.example.com\n", "10.0.0.1:8080");
    ask_router_until(fd, "shop.example.com\n", "none");
    assert_int_equal(ki_testing_server_delete(cluster, KI_SERVICES, "shop", "web", NULL), KI_OK);
    ask_router_until(fd, "new.example.com\n", "none");
    assert_true(ask_router(fd, "metrics\n", answer, sizeof answer));
    assert_non_null(strstr(answer, "router_services 0\nrouter_hosts 0"));
    ki_process_signal(&example, SIGTERM);
    assert_non_null(ki_process_expect(&example, "router_lookups_total "));
    assert_int_equal(ki_process_wait(&example), 0);
    close(fd);
    ki_testing_server_free(cluster);
    unlink(path);
}

/* Asks the agent for a container until its answer has `wanted`. */
static void ask_until(const char *id, const char *wanted) {
    for (;;) {
        assert_true(write(example.in, id, strlen(id)) == (ssize_t)strlen(id));
        const char *line = ki_process_line(&example);
        assert_non_null(line);
        if (strstr(line, wanted))
            return;
    }
}

EXAMPLES_TEST(an_agent_finds_the_pod_of_a_container_also_after_its_end) {
    static const char pod[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web\",\"namespace\":"
                              "\"shop\",\"labels\":{\"app\":\"w\"}},"
                              "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\",\"resources\":{"
                              "\"limits\":{\"memory\":\"1Gi\"}}}]},"
                              "\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"containerd://"
                              "5e1f\",\"restartCount\":2}]}}";
    ki_testing_server *pods = NULL;
    char path[64], entry[96];
    snprintf(path, sizeof path, "/tmp/ki-agent-%d.kubeconfig", (int)getpid());
    snprintf(entry, sizeof entry, "KUBECONFIG=%s", path);
    assert_int_equal(ki_testing_server_new(NULL, &pods, NULL), KI_OK);
    assert_int_equal(ki_testing_server_write_kubeconfig(pods, path, NULL), KI_OK);
    assert_int_equal(ki_testing_server_put(pods, KI_PODS, pod, strlen(pod), NULL), KI_OK);
    const char *const argv[] = { KI_TEST_EXAMPLES_DIR "/example-node-agent", NULL };
    const char *const environment[] = { entry, "NODE_NAME=n1", NULL };
    assert_true(ki_process_start(&example, argv, environment, false));
    ask_until("containerd://5e1f\n",
              "containerd://5e1f: shop/web, container main, 2 restarts, memory limit 1073741824, app=w");
    ask_until("containerd://0000\n", "containerd://0000: no object has container=containerd://0000");
    assert_int_equal(ki_testing_server_delete(pods, KI_PODS, "shop", "web", NULL), KI_OK);
    ask_until("containerd://5e1f\n", "shop/web (deleted), container main");
    ki_process_signal(&example, SIGTERM);
    assert_int_equal(ki_process_wait(&example), 0);
    ki_testing_server_free(pods);
    unlink(path);
}

EXAMPLES_TEST(an_informer_put_together_by_hand_prints_the_changes_of_its_own_source) {
    static const char *const lines[] = { "+ web", "+ db", "~ web", "- db" };
    const char *const argv[] = { KI_TEST_EXAMPLES_DIR "/example-by-hand", "--own", NULL };
    assert_true(ki_process_start(&example, argv, NULL, false));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_string_equal(ki_process_line(&example), lines[i]);
    ki_process_signal(&example, SIGINT);
    assert_string_equal(ki_process_line(&example), "n2: 1");
    assert_int_equal(ki_process_wait(&example), 0);
}

EXAMPLES_TEST(an_informer_put_together_by_hand_prints_the_pods_of_each_node) {
    int pods = 0, nodes = 0;
    start_example(KI_TEST_EXAMPLES_DIR "/example-by-hand");
    for (int i = 0; i < PODS; i++)
        assert_non_null(ki_process_expect(&example, "+ "));
    ki_process_signal(&example, SIGTERM);
    for (const char *line; (line = ki_process_line(&example)); nodes++)
        pods += atoi(strchr(line, ':') + 1);
    assert_int_equal(nodes, 4);
    assert_in_range(pods, PODS * 3 / 4, PODS); /* some fit on no node */
    assert_int_equal(ki_process_wait(&example), 0);
}

EXAMPLES_TEST(requests_need_neither_an_informer_nor_a_loop) {
    start_example(KI_TEST_EXAMPLES_DIR "/example-count-up");
    for (int i = 1; i <= 3; i++) {
        const char *line = ki_process_line(&example);
        assert_non_null(line);
        assert_int_equal(atoi(line), i);
    }
    assert_int_equal(ki_process_wait(&example), 0);
}

EXAMPLES_TEST(pods_are_found_by_node_and_by_ip) {
    char ip[64];
    start_example(KI_TEST_EXAMPLES_DIR "/example-lister-by-node-and-ip");
    assert_true(write(example.in, NODE_1 "\n", sizeof NODE_1) == sizeof NODE_1);
    const char *line = ki_process_expect(&example, " on " NODE_1 " with 10.");
    assert_non_null(line);
    snprintf(ip, sizeof ip, "%s\n", strstr(line, "10."));
    assert_true(write(example.in, ip, strlen(ip)) == (ssize_t)strlen(ip));
    assert_true(write(example.in, "10.255.255.255\n", 15) == 15);
    ip[strlen(ip) - 1] = '\0';
    assert_non_null(ki_process_expect(&example, ip));
    assert_non_null(ki_process_expect(&example, "no pod is on 10.255.255.255 or has that IP"));
    ki_process_close_in(&example);
    assert_int_equal(ki_process_wait(&example), 0);
}

EXAMPLES_TEST(an_example_without_a_cluster_says_so_and_fails) {
    const char *const argv[] = { KI_TEST_EXAMPLES_DIR "/example-watch-pods", NULL };
    const char *const environment[] = { "KUBECONFIG=/nonexistent/kubeconfig", "HOME=/nonexistent", NULL };
    assert_true(ki_process_start(&example, argv, environment, true));
    const char *line = ki_process_err_line(&example);
    assert_non_null(line);
    assert_non_null(strstr(line, "watch-pods: "));
    assert_int_equal(ki_process_wait(&example), 1);
}

TEST_GROUP(examples, set_up, tear_down);
