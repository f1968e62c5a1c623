/* print_metrics.c: prints the metrics of an informer, a controller and an elector, after ten reconciles, as a scraper
 * gets them: for the parser of tests/integration/openmetrics.py. Every tenth reconcile fails. */
#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <string.h>

enum {
    PODS = 10
};

/* A name with everything that a label's value escapes. */
static const char name[] = "a \"name\" \\ of\ntwo lines";

typedef struct program {
    ki_testing_server *server;
    ki_config *config;
    ki_factory *factory;
    ki_elector *elector;
    ki_controller *controller;
    int reconciles; /* by the one worker */
} program;

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    program *self = user;
    (void)key, (void)err;
    if (++self->reconciles < PODS)
        return KI_OK;
    ki_reconcile_set_terminal(call);
    ki_factory_stop(self->factory);
    return KI_ERR_INVALID;
}

static void on_event(const ki_event *event, void *user) {
    (void)event, (void)user;
}

static ki_status set_up(program *self, ki_error *err) {
    const ki_handler handler = { .on_add = on_event };
    ki_informer *pods = NULL;
    ki_status status = ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = PODS), &self->server, err);
    if (!status)
        status = ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(self->server)), &self->config, err);
    if (!status)
        status = ki_factory_new(self->config, NULL, &self->factory, err);
    if (!status)
        status = ki_factory_informer(self->factory, KI_PODS, NULL, &pods, err);
    if (!status)
        status = ki_informer_add_handler(pods, &handler, NULL, &KI_REGISTRATION_OPTIONS(.name = name), NULL, err);
    if (!status)
        status = ki_elector_new(self->factory, &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock"),
                                &self->elector, err);
    if (!status)
        status = ki_controller_new(
            self->factory,
            &KI_CONTROLLER_OPTIONS(.name = name, .reconcile = reconcile, .user = self, .elector = self->elector),
            &self->controller, err);
    return status ? status : ki_controller_watch(self->controller, pods, NULL, err);
}

int main(void) {
    program self = { .reconciles = 0 };
    ki_error err = KI_ERROR_INIT;
    char *text = NULL;
    if (set_up(&self, &err) || ki_factory_run(self.factory, &err) || ki_factory_metrics_text(self.factory, &text, &err))
        fprintf(stderr, "print_metrics: %s\n", ki_error_message(&err));
    else
        fputs(text, stdout);
    ki_metrics_text_free(text);
    ki_controller_free(self.controller);
    ki_elector_free(self.elector);
    ki_factory_free(self.factory);
    ki_config_free(self.config);
    ki_testing_server_free(self.server);
    return err.code ? 1 : 0;
}
