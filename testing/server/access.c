/* access.c: access to the embedded server (kinformer-testing/access.h), and its kubeconfig. */
#include <kinformer-testing/access.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/access/rbac.h"
#include "testing/server/own_request.h"
#include "testing/server/state.h"

#include <stdio.h>

/* ---- start ---- */

/* Writes the host of a listen address, without brackets and port. */
static void host_of(const char *listen, char *ret_host, size_t size) {
    ki_str rest, host = ki_str_of(listen);
    ret_host[0] = '\0';
    if (host.size && host.data[0] == '[')
        host = ki_str_split((ki_str){ host.data + 1, host.size - 1 }, ']', &rest);
    else if (listen && strchr(listen, ':') == strrchr(listen, ':'))
        host = ki_str_split(host, ':', &rest);
    if (host.size && host.size < size)
        snprintf(ret_host, size, "%.*s", (int)host.size, host.data);
}

static ki_status make_tls(ki_testing_server *server, const ki_testing_server_options *options, ki_error *err) {
    char host[64];
    if (options->tls_certificate || options->tls_key) {
        if (!options->tls_certificate || !options->tls_key)
            return ki_error_set(err, KI_ERR_INVALID, "a certificate needs its key, and a key its certificate");
        return kt_tls_load(&server->allocator, options->tls_certificate, options->tls_key, options->tls_ca,
                           &server->tls, err);
    }
    if (options->tls_ca)
        return ki_error_set(err, KI_ERR_INVALID, "a CA without a certificate and a key for the server");
    host_of(options->listen, host, sizeof host);
    return kt_tls_make(&server->allocator, host[0] ? host : NULL, &server->tls, err);
}

ki_status kt_server_prepare_access(ki_testing_server *server, const ki_testing_server_options *options, ki_error *err) {
    char line[KT_ADMIN_TOKEN_SIZE + 64];
    kt_auth *auth = kt_cluster_auth(server->cluster);
    ki_status status = KI_OK;
    if (options->tls || options->tls_certificate || options->tls_key || options->tls_ca)
        status = make_tls(server, options, err);
    if (!status && options->rbac) {
        auth->rbac = true;
        status = kt_rbac_add_defaults(server->cluster, kt_wall_ms(), err);
    }
    if (!status && (server->tls || options->rbac))
        status = kt_tls_make_token(server->token, sizeof server->token, err);
    if (status || !server->token[0])
        return status;
    snprintf(line, sizeof line, "token=%s,user=kinformer-admin,groups=system:masters", server->token);
    return kt_auth_add_token(auth, line, err);
}

/* ---- the kubeconfig ---- */

static void append_base64(ki_buffer *out, const char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = strlen(text);
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < size; i += 3) {
        unsigned second = i + 1 < size ? bytes[i + 1] : 0, third = i + 2 < size ? bytes[i + 2] : 0;
        unsigned all = (unsigned)bytes[i] << 16 | second << 8 | third;
        ki_buffer_append_char(out, digits[all >> 18]);
        ki_buffer_append_char(out, digits[all >> 12 & 63]);
        ki_buffer_append_char(out, i + 1 < size ? digits[all >> 6 & 63] : '=');
        ki_buffer_append_char(out, i + 2 < size ? digits[all & 63] : '=');
    }
}

/* Appends a user and its context, which have one name. `secret` empty: no token. */
static void append_user(ki_buffer *users, ki_buffer *contexts, ki_str name, ki_str secret) {
    ki_buffer_append_string(users, "- name: ");
    ki_buffer_append_json_string(users, name);
    ki_buffer_append_string(users, secret.size ? "\n  user:\n    token: " : "\n  user: {}");
    if (secret.size)
        ki_buffer_append_json_string(users, secret);
    ki_buffer_append_char(users, '\n');
    ki_buffer_append_string(contexts, "- name: ");
    ki_buffer_append_json_string(contexts, name);
    ki_buffer_append_string(contexts, "\n  context:\n    cluster: kinformer\n    user: ");
    ki_buffer_append_json_string(contexts, name);
    ki_buffer_append_char(contexts, '\n');
}

/* The kubeconfig has a context for the administrator, and one for each user of a token. Clients reject one in which a
 * name is there twice. */
