/* credentials.c: keeps the current credential set, and replaces it when a file changes, a plugin responds or a server
 * rejects it. Loop only. */
#include "src/auth/credentials.h"

#include "src/auth/exec_plugin.h"
#include "src/auth/key_pair.h"
#include "src/auth/pem.h"

#include "src/base/assert.h"
#include "src/base/base64.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"

#include <sys/stat.h>

/* What is read again. */
typedef enum source {
    SOURCE_TOKEN,
    SOURCE_CA,
    SOURCE_CERTIFICATE,
    SOURCE_KEY,
    SOURCE_PAIR, /* certificate and key belong together */
    SOURCES
} source;

struct ki_credentials {
    ki_engine *engine;
    const ki_allocator *allocator;
    const ki_config *config;
    void (*changed)(void *user);
    void *user;
    ki_credential_set *set; /* the current set; before a plugin has responded, without the plugin's part */
    /* files */
    int64_t token_due;      /* time of the next read of the token file */
    ki_error token_failure; /* why its last read failed, if it did */
    int64_t checked_at;     /* time of the last check of the certificate files */
    ki_timer check;         /* checks the certificate files */
    ki_secret ca_as_read;   /* the bytes of the file; a set has only its valid certificates */
    bool check_before_next;
    bool is_unreadable[SOURCES]; /* logged already */
    /* the plugin */
    ki_exec_plugin *plugin; /* NULL: none */
    int64_t expires;        /* wall clock end of the plugin's credentials; INT64_MIN: none yet */
    int64_t responded_at;   /* engine time of the plugin's response */
    bool plugin_due;
    ki_error failure; /* failure of the last run; code 0: none */
    int64_t failed_at;
};

/* --- sets --------------------------------------------------------------------------------------------------------- */

void ki_credential_set_unref(ki_credential_set *set) {
    if (!set)
        return;
    KI_ASSERT(set->refs > 0);
    if (--set->refs > 0)
        return;
    ki_secret_clear(set->allocator, &set->authorization);
    ki_secret_clear(set->allocator, &set->ca);
    ki_secret_clear(set->allocator, &set->client_certificate);
    ki_secret_clear(set->allocator, &set->client_key);
    ki_free(set->allocator, set);
}

static ki_status copy(const ki_allocator *allocator, ki_secret *to, const ki_secret *from, ki_error *err) {
    return from && from->data ? ki_secret_set(allocator, to, ki_secret_text(from), err) : KI_OK;
}

static const ki_secret none;

static bool is_same(const ki_secret *a, const ki_secret *b) {
    return !a->data == !b->data && ki_str_equal(ki_secret_text(a), ki_secret_text(b));
}

/* Creates a set of copies. */
static ki_status new_set(const ki_credentials *credentials, const ki_secret *authorization, const ki_secret *ca,
                         const ki_secret *certificate, const ki_secret *key, ki_credential_set **ret_set,
                         ki_error *err) {
    ki_credential_set *set = ki_alloc_zero(credentials->allocator, sizeof *set);
    if (!set)
        return ki_error_no_memory(err, "reading credentials");
    set->allocator = credentials->allocator;
    set->refs = 1;
    set->tls_number = credentials->set ? credentials->set->tls_number : 1;
    ki_status status = copy(set->allocator, &set->authorization, authorization, err);
    if (!status)
        status = copy(set->allocator, &set->ca, ca, err);
    if (!status)
        status = copy(set->allocator, &set->client_certificate, certificate, err);
    if (!status)
        status = copy(set->allocator, &set->client_key, key, err);
    if (status)
        ki_credential_set_unref(set);
    else
        *ret_set = set;
    return status;
}

/* Makes `set` the current set; takes its reference. */
static void put_set(ki_credentials *credentials, ki_credential_set *set) {
    KI_ASSERT(set->refs > 0 && set != credentials->set);
    KI_ASSERT(!credentials->set || set->tls_number >= credentials->set->tls_number);
    ki_credential_set_unref(credentials->set);
    credentials->set = set;
}

