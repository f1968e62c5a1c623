/* test_examples.c: the examples, run as a user would: against an API server, by a kubeconfig. */
#include "tests/support/process.h"
#include "tests/support/test.h"

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PODS = 40
};

static ki_process server, example;
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
        assert_non_null(ki_process_expect(&example, lines[i]));
    ki_process_signal(&example, SIGINT);
    assert_non_null(ki_process_expect(&example, "n2: 1"));
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
    assert_int_equal(pods, PODS);
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
    assert_true(write(example.in, "node-00001\n", 11) == 11);
    const char *line = ki_process_expect(&example, " on node-00001 with 10.");
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
