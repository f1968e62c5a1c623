/* checkup.c: the checkup's steps for the configuration and the connection. requests.c has the steps that send
 * requests. */
#include "state.h"

#include "probe.h"
#include "src/base/error.h"
#include "src/engine/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_TIMEOUT_MS = 15000,
    DAY_S = 24 * 3600,
    EXPIRY_WARNING_DAYS = 30
};

const char *ki_check_step_name(ki_check_step step) {
    static const char *const names[KI_CHECK_STEPS] = { "configuration",  "name",     "tcp",      "tls",       "http",
                                                       "credentials",    "version",  "may-list", "may-watch", "list",
                                                       "streaming-list", "bookmarks" };
    return (unsigned)step < KI_CHECK_STEPS ? names[step] : NULL;
}

/* --- reporting ---------------------------------------------------------------------------------------------------- */

void ki_checkup_begin(ki_checkup_state *state, ki_check_step step) {
    state->check = (ki_check){ .step = step, .duration_us = -1 };
    state->began_ns = ki_engine_now(state->engine);
}

/* Replaces control characters: the text is printed as one line of a terminal. */
static void replace_controls(char *text) {
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    }
}

void ki_checkup_find(ki_checkup_state *state, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(state->check.finding, sizeof state->check.finding, format, args);
    va_end(args);
    replace_controls(state->check.finding);
}

void ki_checkup_remedy(ki_checkup_state *state, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(state->check.remedy, sizeof state->check.remedy, format, args);
    va_end(args);
    replace_controls(state->check.remedy);
}

void ki_checkup_end(ki_checkup_state *state, ki_check_result result) {
    state->check.result = result;
    if (state->check.duration_us < 0 && result != KI_CHECK_SKIPPED)
        state->check.duration_us = (ki_engine_now(state->engine) - state->began_ns) / 1000;
    state->on_check(&state->check, state->user);
}

void ki_checkup_skip(ki_checkup_state *state, ki_check_step step, const char *why) {
    ki_checkup_begin(state, step);
    ki_checkup_find(state, "%s", why);
    ki_checkup_end(state, KI_CHECK_SKIPPED);
}

/* --- the configuration -------------------------------------------------------------------------------------------- */

static void describe_configuration(ki_checkup_state *state) {
    const ki_config_description *d = &state->description;
    char from[KI_CHECK_TEXT_MAX] = "";
    if (d->is_in_cluster)
        snprintf(from, sizeof from, "the pod's service account");
    else if (d->files)
        snprintf(from, sizeof from, "%s%s%s%s%s", d->files, d->context ? ", context " : "",
                 d->context ? d->context : "", d->user ? ", user " : "", d->user ? d->user : "");
    else
        snprintf(from, sizeof from, "no kubeconfig");
    ki_checkup_find(state, "%s; server %s%s%s%s%s", from, d->server, d->proxy_url ? " through " : "",
                    d->proxy_url ? d->proxy_url : "", d->as ? ", acting as " : "", d->as ? d->as : "");
}

static ki_status check_configuration(ki_checkup_state *state, ki_error *err) {
    ki_error why = KI_ERROR_INIT;
    ki_checkup_begin(state, KI_CHECK_CONFIGURATION);
    ki_status status = state->make_config ? state->make_config(state->user, &state->config, &why)
                                          : ki_config_new_default(state->config_options, &state->config, &why);
    if (status == KI_ERR_NO_MEMORY) {
        if (err)
            *err = why;
        return status;
    }
    if (status) {
        ki_checkup_find(state, "%s", ki_error_message(&why));
        ki_checkup_remedy(state, "fix what the message names, or use another kubeconfig, context or server");
        ki_checkup_end(state, KI_CHECK_FAILED);
        state->is_lost = true;
        return KI_OK;
    }
    ki_config_describe(state->config, &state->description);
    if (!state->namespace_name)
        state->namespace_name = ki_config_namespace(state->config);
    describe_configuration(state);
    if (state->description.warnings)
        ki_checkup_remedy(state, "%s", state->description.warnings);
    ki_checkup_end(state, state->description.warnings ? KI_CHECK_WARNING : KI_CHECK_OK);
    return KI_OK;
}

/* --- the connection ----------------------------------------------------------------------------------------------- */

static void end_failed(ki_checkup_state *state, const ki_probe *probe, const char *remedy) {
    ki_checkup_find(state, "%s", ki_error_message(&probe->error));
    ki_checkup_remedy(state, "%s", remedy);
    ki_checkup_end(state, KI_CHECK_FAILED);
    state->is_lost = true;
}

