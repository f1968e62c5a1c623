/* test_host_config.c: the options of a configuration that are for host programs, against the embedded server over real
 * sockets. */
#include <kinformer-testing/access.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "tests/support/folder.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    PATIENCE_MS = 60000
};

static ki_testing_server *server;

static int start_server(void **state) {
    if (folder_open(state) || ki_testing_server_new(NULL, &server, NULL))
        return 1;
    return ki_testing_server_add_token(server, "token=host-token,user=host", NULL) != KI_OK;
}

static int stop_server(void **state) {
    ki_testing_server_free(server);
    return folder_close(state);
}

#define HOST_TEST(name) TEST_WITH(start_server, stop_server, name)

static ki_factory *new_factory(const ki_config_options *options) {
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_config_new(options, &config, &err) ||
        ki_factory_new(config, &KI_FACTORY_OPTIONS(.backoff_first_ms = 10, .backoff_longest_ms = 20), &factory, &err))
        fail_msg("%s", ki_error_message(&err));
    ki_config_free(config);
    return factory;
}

HOST_TEST(a_token_goes_by_http_to_this_machine_if_the_program_says_so) {
    ki_informer *pods = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory =
        new_factory(&KI_CONFIG_OPTIONS(.no_kubeconfig = true, .server = ki_testing_server_url(server),
                                       .token = "host-token", .credentials_over_loopback_http = true));
    assert_int_equal(ki_factory_informer(factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    if (ki_informer_wait_for_sync(pods, PATIENCE_MS, &err))
        fail_msg("%s", ki_error_message(&err));
    ki_factory_free(factory);
}

typedef struct story {
    const char *path;
    int blocked;
} story;

/* Writes the token once the informer has said that it has none. */
static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    story *self = user;
    (void)informer;
    if (health->state != KI_STATE_BLOCKED)
        return;
    if (self->blocked++ == 0) {
        assert_non_null(strstr(health->message, " does not exist"));
        folder_write("late-token", "host-token\n");
    }
}

HOST_TEST(an_informer_syncs_once_its_token_file_has_appeared) {
    story self = { .path = folder_file("late-token") };
    ki_informer *pods = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = new_factory(&KI_CONFIG_OPTIONS(.no_kubeconfig = true, .server = ki_testing_server_url(server),
                                                         .token_file = self.path, .token_file_may_be_missing = true,
                                                         .credentials_over_loopback_http = true));
    assert_int_equal(ki_factory_informer(factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    assert_int_equal(ki_informer_set_state_handler(pods, on_state, &self, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    if (ki_informer_wait_for_sync(pods, PATIENCE_MS, &err))
        fail_msg("%s", ki_error_message(&err));
    ki_factory_free(factory);
    assert_true(self.blocked > 0);
}