ki_status kt_server_append_kubeconfig(const ki_testing_server *server, ki_buffer *out) {
    ki_buffer contexts;
    ki_str secret, user;
    ki_buffer_init(&contexts, &server->allocator, 0);
    ki_buffer_printf(out, "apiVersion: v1\nkind: Config\nclusters:\n- name: kinformer\n  cluster:\n    server: %s\n",
                     ki_testing_server_url(server));
    if (server->tls) {
        ki_buffer_append_string(out, "    certificate-authority-data: ");
        append_base64(out, server->tls->ca_pem);
        ki_buffer_append_char(out, '\n');
    } else { /* the JavaScript client needs this line */
        ki_buffer_append_string(out, "    insecure-skip-tls-verify: true\n");
    }
    ki_buffer_append_string(out, "users:\n");
    append_user(out, &contexts, KI_STR("kinformer"), ki_str_of(server->token));
    kt_streams_lock(server->streams);
    for (size_t at = 0; kt_auth_next_token(kt_cluster_auth(server->cluster), server->token, &at, &secret, &user);) {
        if (!ki_str_equals(user, "kinformer")) /* the administrator's */
            append_user(out, &contexts, user, secret);
    }
    kt_streams_unlock(server->streams);
    ki_buffer_append_string(out, "contexts:\n");
    ki_buffer_append(out, contexts.data, contexts.size);
    ki_status status = contexts.failed;
    ki_buffer_free(&contexts);
    ki_buffer_append_string(out, "current-context: kinformer\n");
    return status ? status : out->failed;
}

/* ---- while the server runs ---- */

const char *ki_testing_server_token(const ki_testing_server *server) {
    return server && server->token[0] ? server->token : NULL;
}

ki_status ki_testing_server_add_token(ki_testing_server *server, const char *token, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    if (!token)
        return ki_error_set(err, KI_ERR_INVALID, "no token");
    kt_streams_lock(server->streams);
    ki_status status = kt_auth_add_token(kt_cluster_auth(server->cluster), token, err);
    kt_streams_unlock(server->streams);
    return status;
}

ki_status ki_testing_server_remove_token(ki_testing_server *server, const char *secret, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    if (!secret)
        return ki_error_set(err, KI_ERR_INVALID, "no token");
    kt_streams_lock(server->streams);
    ki_status status = kt_auth_remove_token(kt_cluster_auth(server->cluster), secret, err);
    kt_streams_unlock(server->streams);
    return status;
}

ki_status ki_testing_server_allow(ki_testing_server *server, const char *rule, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    if (!rule)
        return ki_error_set(err, KI_ERR_INVALID, "no rule");
    kt_streams_lock(server->streams);
    ki_status status = kt_auth_add_rule(kt_cluster_auth(server->cluster), rule, err);
    kt_streams_unlock(server->streams);
    return status;
}

void ki_testing_server_clear_rules(ki_testing_server *server) {
    if (!server)
        return;
    kt_streams_lock(server->streams);
    kt_auth_clear_rules(kt_cluster_auth(server->cluster));
    kt_streams_unlock(server->streams);
}

static ki_status need_tls(const ki_testing_server *server, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    return server->tls ? KI_OK : ki_error_set(err, KI_ERR_STATE, "the server was started without TLS");
}

ki_status ki_testing_server_ca(ki_testing_server *server, ki_testing_text *ret_pem, ki_error *err) {
    ki_status status = ret_pem ? need_tls(server, err) : ki_error_set(err, KI_ERR_INVALID, "ret_pem is NULL");
    if (status)
        return status;
    ki_mutex_lock(&server->restarting);
    status = kt_text_copy(&server->allocator, ki_str_of(server->tls->ca_pem), ret_pem);
    ki_mutex_unlock(&server->restarting);
    return status ? ki_error_no_memory(err, "copying a certificate") : KI_OK;
}

ki_status ki_testing_server_issue_certificate(ki_testing_server *server, const char *user, const char *groups,
                                              int64_t seconds, ki_testing_text *ret_pem, ki_testing_text *ret_key,
                                              ki_error *err) {
    char *pem = NULL, *key = NULL;
    if (!user || !ret_pem || !ret_key)
        return ki_error_set(err, KI_ERR_INVALID, "a certificate needs a user, and a place for it and its key");
    ki_status status = need_tls(server, err);
    if (status)
        return status;
    ki_mutex_lock(&server->restarting);
    status = kt_tls_issue(server->tls, user, groups, seconds, &pem, &key, err);
    ki_mutex_unlock(&server->restarting);
    if (status)
        return status;
    *ret_pem = (ki_testing_text){ pem, strlen(pem), &server->allocator };
    *ret_key = (ki_testing_text){ key, strlen(key), &server->allocator };
    return KI_OK;
}

ki_status ki_testing_server_renew_certificate(ki_testing_server *server, bool new_ca, ki_error *err) {
    ki_status status = need_tls(server, err);
    if (status)
        return status;
    ki_mutex_lock(&server->restarting);
    status = kt_tls_renew(server->tls, new_ca, err);
    if (!status)
        status = kt_front_restart(server->front, 0, err);
    ki_mutex_unlock(&server->restarting);
    return status;
}

ki_status ki_testing_server_restart(ki_testing_server *server, int64_t down_ms, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    if (down_ms < 0 || down_ms > 24 * 60 * 60 * 1000)
        return ki_error_set(err, KI_ERR_INVALID, "%lld ms is no time to be down", (long long)down_ms);
    ki_mutex_lock(&server->restarting);
    ki_status status = kt_front_restart(server->front, down_ms, err);
    ki_mutex_unlock(&server->restarting);
    return status;
}
