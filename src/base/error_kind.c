/* error_kind.c: the predicates of error responses. The reason decides. For an unknown or missing reason the HTTP status
 * decides, as in client-go, because a proxy sends no reason. */
#include <kinformer/error.h>

#include <string.h>

static const char *const known[] = {
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Invalid",
    "ServerTimeout",
    "StoreReadError",
    "Timeout",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
    "InternalError",
    "Expired",
    "ServiceUnavailable",
};

static bool is_known(const char *reason) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(reason, known[i]) == 0)
            return true;
    }
    return false;
}

static bool has_reason(const ki_error *err, const char *reason) {
    return err && strcmp(err->reason, reason) == 0;
}

static bool is(const ki_error *err, const char *reason, int http_status) {
    return has_reason(err, reason) || (err && err->http_status == http_status && !is_known(err->reason));
}

bool ki_error_is_foreign(const ki_error *err) {
    static const char no_such_path[] = "404 page not found"; /* kube-apiserver's response to an unknown path */
    if (!err)
        return false;
    if (err->code == KI_ERR_PROTOCOL || err->code == KI_ERR_PARSE)
        return true;
    int status = err->http_status;
    bool can_be_a_proxy_s = status == 401 || status == 403 || status == 429 || (status >= 500 && status != 501);
    return status >= 300 && !can_be_a_proxy_s && !err->reason[0] && !strstr(err->message, no_such_path);
}

bool ki_error_is_not_found(const ki_error *err) {
    return is(err, "NotFound", 404);
}

bool ki_error_is_already_exists(const ki_error *err) {
    return has_reason(err, "AlreadyExists");
}

bool ki_error_is_conflict(const ki_error *err) {
    return is(err, "Conflict", 409);
}

bool ki_error_is_invalid(const ki_error *err) {
    return is(err, "Invalid", 422);
}

bool ki_error_is_bad_request(const ki_error *err) {
    return is(err, "BadRequest", 400);
}

bool ki_error_is_unauthorized(const ki_error *err) {
    return is(err, "Unauthorized", 401);
}

bool ki_error_is_forbidden(const ki_error *err) {
    return is(err, "Forbidden", 403);
}

bool ki_error_is_method_not_supported(const ki_error *err) {
    return is(err, "MethodNotAllowed", 405);
}

bool ki_error_is_not_acceptable(const ki_error *err) {
    return is(err, "NotAcceptable", 406);
}

bool ki_error_is_unsupported_media_type(const ki_error *err) {
    return is(err, "UnsupportedMediaType", 415);
}

bool ki_error_is_request_too_large(const ki_error *err) {
    return is(err, "RequestEntityTooLarge", 413);
}

bool ki_error_is_gone(const ki_error *err) {
    return is(err, "Gone", 410);
}

bool ki_error_is_expired(const ki_error *err) {
    return has_reason(err, "Expired");
}

bool ki_error_is_too_many_requests(const ki_error *err) {
    return has_reason(err, "TooManyRequests") || (err && err->http_status == 429);
}

bool ki_error_is_timeout(const ki_error *err) {
    return is(err, "Timeout", 504) || (err && err->code == KI_ERR_TIMEOUT);
}

bool ki_error_is_server_timeout(const ki_error *err) {
    return has_reason(err, "ServerTimeout");
}

bool ki_error_is_service_unavailable(const ki_error *err) {
    return is(err, "ServiceUnavailable", 503);
}

bool ki_error_is_internal(const ki_error *err) {
    return is(err, "InternalError", 500);
}
