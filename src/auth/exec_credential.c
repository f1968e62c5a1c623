/* exec_credential.c: writes the input of a credential plugin and parses its output. */
#include "src/auth/exec_credential.h"

#include "src/auth/key_pair.h"
#include "src/auth/pem.h"
#include "src/base/base64.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/rfc3339.h"
#include "src/object/json.h"

static void append_text_field(ki_buffer *out, const char *name, ki_str value) {
    ki_buffer_printf(out, ",\"%s\":", name);
    ki_buffer_append_json_string(out, value);
}

static void append_cluster(const ki_config *config, ki_buffer *out) {
    ki_buffer_append_string(out, ",\"cluster\":{\"server\":");
    ki_buffer_append_json_string(out, ki_secret_text(&config->server));
    if (config->tls_server_name.data)
        append_text_field(out, "tls-server-name", ki_secret_text(&config->tls_server_name));
    if (config->insecure_skip_tls_verify)
        ki_buffer_append_string(out, ",\"insecure-skip-tls-verify\":true");
    if (config->ca.data) {
        ki_buffer_append_string(out, ",\"certificate-authority-data\":\"");
        ki_base64_encode(out, ki_secret_text(&config->ca));
        ki_buffer_append_char(out, '"');
    }
    if (config->proxy_url.data)
        append_text_field(out, "proxy-url", ki_secret_text(&config->proxy_url));
    if (config->disable_compression)
        ki_buffer_append_string(out, ",\"disable-compression\":true");
    if (config->exec.cluster_extension.data) {
        ki_buffer_append_string(out, ",\"config\":");
        ki_buffer_append_view(out, ki_secret_text(&config->exec.cluster_extension));
    }
    ki_buffer_append_char(out, '}');
}

ki_status ki_exec_request(const ki_config *config, ki_buffer *out) {
    ki_buffer_append_string(out, "{\"kind\":\"ExecCredential\",\"apiVersion\":");
    ki_buffer_append_json_string(out, ki_secret_text(&config->exec.api_version));
    ki_buffer_append_string(out, ",\"spec\":{\"interactive\":false");
    if (config->exec.provide_cluster_info)
        append_cluster(config, out);
    ki_buffer_append_string(out, "}}");
    return out->failed;
}

void ki_exec_result_clear(const ki_allocator *allocator, ki_exec_result *result) {
    ki_secret_clear(allocator, &result->token);
    ki_secret_clear(allocator, &result->certificate);
    ki_secret_clear(allocator, &result->key);
}

/* --- the output --------------------------------------------------------------------------------------------------- */

static ki_status take_secret(const ki_allocator *allocator, yyjson_val *status, const char *name, ki_secret *ret_secret,
                             ki_error *err) {
    ki_str text = ki_json_string(status, name);
    if (!text.data && yyjson_obj_get(status, name) && !yyjson_is_null(yyjson_obj_get(status, name)))
        return ki_error_set(err, KI_ERR_CONFIG, "its status.%s is not a string", name);
    return text.size ? ki_secret_set(allocator, ret_secret, text, err) : KI_OK;
}

static ki_status check_pair(const ki_allocator *allocator, const ki_exec_result *result, ki_error *err) {
    ki_str certificate = ki_secret_text(&result->certificate), key = ki_secret_text(&result->key);
    ki_key_pair pair;
    if (!ki_pem_has_block(certificate) || !ki_pem_has_block(key))
        return ki_error_set(err, KI_ERR_CONFIG, "its status.%s has no PEM block (-----BEGIN ...)",
                            ki_pem_has_block(certificate) ? "clientKeyData" : "clientCertificateData");
    ki_status status = ki_key_pair_compare(allocator, certificate, key, &pair, err);
    if (status || pair == KI_KEY_PAIR_FITS || pair == KI_KEY_PAIR_UNKNOWN)
        return status;
    return ki_error_set(err, KI_ERR_CONFIG, "its status.clientKeyData is not the key of its clientCertificateData");
}