static ki_status set_authorization(ki_credential_set *set, const char *scheme, ki_str value, ki_error *err) {
    static const char name[] = "Authorization: ";
    size_t first = sizeof name - 1, second = strlen(scheme), size = first + second + value.size;
    char *line = ki_alloc(set->allocator, size + 1);
    if (!line)
        return ki_error_no_memory(err, "reading credentials");
    memcpy(line, name, first);
    memcpy(line + first, scheme, second);
    if (value.size)
        memcpy(line + first + second, value.data, value.size);
    line[size] = '\0';
    ki_secret_clear(set->allocator, &set->authorization);
    set->authorization = (ki_secret){ line, size };
    return KI_OK;
}

static ki_status set_basic(ki_credential_set *set, const ki_config *config, ki_error *err) {
    ki_buffer pair, encoded;
    ki_buffer_init(&pair, set->allocator, 0);
    ki_buffer_init(&encoded, set->allocator, 0);
    pair.is_secret = encoded.is_secret = true;
    ki_buffer_append(&pair, config->username.data, config->username.size);
    ki_buffer_append_char(&pair, ':');
    ki_buffer_append(&pair, config->password.data, config->password.size);
    ki_base64_encode(&encoded, (ki_str){ pair.data, pair.size });
    ki_status status = pair.failed || encoded.failed
                           ? ki_error_no_memory(err, "reading credentials")
                           : set_authorization(set, "Basic ", (ki_str){ encoded.data, encoded.size }, err);
    ki_buffer_free(&pair);
    ki_buffer_free(&encoded);
    return status;
}

/* Sets the valid certificates of the authority. Sets all bytes if none is valid, so that the handshake reports the
 * cause. */
