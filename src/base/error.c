/* error.c: sets ki_error; the names of statuses and categories. */
#include "src/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct status_info {
    const char *name;
    ki_category category;
} status_info;

static const status_info statuses[] = {
    [KI_OK] = { "ok", KI_CATEGORY_NONE },
    [KI_ERR_NO_MEMORY] = { "out of memory", KI_CATEGORY_FATAL },
    [KI_ERR_INVALID] = { "invalid argument", KI_CATEGORY_REQUEST },
    [KI_ERR_STATE] = { "wrong state", KI_CATEGORY_REQUEST },
    [KI_ERR_DEADLOCK] = { "would deadlock", KI_CATEGORY_REQUEST },
    [KI_ERR_LIMIT] = { "limit reached", KI_CATEGORY_REQUEST },
    [KI_ERR_PARSE] = { "malformed", KI_CATEGORY_REQUEST },
    [KI_ERR_NOT_FOUND] = { "not found", KI_CATEGORY_REQUEST },
    [KI_ERR_EXISTS] = { "exists", KI_CATEGORY_REQUEST },
    [KI_ERR_SYSTEM] = { "system call failed", KI_CATEGORY_FATAL },
    [KI_ERR_CONNECT] = { "no connection", KI_CATEGORY_RETRY },
    [KI_ERR_TLS] = { "tls failure", KI_CATEGORY_CREDENTIALS },
    [KI_ERR_PROTOCOL] = { "protocol violation", KI_CATEGORY_SERVER },
    [KI_ERR_TIMEOUT] = { "timeout", KI_CATEGORY_RETRY },
    [KI_ERR_CANCELLED] = { "cancelled", KI_CATEGORY_NONE },
    [KI_ERR_HTTP] = { "http error", KI_CATEGORY_SERVER },
    [KI_ERR_EXPIRED] = { "expired", KI_CATEGORY_RETRY },
    [KI_ERR_TOO_LARGE_RV] = { "resource version too large", KI_CATEGORY_RETRY },
    [KI_ERR_CONFIG] = { "bad configuration", KI_CATEGORY_REQUEST },
    [KI_ERR_UNEXPECTED_EOF] = { "unexpected EOF", KI_CATEGORY_RETRY },
    [KI_ERR_UNSUPPORTED] = { "unsupported", KI_CATEGORY_REQUEST },
    [KI_ERR_CLOSED] = { "closed", KI_CATEGORY_REQUEST },
    [KI_ERR_END] = { "past the end", KI_CATEGORY_REQUEST },
};

static const status_info *info_of(ki_status status) {
    size_t index = (size_t)status;
    return index < sizeof statuses / sizeof *statuses ? &statuses[index] : NULL;
}

const char *ki_status_name(ki_status status) {
    const status_info *info = info_of(status);
    return info ? info->name : "unknown status";
}

ki_category ki_category_of(ki_status code) {
    const status_info *info = info_of(code);
    return info ? info->category : KI_CATEGORY_NONE;
}

const char *ki_category_name(ki_category category) {
    switch (category) {
    case KI_CATEGORY_NONE:
        return "none";
    case KI_CATEGORY_RETRY:
        return "try again";
    case KI_CATEGORY_CREDENTIALS:
        return "fix your credentials or permissions";
    case KI_CATEGORY_REQUEST:
        return "fix your request";
    case KI_CATEGORY_SERVER:
        return "the server's fault";
    case KI_CATEGORY_FATAL:
        return "fatal";
    }
    return "unknown category";
}

const char *ki_error_message(const ki_error *err) {
    if (!err)
        return ki_status_name(KI_OK);
    return err->message[0] ? err->message : ki_status_name(err->code);
}

void ki_error_clear(ki_error *err) {
    if (!err)
        return;
    memset(err, 0, sizeof *err);
    err->retry_after_ms = -1;
}

/* Sets an error. The old message can be an argument, so the new message is written to a separate buffer first. */
static void KI_PRINTF(3, 0) set(ki_error *err, ki_status code, const char *format, va_list args) {
    char message[KI_ERROR_MESSAGE_MAX];
    if (vsnprintf(message, sizeof message, format, args) < 0)
        message[0] = '\0';
    ki_error_clear(err);
    err->code = code;
    err->category = ki_category_of(code);
    memcpy(err->message, message, strlen(message) + 1);
}

ki_status ki_error_set(ki_error *err, ki_status code, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        set(err, code, format, args);
        va_end(args);
    }
    return code;
}

/* glibc's strerror_r returns the text; the POSIX function writes it into the buffer. */
static const char *text_of_errno(int number, char *buffer, size_t size) {
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
    return strerror_r(number, buffer, size);
#else
    if (strerror_r(number, buffer, size) != 0)
        snprintf(buffer, size, "error %d", number);
    return buffer;
#endif
}

ki_status ki_error_set_errno(ki_error *err, ki_status code, int number, const char *format, ...) {
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    set(err, code, format, args);
    va_end(args);
    char buffer[128];
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ": %s", text_of_errno(number, buffer, sizeof buffer));
    return code;
}

void ki_error_prefix(ki_error *err, const char *format, ...) {
    if (!err)
        return;
    char message[KI_ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    int written = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    size_t used = written < 0 ? 0 : strlen(message);
    if (used + 2 < sizeof message) {
        message[used++] = ':';
        message[used++] = ' ';
    }
    const char *old = ki_error_message(err);
    size_t room = sizeof message - used - 1;
    size_t size = strlen(old);
    if (size > room)
        size = room;
    memcpy(message + used, old, size);
    message[used + size] = '\0';
    memcpy(err->message, message, used + size + 1);
}
