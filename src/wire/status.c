/* status.c: converts a server's error response to a ki_error. */
#include "src/wire/status.h"

#include "src/base/error.h"

#include <stdio.h>

static const char too_large_message[] = "Too large resource version";

/* Servers up to 1.18.5 send this cause without a reason, only with the message. */
static bool has_too_large_cause(yyjson_val *details) {
    size_t index, count;
    yyjson_val *cause;
    yyjson_arr_foreach(yyjson_obj_get(details, "causes"), index, count, cause) {
        if (ki_str_equals(ki_json_string(cause, "reason"), "ResourceVersionTooLarge") ||
            ki_str_equals(ki_json_string(cause, "message"), too_large_message))
            return true;
    }
    return false;
}

static ki_category category_of(int http_status, const char *reason) {
    switch (http_status) {
    case 401:
    case 403:
        return KI_CATEGORY_CREDENTIALS;
    case 409:
        return strcmp(reason, "AlreadyExists") == 0 ? KI_CATEGORY_REQUEST : KI_CATEGORY_RETRY;
    case 408:
    case 429:
    case 503:
    case 504:
        return KI_CATEGORY_RETRY;
    default:
        if (strcmp(reason, "Timeout") == 0)
            return KI_CATEGORY_RETRY;
        return http_status >= 400 && http_status < 500 ? KI_CATEGORY_REQUEST : KI_CATEGORY_SERVER;
    }
}

/* Copies text onto one line: control characters become spaces. Does not cut inside a UTF-8 character. */
static void copy_line(char *to, size_t size, ki_str from) {
    size_t used = from.size;
    if (used >= size) {
        used = size - 1;
        while (used && ((unsigned char)from.data[used] & 0xC0) == 0x80)
            used--;
    }
    for (size_t i = 0; i < used; i++) {
        unsigned char c = (unsigned char)from.data[i];
        to[i] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    while (used && to[used - 1] == ' ')
        used--;
    to[used] = '\0';
}

int64_t ki_status_retry_after_ms(yyjson_val *root, int64_t header_ms) {
    yyjson_val *seconds = yyjson_obj_get(yyjson_obj_get(root, "details"), "retryAfterSeconds");
    bool has_some = yyjson_is_uint(seconds) && yyjson_get_uint(seconds) > 0 && yyjson_get_uint(seconds) <= INT32_MAX;
    return header_ms < 0 && has_some ? (int64_t)yyjson_get_uint(seconds) * 1000 : header_ms;
}

/* Fills `err` from a Status; returns false if the body is not a Status. */
static bool read_status(yyjson_val *root, ki_error *err, bool *ret_too_large) {
    if (!ki_str_equals(ki_json_string(root, "kind"), "Status"))
        return false;
    copy_line(err->reason, sizeof err->reason, ki_json_string(root, "reason"));
    copy_line(err->message, sizeof err->message, ki_json_string(root, "message"));
    yyjson_val *code = yyjson_obj_get(root, "code");
    if (!err->http_status && yyjson_is_uint(code) && yyjson_get_uint(code) < 1000)
        err->http_status = (int)yyjson_get_uint(code);
    err->retry_after_ms = ki_status_retry_after_ms(root, err->retry_after_ms);
    *ret_too_large = (strcmp(err->reason, "Timeout") == 0 && has_too_large_cause(yyjson_obj_get(root, "details"))) ||
                     strstr(err->message, too_large_message);
    return true;
}

static ki_status code_of(const ki_error *err, bool too_large) {
    if (too_large)
        return KI_ERR_TOO_LARGE_RV;
    if (err->http_status == 410 || strcmp(err->reason, "Expired") == 0 || strcmp(err->reason, "Gone") == 0)
        return KI_ERR_EXPIRED;
    return KI_ERR_HTTP;
}

static void describe(ki_error *err, ki_str body) {
    char number[32] = "the server reported an error";
    if (err->http_status)
        snprintf(number, sizeof number, "HTTP %d", err->http_status);
    char text[KI_ERROR_MESSAGE_MAX / 2];
    copy_line(text, sizeof text, err->reason[0] ? ki_str_of(err->reason) : body);
    snprintf(err->message, sizeof err->message, "%s%s%s", number, text[0] ? ": " : "", text);
}

ki_status ki_status_to_error(const ki_allocator *allocator, int http_status, ki_str body, int64_t header_retry_after_ms,
                             ki_error *err) {
    ki_error result = KI_ERROR_INIT;
    result.http_status = http_status;
    result.retry_after_ms = header_retry_after_ms < 0 ? -1 : header_retry_after_ms;
    if (body.size > KI_STATUS_BODY_MAX)
        body.size = KI_STATUS_BODY_MAX;
    bool too_large = false, is_status = false;
    yyjson_doc *doc = NULL;
    /* Without memory, or if it is not JSON, the body is used as text: the error must be reported in any case. */
    if (body.size && *body.data == '{' && ki_json_parse(allocator, body, &doc, NULL) == KI_OK) {
        is_status = read_status(yyjson_doc_get_root(doc), &result, &too_large);
        yyjson_doc_free(doc);
    }
    if (!result.message[0])
        describe(&result, is_status ? KI_STR("") : body);
    result.code = code_of(&result, too_large || (!is_status && strstr(result.message, too_large_message)));
    result.category =
        result.code == KI_ERR_HTTP ? category_of(result.http_status, result.reason) : ki_category_of(result.code);
    if (err)
        *err = result;
    return result.code;
}