static ki_status take_status(const ki_allocator *allocator, yyjson_val *status, ki_exec_result *result, ki_error *err) {
    if (!yyjson_is_obj(status))
        return ki_error_set(err, KI_ERR_CONFIG, "its output has no status");
    ki_status failed = take_secret(allocator, status, "token", &result->token, err);
    if (!failed)
        failed = take_secret(allocator, status, "clientCertificateData", &result->certificate, err);
    if (!failed)
        failed = take_secret(allocator, status, "clientKeyData", &result->key, err);
    if (failed)
        return failed;
    if (!result->token.data && !result->certificate.data && !result->key.data)
        return ki_error_set(err, KI_ERR_CONFIG,
                            "its status has neither token nor clientCertificateData and clientKeyData");
    if (!result->certificate.data != !result->key.data)
        return ki_error_set(err, KI_ERR_CONFIG,
                            "its status has only one of clientCertificateData and clientKeyData; both are required");
    if (result->key.data)
        failed = check_pair(allocator, result, err);
    if (failed)
        return failed;
    if (ki_secret_has_control(&result->token))
        return ki_error_set(err, KI_ERR_CONFIG, "its status.token has a line end or another control character");
    if (result->token.size > KI_CONFIG_HEADER_LIMIT)
        return ki_error_set(err, KI_ERR_CONFIG, "its status.token is longer than %d bytes", KI_CONFIG_HEADER_LIMIT);
    yyjson_val *date = yyjson_obj_get(status, "expirationTimestamp");
    if (!date || yyjson_is_null(date))
        return KI_OK;
    int64_t nanoseconds;
    if (!ki_rfc3339_parse(ki_json_string(status, "expirationTimestamp"), &result->expires, &nanoseconds))
        return ki_error_set(err, KI_ERR_CONFIG,
                            "its status.expirationTimestamp is not a date such as 2030-01-02T15:04:05Z");
    return KI_OK;
}

static ki_status check_head(yyjson_val *root, const char *api_version, ki_error *err) {
    ki_str version = ki_json_string(root, "apiVersion"), kind = ki_json_string(root, "kind");
    if (!ki_str_equals(kind, "ExecCredential"))
        return ki_error_set(err, KI_ERR_CONFIG, "its output has the kind \"%.*s\", not ExecCredential",
                            kind.size < 64 ? (int)kind.size : 64, kind.data ? kind.data : "");
    if (!ki_str_equals(version, api_version))
        return ki_error_set(err, KI_ERR_CONFIG, "its output has the apiVersion \"%.*s\", the kubeconfig requires %s",
                            version.size < 64 ? (int)version.size : 64, version.data ? version.data : "", api_version);
    return KI_OK;
}

ki_status ki_exec_result_parse(const ki_allocator *allocator, const char *api_version, ki_str output,
                               ki_exec_result *ret_result, ki_error *err) {
    ki_exec_result result = { .expires = INT64_MAX };
    bool is_blank = true;
    for (size_t i = 0; i < output.size && is_blank; i++)
        is_blank = output.data[i] != '\0' && strchr(" \t\r\n", output.data[i]);
    if (is_blank)
        return ki_error_set(err, KI_ERR_CONFIG, "it printed nothing");
    /* Parsed in place: the strings are then in memory that can be wiped. */
    char *text = ki_alloc_zero(allocator, output.size + YYJSON_PADDING_SIZE);
    if (!text)
        return ki_error_no_memory(err, "reading credentials");
    memcpy(text, output.data, output.size);
    yyjson_doc *doc = NULL;
    ki_status status = ki_json_parse_in_place(allocator, text, output.size, &doc, NULL);
    if (status == KI_ERR_NO_MEMORY)
        ki_error_no_memory(err, "reading credentials");
    else if (status)
        status = ki_error_set(err, KI_ERR_CONFIG, "its output is not JSON"); /* KI_ERR_PARSE is a response's */
    if (!status)
        status = check_head(yyjson_doc_get_root(doc), api_version, err);
    if (!status)
        status = take_status(allocator, yyjson_obj_get(yyjson_doc_get_root(doc), "status"), &result, err);
    yyjson_doc_free(doc);
    ki_wipe(text, output.size);
    ki_free(allocator, text);
    if (status) {
        ki_exec_result_clear(allocator, &result);
        return status;
    }
    *ret_result = result;
    return KI_OK;
}