static ki_status set_ca(const ki_credentials *credentials, ki_credential_set *set, const ki_secret *pem,
                        ki_error *err) {
    size_t count = 0, skipped = 0;
    ki_status status = ki_pem_certificates(set->allocator, ki_secret_text(pem), &set->ca, &count, &skipped, err);
    if (!status && count == 0)
        status = copy(set->allocator, &set->ca, pem, err);
    if (!status && skipped)
        ki_log_write(ki_engine_log(credentials->engine), KI_LOG_WARNING, "auth",
                     "certificate-authority: skipped %zu of %zu certificates: they cannot be parsed", skipped,
                     skipped + count);
    return status;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Returns true for a regular file. A pipe would block the loop, and cannot be read twice. */
static bool is_file(const ki_secret *path) {
    struct stat info;
    return path->data && stat(path->data, &info) == 0 && S_ISREG(info.st_mode);
}

/* Logs the first failure of a file. `err` NULL: the file is readable; the next failure is logged. */
static void note_file(ki_credentials *credentials, source from, const ki_error *err) {
    bool was_unreadable = credentials->is_unreadable[from];
    credentials->is_unreadable[from] = err != NULL;
    if (err && !was_unreadable)
        ki_log_write(ki_engine_log(credentials->engine), KI_LOG_WARNING, "auth", "%s; keeping the previous content",
                     ki_error_message(err));
}

/* Sets the error for a token file that is not there (it may come: token_file_may_be_missing), or is no file. */
static ki_status no_token_file(const char *path, ki_error *err) {
    struct stat info;
    return ki_error_set(err, KI_ERR_NOT_FOUND,
                        stat(path, &info) ? "tokenFile: %s does not exist" : "tokenFile: %s is not a file", path);
}

static void read_token_file(ki_credentials *credentials) {
    KI_ON_LOOP(credentials->engine);
    const ki_config *config = credentials->config;
    int64_t now = ki_engine_now(credentials->engine);
    ki_secret token = { NULL, 0 };
    const ki_credential_set *old = credentials->set;
    ki_credential_set *set = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_status status =
        is_file(&config->token_file)
            ? ki_secret_read_token(credentials->allocator, config->token_file.data, "tokenFile", &token, &err)
            : no_token_file(config->token_file.data, &err);
    if (!status && ki_secret_has_control(&token))
        status = ki_error_set(&err, KI_ERR_CONFIG, "tokenFile: %s has a control character", config->token_file.data);
    if (!status && token.size > KI_CONFIG_HEADER_LIMIT)
        status = ki_error_set(&err, KI_ERR_CONFIG, "tokenFile: the token in %s is longer than %d bytes",
                              config->token_file.data, KI_CONFIG_HEADER_LIMIT);
    if (!status)
        status = new_set(credentials, &none, &old->ca, &old->client_certificate, &old->client_key, &set, &err);
    if (!status)
        status = set_authorization(set, "Bearer ", ki_secret_text(&token), &err);
    ki_secret_clear(credentials->allocator, &token);
    bool has_one = old->authorization.data != NULL;
    int64_t retry_s = has_one ? KI_TOKEN_FILE_RETRY_S : KI_TOKEN_FILE_MISSING_S;
    credentials->token_due = now + KI_SECONDS(status ? retry_s : KI_TOKEN_FILE_PERIOD_S);
    if (status) {
        ki_credential_set_unref(set);
        if (has_one)
            note_file(credentials, SOURCE_TOKEN, &err);
        err.category = KI_CATEGORY_CREDENTIALS;
        credentials->token_failure = err;
        return;
    }
    note_file(credentials, SOURCE_TOKEN, NULL);
    if (is_same(&set->authorization, &old->authorization))
        ki_credential_set_unref(set);
    else
        put_set(credentials, set);
}

/* Reads one file again. Leaves `ret_pem` untouched if the file cannot be read or has no complete block, for example
 * while it is written. */
static ki_status reread(ki_credentials *credentials, source from, const ki_secret *path, const char *what,
                        ki_secret *ret_pem) {
    if (!is_file(path))
        return path->data ? KI_ERR_NOT_FOUND : KI_OK;
    ki_error err = KI_ERROR_INIT;
    ki_secret pem = { NULL, 0 };
    ki_status status = ki_secret_read_file(credentials->allocator, path->data, what, &pem, &err);
    if (!status && !ki_pem_has_block(ki_secret_text(&pem)))
        status = ki_error_set(&err, KI_ERR_CONFIG, "%s: %s has no PEM block", what, path->data);
    note_file(credentials, from, status ? &err : NULL);
    if (status)
        ki_secret_clear(credentials->allocator, &pem);
    else
        *ret_pem = pem;
    return status;
}

/* Reads the folder of authorities again. */
static ki_status reread_directory(ki_credentials *credentials, ki_secret *ret_pem) {
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_secret_read_directory(credentials->allocator, credentials->config->ca_directory.data,
                                                "certificate_authority_directory", ret_pem, &err);
    note_file(credentials, SOURCE_CA, status ? &err : NULL);
    return status;
}

/* Replaces the set if a file has changed. Returns true if the set was replaced. */
static bool take_files(ki_credentials *credentials, ki_secret *ca, const ki_secret *certificate, const ki_secret *key) {
    const ki_credential_set *old = credentials->set;
    bool new_ca = ca->data && !is_same(ca, &credentials->ca_as_read);
    bool new_certificate = certificate->data && !is_same(certificate, &old->client_certificate);
    bool new_key = key->data && !is_same(key, &old->client_key);
    if (!new_ca && !new_certificate && !new_key)
        return false;
    ki_credential_set *set = NULL;
    ki_status status = new_set(credentials, &old->authorization, new_ca ? &none : &old->ca,
                               certificate->data ? certificate : &old->client_certificate,
                               key->data ? key : &old->client_key, &set, NULL);
    if (!status && new_ca)
        status = set_ca(credentials, set, ca, NULL);
    if (status) {
        ki_credential_set_unref(set);
        return false; /* out of memory: the next check tries again */
    }
    if (new_ca) {
        ki_secret_clear(credentials->allocator, &credentials->ca_as_read);
        credentials->ca_as_read = *ca;
        *ca = (ki_secret){ NULL, 0 };
    }
    set->tls_number++;
    put_set(credentials, set);
    ki_log_write(ki_engine_log(credentials->engine), KI_LOG_INFO, "auth", "%s has changed: opening new connections",
                 new_ca ? "certificate-authority" : "client-certificate");
    return true;
}

static bool has_files(const ki_config *config) {
    return config->ca_file.data || config->ca_directory.data || config->client_certificate_file.data ||
           config->client_key_file.data;
}

static bool check_files(ki_credentials *credentials) {
    KI_ON_LOOP(credentials->engine);
    const ki_config *config = credentials->config;
    const ki_allocator *allocator = credentials->allocator;
    credentials->checked_at = ki_engine_now(credentials->engine);
    credentials->check_before_next = false;
    if (!has_files(config))
        return false;
    ki_secret ca = { NULL, 0 }, certificate = { NULL, 0 }, key = { NULL, 0 };
    /* Certificate and key must match: if one cannot be read, the other is not used either. */
    ki_status ca_unread = config->ca_directory.data
                              ? reread_directory(credentials, &ca)
                              : reread(credentials, SOURCE_CA, &config->ca_file, "certificate-authority", &ca);
    ki_status unread =
        reread(credentials, SOURCE_CERTIFICATE, &config->client_certificate_file, "client-certificate", &certificate);
    if (!unread)
        unread = reread(credentials, SOURCE_KEY, &config->client_key_file, "client-key", &key);
    if (ca_unread)
        ki_secret_clear(allocator, &ca);
    if (unread) {
        ki_secret_clear(allocator, &certificate);
        ki_secret_clear(allocator, &key);
    }
    /* Two files are replaced one after the other: a pair that does not match can match at the next check. */
    ki_error err = KI_ERROR_INIT;
    const ki_credential_set *old = credentials->set;
    if (!unread && (certificate.data || key.data) &&
        ki_key_pair_check(allocator, config, certificate.data ? &certificate : &old->client_certificate,
                          key.data ? &key : &old->client_key, &err)) {
        note_file(credentials, SOURCE_PAIR, &err);
        ki_secret_clear(allocator, &certificate);
        ki_secret_clear(allocator, &key);
    } else if (!unread) {
        note_file(credentials, SOURCE_PAIR, NULL);
    }
    bool changed = take_files(credentials, &ca, &certificate, &key);
    ki_secret_clear(allocator, &ca);
    ki_secret_clear(allocator, &certificate);
    ki_secret_clear(allocator, &key);
    return changed;
}

static void check_fired(ki_timer *timer, void *user) {
    ki_credentials *credentials = user;
    ki_timer_set(timer, ki_engine_now(credentials->engine) + KI_SECONDS(KI_CERTIFICATE_CHECK_S));
    if (check_files(credentials))
        credentials->changed(credentials->user);
}

/* --- the plugin --------------------------------------------------------------------------------------------------- */

static ki_status take_result(ki_credentials *credentials, const ki_exec_result *result, ki_error *err) {
    const ki_credential_set *old = credentials->set;
    ki_credential_set *set = NULL;
    ki_status status = new_set(credentials, &none, &old->ca, &result->certificate, &result->key, &set, err);
    if (!status && result->token.data)
        status = set_authorization(set, "Bearer ", ki_secret_text(&result->token), err);
    if (status) {
        ki_credential_set_unref(set);
        return status;
    }
    if (!is_same(&set->client_certificate, &old->client_certificate) || !is_same(&set->client_key, &old->client_key))
        set->tls_number++;
    put_set(credentials, set);
    credentials->expires = result->expires;
    credentials->responded_at = ki_engine_now(credentials->engine);
    return KI_OK;
}

static void plugin_failed(ki_credentials *credentials, const ki_error *err) {
    KI_ASSERT(err->code);
    credentials->failure = *err;
    credentials->failed_at = ki_engine_now(credentials->engine);
}

static void plugin_ended(const ki_exec_result *result, const ki_error *err, void *user) {
    ki_credentials *credentials = user;
    KI_ON_LOOP(credentials->engine);
    KI_ASSERT((result != NULL) != (err != NULL));
    ki_error own = KI_ERROR_INIT;
    if (result && take_result(credentials, result, &own))
        err = &own;
    credentials->plugin_due = false;
    ki_error_clear(&credentials->failure);
    if (err)
        plugin_failed(credentials, err);
    credentials->changed(credentials->user);
}

/* Returns true if the plugin's credentials have expired. They are used for KI_EXEC_RETRY_S in any case: credentials
 * that are already expired when they arrive would otherwise make the plugin run without end. */
static bool has_expired(const ki_credentials *credentials) {
    return credentials->expires != INT64_MAX &&
           ki_engine_wall_now(credentials->engine) / KI_SECONDS(1) > credentials->expires &&
           ki_engine_now(credentials->engine) >= credentials->responded_at + KI_SECONDS(KI_EXEC_RETRY_S);
}

/* Returns the state of the plugin's credentials; runs the plugin if they are missing, expired or rejected. */
static ki_credential_state plugin_state(ki_credentials *credentials, ki_error *err) {
    KI_ASSERT(credentials->plugin);
    bool has_result = credentials->expires != INT64_MIN;
    bool is_good = has_result && !credentials->plugin_due && !has_expired(credentials);
    if (ki_exec_plugin_is_running(credentials->plugin))
        return KI_CREDENTIALS_PENDING;
    if (credentials->failure.code &&
        ki_engine_now(credentials->engine) < credentials->failed_at + KI_SECONDS(KI_EXEC_RETRY_S)) {
        if (err)
            *err = credentials->failure;
        return KI_CREDENTIALS_FAILED;
    }
    if (is_good && !credentials->failure.code)
        return KI_CREDENTIALS_READY;
    ki_error why = KI_ERROR_INIT;
    if (!ki_exec_plugin_run(credentials->plugin, &why))
        return KI_CREDENTIALS_PENDING;
    plugin_failed(credentials, &why);
    if (err)
        *err = why;
    return KI_CREDENTIALS_FAILED;
}

/* --- public ------------------------------------------------------------------------------------------------------- */

ki_credential_state ki_credentials_get(ki_credentials *credentials, ki_credential_set **ret_set, ki_error *err) {
    KI_ON_LOOP(credentials->engine);
    int64_t now = ki_engine_now(credentials->engine);
    if (credentials->check_before_next && now >= credentials->checked_at + KI_SECONDS(KI_CERTIFICATE_RECHECK_S))
        check_files(credentials);
    if (credentials->plugin) {
        ki_credential_state state = plugin_state(credentials, err);
        if (state != KI_CREDENTIALS_READY)
            return state;
    } else if (credentials->config->token_file.data && now >= credentials->token_due) {
        read_token_file(credentials);
    }
    if (credentials->config->token_file.data && !credentials->set->authorization.data) {
        if (err)
            *err = credentials->token_failure;
        return KI_CREDENTIALS_FAILED;
    }
    KI_ASSERT(credentials->set->refs > 0);
    credentials->set->refs++;
    *ret_set = credentials->set;
    return KI_CREDENTIALS_READY;
}

uint64_t ki_credentials_tls_number(const ki_credentials *credentials) {
    return credentials->set->tls_number;
}

void ki_credential_set_hide(const ki_credential_set *set, char *text, size_t size) {
    const char *line = set ? set->authorization.data : NULL; /* "Authorization: Bearer TOKEN" */
    const char *token = line ? strrchr(line, ' ') : NULL;
    size_t token_size = token ? strlen(++token) : 0;
    if (token_size < KI_CREDENTIAL_HIDDEN_MIN)
        return;
    for (size_t i = 0; i + token_size <= size; i++) {
        if (memcmp(text + i, token, token_size) == 0)
            memset(text + i, '*', token_size);
    }
}

ki_credential_set *ki_credentials_current(ki_credentials *credentials) {
    KI_ON_LOOP(credentials->engine);
    KI_ASSERT(credentials->set->refs > 0);
    credentials->set->refs++;
    return credentials->set;
}

void ki_credentials_rejected(ki_credentials *credentials, const ki_credential_set *set) {
    KI_ON_LOOP(credentials->engine);
    if (set != credentials->set)
        return; /* an older set: the current one is newer already */
    credentials->check_before_next = true;
    credentials->plugin_due = true;
    credentials->token_due = 0;
}

void ki_credentials_doubt_certificates(ki_credentials *credentials, const ki_credential_set *set) {
    KI_ON_LOOP(credentials->engine);
    if (set == credentials->set)
        credentials->check_before_next = true;
}

/* Returns true if only the plugin can give credentials: as in client-go, other credentials take precedence. */
static bool needs_plugin(const ki_config *config) {
    return config->exec.command.data && !config->token.data && !config->token_file.data && !config->username.data &&
           !config->client_certificate.data;
}

static ki_status first_set(ki_credentials *credentials, ki_error *err) {
    const ki_config *config = credentials->config;
    ki_credential_set *set = NULL;
    ki_status status = new_set(credentials, &none, &none, &config->client_certificate, &config->client_key, &set, err);
    if (!status && config->ca.data)
        status = set_ca(credentials, set, &config->ca, err);
    if (!status)
        status = copy(credentials->allocator, &credentials->ca_as_read, &config->ca, err);
    if (!status && config->token.data)
        status = set_authorization(set, "Bearer ", ki_secret_text(&config->token), err);
    else if (!status && config->username.data)
        status = set_basic(set, config, err);
    if (status) {
        ki_credential_set_unref(set);
        return status;
    }
    credentials->set = set;
    credentials->token_due =
        config->token.data ? ki_engine_now(credentials->engine) + KI_SECONDS(KI_TOKEN_FILE_PERIOD_S) : 0;
    return KI_OK;
}

ki_status ki_credentials_new(ki_engine *engine, const ki_config *config, void (*changed)(void *user), void *user,
                             ki_credentials **ret_credentials, ki_error *err) {
    /* ki_config_check has tested this; this is the last check before sending. */
    if (ki_config_has_credentials(config) && !ki_config_may_send_credentials(config))
        return ki_error_set(err, KI_ERR_CONFIG, "credentials are not sent to a server that is not https");
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_credentials *credentials = ki_alloc_zero(allocator, sizeof *credentials);
    if (!credentials)
        return ki_error_no_memory(err, "reading credentials");
    credentials->engine = engine;
    credentials->allocator = allocator;
    credentials->config = config;
    credentials->changed = changed;
    credentials->user = user;
    credentials->expires = INT64_MIN;
    ki_status status = first_set(credentials, err);
    if (!status && needs_plugin(config))
        status = ki_exec_plugin_new(engine, config, plugin_ended, credentials, &credentials->plugin, err);
    if (status) {
        ki_credentials_free(credentials);
        return status;
    }
    ki_timer_init(&credentials->check, engine, check_fired, credentials);
    credentials->checked_at = ki_engine_now(engine);
    if (has_files(config))
        ki_timer_set(&credentials->check, credentials->checked_at + KI_SECONDS(KI_CERTIFICATE_CHECK_S));
    *ret_credentials = credentials;
    return KI_OK;
}

void ki_credentials_free(ki_credentials *credentials) {
    if (!credentials)
        return;
    ki_exec_plugin_free(credentials->plugin);
    ki_timer_close(&credentials->check);
    ki_credential_set_unref(credentials->set);
    ki_secret_clear(credentials->allocator, &credentials->ca_as_read);
    ki_free(credentials->allocator, credentials);
}