static void check_name(ki_checkup_state *state, const ki_probe *probe) {
    ki_checkup_begin(state, KI_CHECK_NAME);
    state->check.duration_us = probe->duration_us[KI_PROBE_NAME];
    if (probe->failed == KI_PROBE_NAME) {
        end_failed(state, probe, "check the host in the server's address, and this machine's name service");
        return;
    }
    ki_checkup_find(state, "%s", probe->address[0] ? probe->address : "found");
    ki_checkup_end(state, KI_CHECK_OK);
}

static void check_tcp(ki_checkup_state *state, const ki_probe *probe) {
    ki_checkup_begin(state, KI_CHECK_TCP);
    state->check.duration_us = probe->duration_us[KI_PROBE_TCP];
    if (probe->failed == KI_PROBE_TCP) {
        bool is_ours = probe->error.category == KI_CATEGORY_FATAL;
        end_failed(state, probe,
                   is_ours ? "this process has too few descriptors: raise its limit (ulimit -n)"
                           : "check the address and the port, that the server is running, and firewalls in between");
        return;
    }
    if (!probe->address[0]) { /* libcurl 8 loads the certificates before it connects */
        ki_checkup_find(state, "not tried");
        ki_checkup_end(state, KI_CHECK_SKIPPED);
        return;
    }
    bool is_v6 = strchr(probe->address, ':') != NULL;
    ki_checkup_find(state, "connected to %s%s%s:%d", is_v6 ? "[" : "", probe->address, is_v6 ? "]" : "", probe->port);
    ki_checkup_end(state, KI_CHECK_OK);
}

static int64_t days_left(const ki_probe *probe) {
    return (probe->certificate.ends_s - probe->now_s) / DAY_S;
}

static void remedy_tls(ki_checkup_state *state, const ki_probe *probe) {
    const ki_probe_certificate *c = &probe->certificate;
    if (!probe->chain)
        ki_checkup_remedy(state, "check that the server's address is an https server, and check client-certificate");
    else if (c->ends_s && c->ends_s <= probe->now_s)
        ki_checkup_remedy(state,
                          "renew the server's certificate, which expired %lld days ago, or fix this machine's clock",
                          (long long)-days_left(probe));
    else if (c->begins_s > probe->now_s)
        ki_checkup_remedy(state,
                          "the server's certificate is not valid yet: fix this machine's clock, or the server's");
    else if (strstr(ki_error_message(&probe->error), "tls-server-name"))
        ki_checkup_remedy(state, "use a name in the certificate (%s), or set tls-server-name",
                          c->names[0] ? c->names : c->subject);
    else
        ki_checkup_remedy(state, "set certificate-authority to the certificate of its issuer: %s", c->issuer);
}

static void check_tls(ki_checkup_state *state, const ki_probe *probe) {
    const ki_probe_certificate *c = &probe->certificate;
    if (!probe->is_https) {
        ki_checkup_skip(state, KI_CHECK_TLS, "the server uses http: nothing is encrypted, and no credentials are sent");
        return;
    }
    ki_checkup_begin(state, KI_CHECK_TLS);
    state->check.duration_us = probe->duration_us[KI_PROBE_TLS];
    if (probe->failed == KI_PROBE_TLS) {
        ki_checkup_find(state, "%s", ki_error_message(&probe->error));
        remedy_tls(state, probe);
        ki_checkup_end(state, KI_CHECK_FAILED);
        state->is_lost = true;
        return;
    }
    bool ends_soon = c->ends_s && days_left(probe) < EXPIRY_WARNING_DAYS;
    bool in_hours = c->ends_s && days_left(probe) < 2;
    ki_checkup_find(
        state, "%s, issued by %s, valid for %lld %s%s", c->subject[0] ? c->subject : "a certificate", c->issuer,
        (long long)(in_hours ? (c->ends_s - probe->now_s) / 3600 : days_left(probe)), in_hours ? "hours" : "days",
        state->description.insecure_skip_tls_verify ? "; not verified because of insecure-skip-tls-verify" : "");
    if (state->description.insecure_skip_tls_verify)
        ki_checkup_remedy(state, "set certificate-authority in place of insecure-skip-tls-verify");
    else if (ends_soon)
        ki_checkup_remedy(state, "renew the server's certificate soon");
    ki_checkup_end(state, ends_soon || state->description.insecure_skip_tls_verify ? KI_CHECK_WARNING : KI_CHECK_OK);
}

