/* checkup.c: the way to the cluster, step by step: the configuration and the connection. What is asked over it: ask.c. */
#include "src/checkup/way.h"

#include "src/base/error.h"
#include "src/checkup/probe.h"
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

/* --- telling ---------------------------------------------------------------------------------------------------------------- */

void ki_checkup_begin(ki_checkup_way *way, ki_check_step step) {
    way->check = (ki_check){ .step = step, .duration_us = -1 };
    way->began_ns = ki_engine_now(way->engine);
}

/* A text for one line of a terminal, whatever a server wrote into it. */
static void tame(char *text) {
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    }
}

void ki_checkup_find(ki_checkup_way *way, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(way->check.finding, sizeof way->check.finding, format, args);
    va_end(args);
    tame(way->check.finding);
}

void ki_checkup_remedy(ki_checkup_way *way, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(way->check.remedy, sizeof way->check.remedy, format, args);
    va_end(args);
    tame(way->check.remedy);
}

void ki_checkup_end(ki_checkup_way *way, ki_check_result result) {
    way->check.result = result;
    if (way->check.duration_us < 0 && result != KI_CHECK_SKIPPED)
        way->check.duration_us = (ki_engine_now(way->engine) - way->began_ns) / 1000;
    way->on_check(&way->check, way->user);
}

void ki_checkup_skip(ki_checkup_way *way, ki_check_step step, const char *why) {
    ki_checkup_begin(way, step);
    ki_checkup_find(way, "%s", why);
    ki_checkup_end(way, KI_CHECK_SKIPPED);
}

/* --- the configuration ------------------------------------------------------------------------------------------------------ */

static void describe_configuration(ki_checkup_way *way) {
    const ki_config_description *d = &way->description;
    char from[KI_CHECK_TEXT_MAX] = "";
    if (d->is_in_cluster)
        snprintf(from, sizeof from, "the pod's service account");
    else if (d->files)
        snprintf(from, sizeof from, "%s%s%s%s%s", d->files, d->context ? ", context " : "",
                 d->context ? d->context : "", d->user ? ", user " : "", d->user ? d->user : "");
    else
        snprintf(from, sizeof from, "no kubeconfig");
    ki_checkup_find(way, "%s; server %s%s%s%s%s", from, d->server, d->proxy_url ? " through " : "",
                    d->proxy_url ? d->proxy_url : "", d->as ? ", acting as " : "", d->as ? d->as : "");
}

static ki_status check_configuration(ki_checkup_way *way, ki_error *err) {
    ki_error why = KI_ERROR_INIT;
    ki_checkup_begin(way, KI_CHECK_CONFIGURATION);
    ki_status status = way->make_config ? way->make_config(way->user, &way->config, &why)
                                        : ki_config_new_default(way->config_options, &way->config, &why);
    if (status == KI_ERR_NO_MEMORY) {
        if (err)
            *err = why;
        return status;
    }
    if (status) {
        ki_checkup_find(way, "%s", ki_error_message(&why));
        ki_checkup_remedy(way, "mend what the message names, or name another kubeconfig, context or server");
        ki_checkup_end(way, KI_CHECK_FAILED);
        way->is_lost = true;
        return KI_OK;
    }
    ki_config_describe(way->config, &way->description);
    if (!way->namespace_name)
        way->namespace_name = ki_config_namespace(way->config);
    describe_configuration(way);
    if (way->description.warnings)
        ki_checkup_remedy(way, "%s", way->description.warnings);
    ki_checkup_end(way, way->description.warnings ? KI_CHECK_WARNING : KI_CHECK_OK);
    return KI_OK;
}

/* --- the connection --------------------------------------------------------------------------------------------------------- */

static void end_failed(ki_checkup_way *way, const ki_probe *probe, const char *remedy) {
    ki_checkup_find(way, "%s", ki_error_message(&probe->error));
    ki_checkup_remedy(way, "%s", remedy);
    ki_checkup_end(way, KI_CHECK_FAILED);
    way->is_lost = true;
}

static void check_name(ki_checkup_way *way, const ki_probe *probe) {
    ki_checkup_begin(way, KI_CHECK_NAME);
    way->check.duration_us = probe->duration_us[KI_PROBE_NAME];
    if (probe->failed == KI_PROBE_NAME) {
        end_failed(way, probe, "check the host in the server's address, and this machine's name service");
        return;
    }
    ki_checkup_find(way, "%s", probe->address[0] ? probe->address : "found");
    ki_checkup_end(way, KI_CHECK_OK);
}

static void check_tcp(ki_checkup_way *way, const ki_probe *probe) {
    ki_checkup_begin(way, KI_CHECK_TCP);
    way->check.duration_us = probe->duration_us[KI_PROBE_TCP];
    if (probe->failed == KI_PROBE_TCP) {
        bool is_ours = probe->error.category == KI_CATEGORY_FATAL;
        end_failed(way, probe,
                   is_ours ? "the fault is on this side: let this process open more descriptors (ulimit -n)"
                           : "check the address and the port, that the server is running, and what stands between");
        return;
    }
    if (!probe->address[0]) { /* libcurl 8 has looked at what TLS needs before */
        ki_checkup_find(way, "not tried");
        ki_checkup_end(way, KI_CHECK_SKIPPED);
        return;
    }
    bool is_v6 = strchr(probe->address, ':') != NULL;
    ki_checkup_find(way, "connected to %s%s%s:%d", is_v6 ? "[" : "", probe->address, is_v6 ? "]" : "", probe->port);
    ki_checkup_end(way, KI_CHECK_OK);
}

static int64_t days_left(const ki_probe *probe) {
    return (probe->certificate.ends_s - probe->now_s) / DAY_S;
}

static void remedy_tls(ki_checkup_way *way, const ki_probe *probe) {
    const ki_probe_certificate *c = &probe->certificate;
    if (!probe->chain)
        ki_checkup_remedy(way, "is it an https server? Look at the server's address and at client-certificate");
    else if (c->ends_s && c->ends_s <= probe->now_s)
        ki_checkup_remedy(way,
                          "renew the server's certificate, which ended %lld days ago, or mend this machine's clock",
                          (long long)-days_left(probe));
    else if (c->begins_s > probe->now_s)
        ki_checkup_remedy(way, "the server's certificate is not valid yet: mend this machine's clock, or the server's");
    else if (strstr(ki_error_message(&probe->error), "tls-server-name"))
        ki_checkup_remedy(way, "use a name that the certificate is for (%s), or give tls-server-name",
                          c->names[0] ? c->names : c->subject);
    else
        ki_checkup_remedy(way, "certificate-authority must hold the one that issued it: %s", c->issuer);
}

static void check_tls(ki_checkup_way *way, const ki_probe *probe) {
    const ki_probe_certificate *c = &probe->certificate;
    if (!probe->is_https) {
        ki_checkup_skip(way, KI_CHECK_TLS, "the server is http: nothing is secret, and no credentials are sent");
        return;
    }
    ki_checkup_begin(way, KI_CHECK_TLS);
    way->check.duration_us = probe->duration_us[KI_PROBE_TLS];
    if (probe->failed == KI_PROBE_TLS) {
        ki_checkup_find(way, "%s", ki_error_message(&probe->error));
        remedy_tls(way, probe);
        ki_checkup_end(way, KI_CHECK_FAILED);
        way->is_lost = true;
        return;
    }
    bool ends_soon = c->ends_s && days_left(probe) < EXPIRY_WARNING_DAYS;
    bool in_hours = c->ends_s && days_left(probe) < 2;
    ki_checkup_find(way, "%s, issued by %s, good for %lld %s%s", c->subject[0] ? c->subject : "a certificate",
                    c->issuer, (long long)(in_hours ? (c->ends_s - probe->now_s) / 3600 : days_left(probe)),
                    in_hours ? "hours" : "days",
                    way->description.insecure_skip_tls_verify ? "; not checked, as insecure-skip-tls-verify says" : "");
    if (way->description.insecure_skip_tls_verify)
        ki_checkup_remedy(way, "give certificate-authority in place of insecure-skip-tls-verify");
    else if (ends_soon)
        ki_checkup_remedy(way, "have the server's certificate renewed soon");
    ki_checkup_end(way, ends_soon || way->description.insecure_skip_tls_verify ? KI_CHECK_WARNING : KI_CHECK_OK);
}