static void check_http(ki_checkup_state *state, const ki_probe *probe) {
    ki_checkup_begin(state, KI_CHECK_HTTP);
    state->check.duration_us = probe->duration_us[KI_PROBE_HTTP];
    if (probe->failed == KI_PROBE_HTTP) {
        end_failed(state, probe,
                   probe->is_https ? "check that the address is a Kubernetes API server's"
                                   : "check that the address is a Kubernetes API server's; most use https://...");
        return;
    }
    int version = probe->http_version;
    ki_checkup_find(state, "HTTP/%d%s, status %d", version / 10,
                    version % 10    ? ".1"
                    : version == 10 ? ".0"
                                    : "",
                    probe->http_status);
    if (probe->http_status >= 500)
        ki_checkup_remedy(state, "the server or a proxy before it is failing: read its log");
    else if (probe->http_status == 400 && !probe->is_https)
        ki_checkup_remedy(state, "try https://..., which most API servers use");
    else if (version < 20 && probe->is_https)
        ki_checkup_remedy(state, "each watch needs its own connection; check for a proxy without HTTP/2");
    ki_checkup_end(state, state->check.remedy[0] ? KI_CHECK_WARNING : KI_CHECK_OK);
}

static ki_status check_connection(ki_checkup_state *state, ki_error *err) {
    static void (*const checks[])(ki_checkup_state * state, const ki_probe *probe) = { check_name, check_tcp, check_tls,
                                                                                       check_http };
    ki_probe probe;
    ki_status status = ki_probe_run(state->config, state->timeout_ms, &probe, err);
    for (int i = 0; !status && i < 4; i++) {
        if (state->is_lost)
            ki_checkup_skip(state, (ki_check_step)(KI_CHECK_NAME + i), "there is no connection");
        else
            checks[i](state, &probe);
    }
    return status;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

/* The credentials without a connection: a certificate that is not valid can be why there is none. */
static ki_status check_certificate_alone(ki_checkup_state *state, ki_error *err) {
    ki_check_result result;
    ki_checkup_begin(state, KI_CHECK_CREDENTIALS);
    ki_status status = ki_checkup_certificate(state, &result, err);
    if (status)
        return status;
    if (result == KI_CHECK_FAILED)
        ki_checkup_end(state, result);
    else
        ki_checkup_skip(state, KI_CHECK_CREDENTIALS, "there is no connection");
    return KI_OK;
}

static ki_status go(ki_checkup_state *state, ki_error *err) {
    ki_status status = check_configuration(state, err);
    if (status)
        return status;
    if (state->is_lost) {
        for (int step = KI_CHECK_NAME; step < KI_CHECK_STEPS; step++)
            ki_checkup_skip(state, (ki_check_step)step, "there is no configuration");
        return KI_OK;
    }
    status = check_connection(state, err);
    if (status)
        return status;
    if (!state->is_lost)
        return ki_checkup_ask(state, err);
    status = check_certificate_alone(state, err);
    for (int step = KI_CHECK_VERSION; !status && step < KI_CHECK_STEPS; step++)
        ki_checkup_skip(state, (ki_check_step)step, "there is no connection");
    return status;
}

ki_status ki_checkup(const ki_checkup_options *options, void (*on_check)(const ki_check *check, void *user), void *user,
                     ki_error *err) {
    ki_checkup_options given = { 0 };
    if (!on_check)
        return ki_error_set(err, KI_ERR_INVALID, "on_check is NULL");
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_checkup_options without a size: use KI_CHECKUP_OPTIONS()");
    if (options)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    ki_checkup_state state = { .config_options = given.config,
                               .make_config = given.make_config,
                               .resource = given.resource ? given.resource : KI_PODS,
                               .resource_name = given.resource_name,
                               .namespace_name = given.namespace_name,
                               .label_selector = given.label_selector,
                               .field_selector = given.field_selector,
                               .timeout_ms = given.timeout_ms > 0 ? given.timeout_ms : DEFAULT_TIMEOUT_MS,
                               .description = KI_CONFIG_DESCRIPTION_INIT,
                               .on_check = on_check,
                               .user = user };
    if (given.resource_name && ki_resource_find(given.resource_name)) {
        state.resource = ki_resource_find(given.resource_name);
        state.resource_name = NULL;
    }
    const ki_allocator *allocator = given.config ? given.config->allocator : NULL;
    ki_status status = ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = allocator), &state.engine, err);
    if (!status)
        status = go(&state, err);
    if (state.engine) { /* the client's callbacks must end before it is freed */
        ki_engine_stop(state.engine);
        ki_status joined = ki_engine_join(state.engine, NULL); /* cannot fail on this thread */
        (void)joined;
    }
    ki_resource_map_unref(state.map);
    ki_client_free(state.client);
    ki_config_free(state.config);
    ki_engine_free(state.engine);
    return status;
}