static void check_http(ki_checkup_way *way, const ki_probe *probe) {
    ki_checkup_begin(way, KI_CHECK_HTTP);
    way->check.duration_us = probe->duration_us[KI_PROBE_HTTP];
    if (probe->failed == KI_PROBE_HTTP) {
        end_failed(way, probe,
                   probe->is_https ? "is it a Kubernetes API server, or a proxy in front of one?"
                                   : "is it a Kubernetes API server, and does it speak https? Most do: https://...");
        return;
    }
    int version = probe->http_version;
    ki_checkup_find(way, "HTTP/%d%s, status %d", version / 10,
                    version % 10    ? ".1"
                    : version == 10 ? ".0"
                                    : "",
                    probe->http_status);
    if (probe->http_status >= 500)
        ki_checkup_remedy(way, "the server, or a proxy before it, is not well: look at its log");
    else if (probe->http_status == 400 && !probe->is_https)
        ki_checkup_remedy(way, "does it speak https? Most API servers do: https://...");
    else if (version < 20 && probe->is_https)
        ki_checkup_remedy(way,
                          "each watch takes a connection of its own; is there a proxy that does not speak HTTP/2?");
    ki_checkup_end(way, way->check.remedy[0] ? KI_CHECK_WARNING : KI_CHECK_OK);
}

static ki_status check_connection(ki_checkup_way *way, ki_error *err) {
    static void (*const checks[])(ki_checkup_way * way, const ki_probe *probe) = { check_name, check_tcp, check_tls,
                                                                                   check_http };
    ki_probe probe;
    ki_status status = ki_probe_run(way->config, way->timeout_ms, &probe, err);
    for (int i = 0; !status && i < 4; i++) {
        if (way->is_lost)
            ki_checkup_skip(way, (ki_check_step)(KI_CHECK_NAME + i), "there is no connection");
        else
            checks[i](way, &probe);
    }
    return status;
}

/* --- all -------------------------------------------------------------------------------------------------------------------- */

static ki_status go(ki_checkup_way *way, ki_error *err) {
    ki_status status = check_configuration(way, err);
    if (status)
        return status;
    if (way->is_lost) {
        for (int step = KI_CHECK_NAME; step < KI_CHECK_STEPS; step++)
            ki_checkup_skip(way, (ki_check_step)step, "there is no configuration");
        return KI_OK;
    }
    status = check_connection(way, err);
    if (status)
        return status;
    if (!way->is_lost)
        return ki_checkup_ask(way, err);
    for (int step = KI_CHECK_CREDENTIALS; step < KI_CHECK_STEPS; step++)
        ki_checkup_skip(way, (ki_check_step)step, "there is no connection");
    return KI_OK;
}

ki_status ki_checkup(const ki_checkup_options *options, void (*on_check)(const ki_check *check, void *user), void *user,
                     ki_error *err) {
    ki_checkup_options given = { 0 };
    if (!on_check)
        return ki_error_set(err, KI_ERR_INVALID, "nobody to tell of a checkup");
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_checkup_options without a size: use KI_CHECKUP_OPTIONS()");
    if (options)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    ki_checkup_way way = { .config_options = given.config,
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
        way.resource = ki_resource_find(given.resource_name);
        way.resource_name = NULL;
    }
    const ki_allocator *allocator = given.config ? given.config->allocator : NULL;
    ki_status status = ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = allocator), &way.engine, err);
    if (!status)
        status = go(&way, err);
    if (way.engine) { /* the client's callbacks are over before it goes */
        ki_engine_stop(way.engine);
        ki_status joined = ki_engine_join(way.engine, NULL); /* cannot fail on this thread */
        (void)joined;
    }
    ki_resource_map_unref(way.map);
    ki_client_free(way.client);
    ki_config_free(way.config);
    ki_engine_free(way.engine);
    return status;
}
