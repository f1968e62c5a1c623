/* credentials.c: the set of the moment, and when it is made anew. Loop only. */
#include "src/auth/credentials.h"

#include "src/auth/exec_plugin.h"
#include "src/auth/key_pair.h"
#include "src/auth/pem.h"

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/engine/subprocess.h"

#include <sys/stat.h>

struct ki_credentials {
    ki_engine *engine;
    const ki_allocator *allocator;
    const ki_config *config;
    void (*changed)(void *user);
    void *user;
    ki_credential_set *set; /* of a plugin that has not answered yet: without what it would give */
    /* files */
    int64_t token_due;    /* when the token file is to be read again */
    int64_t looked;       /* when the certificate files were looked at last */
    ki_timer look;        /* at them */
    ki_secret ca_as_read; /* the file's bytes: of these, a set has what could be read */
    bool look_before_next;
    /* the plugin */
    ki_exec_plugin *plugin; /* NULL: none */
    int64_t expires;        /* its answer, by the wall clock */
    int64_t answered_at;    /* by the engine's */
    bool plugin_due;
    ki_error failure; /* of its last run; code 0: none */
    int64_t failed_at;
};

/* --- sets ------------------------------------------------------------------------------------------------------------------- */

void ki_credential_set_unref(ki_credential_set *set) {
    if (!set || --set->refs > 0)
        return;
    ki_secret_clear(set->allocator, &set->authorization);
    ki_secret_clear(set->allocator, &set->ca);
    ki_secret_clear(set->allocator, &set->client_certificate);
    ki_secret_clear(set->allocator, &set->client_key);
    ki_free(set->allocator, set);
}

static ki_status copy(const ki_allocator *allocator, ki_secret *to, const ki_secret *from, ki_error *err) {
    return from->data ? ki_secret_set(allocator, to, (ki_str){ from->data, from->size }, err) : KI_OK;
}

static bool is_same(const ki_secret *a, const ki_secret *b) {
    return !a->data == !b->data && ki_str_equal((ki_str){ a->data, a->size }, (ki_str){ b->data, b->size });
}

/* One like `like`, or an empty one. */
static ki_status new_set(const ki_credentials *credentials, const ki_credential_set *like, ki_credential_set **ret_set,
                         ki_error *err) {
    ki_credential_set *set = ki_alloc_zero(credentials->allocator, sizeof *set);
    if (!set)
        return ki_error_no_memory(err, "reading credentials");
    set->allocator = credentials->allocator;
    set->refs = 1;
    set->tls_number = 1;
    ki_status status = KI_OK;
    if (like) {
        set->tls_number = like->tls_number;
        status = copy(set->allocator, &set->authorization, &like->authorization, err);
        if (!status)
            status = copy(set->allocator, &set->ca, &like->ca, err);
        if (!status)
            status = copy(set->allocator, &set->client_certificate, &like->client_certificate, err);
        if (!status)
            status = copy(set->allocator, &set->client_key, &like->client_key, err);
    }
    if (status) {
        ki_credential_set_unref(set);
        return status;
    }
    *ret_set = set;
    return KI_OK;
}

/* Takes over `set`. */
static void put_set(ki_credentials *credentials, ki_credential_set *set) {
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

/* As much of the authority as is certificates; all of it where that is nothing, so that the handshake says what is wrong. */
static ki_status set_ca(const ki_credentials *credentials, ki_credential_set *set, const ki_secret *pem,
                        ki_error *err) {
    size_t count = 0, skipped = 0;
    ki_status status =
        ki_pem_certificates(set->allocator, (ki_str){ pem->data, pem->size }, &set->ca, &count, &skipped, err);
    if (!status && count == 0)
        status = copy(set->allocator, &set->ca, pem, err);
    if (!status && skipped)
        ki_log_write(ki_engine_log(credentials->engine), KI_LOG_WARNING, "auth",
                     "certificate-authority: %zu of %zu certificates cannot be read and are left out", skipped,
                     skipped + count);
    return status;
}

/* --- files ------------------------------------------------------------------------------------------------------------------ */

/* A pipe would hold up the loop, and has nothing to say twice. */
static bool is_file(const ki_secret *path) {
    struct stat info;
    return path->data && stat(path->data, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_header_value(const ki_secret *text) {
    for (size_t i = 0; i < text->size; i++) {
        if ((unsigned char)text->data[i] < 0x20 || text->data[i] == 0x7f)
            return false;
    }
    return true;
}

static void tell_unread(const ki_credentials *credentials, const ki_error *err) {
    ki_log_write(ki_engine_log(credentials->engine), KI_LOG_WARNING, "auth", "%s; going on with what was read before",
                 ki_error_message(err));
}

static void read_token_file(ki_credentials *credentials) {
    const ki_config *config = credentials->config;
    int64_t now = ki_engine_now(credentials->engine);
    ki_secret token = { NULL, 0 };
    ki_credential_set *set = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_status status =
        is_file(&config->token_file)
            ? ki_secret_read_token(credentials->allocator, config->token_file.data, "tokenFile", &token, &err)
            : ki_error_set(&err, KI_ERR_NOT_FOUND, "tokenFile: no file %s", config->token_file.data);
    if (!status && !is_header_value(&token))
        status = ki_error_set(&err, KI_ERR_CONFIG, "tokenFile: %s holds a control character", config->token_file.data);
    if (!status && token.size > KI_CONFIG_HEADER_LIMIT)
        status = ki_error_set(&err, KI_ERR_CONFIG, "tokenFile: the token in %s is longer than %d bytes",
                              config->token_file.data, KI_CONFIG_HEADER_LIMIT);
    if (!status)
        status = new_set(credentials, credentials->set, &set, &err);
    if (!status)
        status = set_authorization(set, "Bearer ", (ki_str){ token.data, token.size }, &err);
    ki_secret_clear(credentials->allocator, &token);
    credentials->token_due = now + KI_SECONDS(status ? KI_TOKEN_FILE_RETRY_S : KI_TOKEN_FILE_PERIOD_S);
    if (status) {
        ki_credential_set_unref(set);
        tell_unread(credentials, &err);
    } else if (is_same(&set->authorization, &credentials->set->authorization)) {
        ki_credential_set_unref(set);
    } else {
        put_set(credentials, set);
    }
}

/* Reads one file again; untouched where it cannot be read or holds no whole block, as one that is being written. */
static ki_status reread(const ki_credentials *credentials, const ki_secret *path, const char *what,
                        ki_secret *ret_pem) {
    if (!is_file(path))
        return path->data ? KI_ERR_NOT_FOUND : KI_OK;
    ki_error err = KI_ERROR_INIT;
    ki_secret pem = { NULL, 0 };
    ki_status status = ki_secret_read_file(credentials->allocator, path->data, what, &pem, &err);
    if (!status && !ki_pem_has_block((ki_str){ pem.data, pem.size }))
        status = ki_error_set(&err, KI_ERR_CONFIG, "%s: %s holds no PEM", what, path->data);
    if (status) {
        ki_secret_clear(credentials->allocator, &pem);
        tell_unread(credentials, &err);
        return status;
    }
    *ret_pem = pem;
    return KI_OK;
}

/* Another set, if one of the files has other bytes. True where it has. */
static bool take_files(ki_credentials *credentials, ki_secret *ca, const ki_secret *certificate, const ki_secret *key) {
    const ki_credential_set *old = credentials->set;
    bool new_ca = ca->data && !is_same(ca, &credentials->ca_as_read);
    bool new_certificate = certificate->data && !is_same(certificate, &old->client_certificate);
    bool new_key = key->data && !is_same(key, &old->client_key);
    if (!new_ca && !new_certificate && !new_key)
        return false;
    ki_credential_set *set = NULL;
    ki_status status = new_set(credentials, old, &set, NULL);
    if (!status && new_ca) {
        ki_secret_clear(set->allocator, &set->ca);
        status = set_ca(credentials, set, ca, NULL);
    }
    if (!status && new_certificate)
        status = copy(set->allocator, &set->client_certificate, certificate, NULL);
    if (!status && new_key)
        status = copy(set->allocator, &set->client_key, key, NULL);
    if (status) {
        ki_credential_set_unref(set);
        return false; /* no memory: the next look tries again */
    }
    if (new_ca) {
        ki_secret_clear(credentials->allocator, &credentials->ca_as_read);
        credentials->ca_as_read = *ca;
        *ca = (ki_secret){ NULL, 0 };
    }
    set->tls_number++;
    put_set(credentials, set);
    ki_log_write(ki_engine_log(credentials->engine), KI_LOG_INFO, "auth", "%s changed: connecting anew",
                 new_ca ? "certificate-authority" : "client-certificate");
    return true;
}

static bool has_files(const ki_config *config) {
    return config->ca_file.data || config->client_certificate_file.data || config->client_key_file.data;
}

static bool look_at_files(ki_credentials *credentials) {
    const ki_config *config = credentials->config;
    const ki_allocator *allocator = credentials->allocator;
    credentials->looked = ki_engine_now(credentials->engine);
    credentials->look_before_next = false;
    if (!has_files(config))
        return false;
    ki_secret ca = { NULL, 0 }, certificate = { NULL, 0 }, key = { NULL, 0 };
    /* Certificate and key go together: with one of them unread the other one is of no use. */
    ki_status ca_unread = reread(credentials, &config->ca_file, "certificate-authority", &ca);
    ki_status unread = reread(credentials, &config->client_certificate_file, "client-certificate", &certificate);
    if (!unread)
        unread = reread(credentials, &config->client_key_file, "client-key", &key);
    if (ca_unread)
        ki_secret_clear(allocator, &ca);
    if (unread) {
        ki_secret_clear(allocator, &certificate);
        ki_secret_clear(allocator, &key);
    }
    /* Two files are replaced one after the other: what does not fit yet, may at the next look. */
    ki_error err = KI_ERROR_INIT;
    const ki_credential_set *old = credentials->set;
    if (!unread && (certificate.data || key.data) &&
        ki_key_pair_check(allocator, config, certificate.data ? &certificate : &old->client_certificate,
                          key.data ? &key : &old->client_key, &err)) {
        tell_unread(credentials, &err);
        ki_secret_clear(allocator, &certificate);
        ki_secret_clear(allocator, &key);
    }
    bool changed = take_files(credentials, &ca, &certificate, &key);
    ki_secret_clear(allocator, &ca);
    ki_secret_clear(allocator, &certificate);
    ki_secret_clear(allocator, &key);
    return changed;
}

static void look_fired(ki_timer *timer, void *user) {
    ki_credentials *credentials = user;
    ki_timer_set(timer, ki_engine_now(credentials->engine) + KI_SECONDS(KI_CERTIFICATE_LOOK_S));
    if (look_at_files(credentials))
        credentials->changed(credentials->user);
}

/* --- the plugin ------------------------------------------------------------------------------------------------------------- */

static ki_status take_answer(ki_credentials *credentials, const ki_exec_answer *answer, ki_error *err) {
    const ki_credential_set *old = credentials->set;
    ki_credential_set *set = NULL;
    ki_status status = new_set(credentials, NULL, &set, err);
    if (status)
        return status;
    set->tls_number = old ? old->tls_number : 1;
    status = old ? copy(set->allocator, &set->ca, &old->ca, err) : KI_OK;
    if (!status && !old && credentials->config->ca.data)
        status = set_ca(credentials, set, &credentials->config->ca, err);
    if (!status && answer->token.data)
        status = set_authorization(set, "Bearer ", (ki_str){ answer->token.data, answer->token.size }, err);
    if (!status)
        status = copy(set->allocator, &set->client_certificate, &answer->certificate, err);
    if (!status)
        status = copy(set->allocator, &set->client_key, &answer->key, err);
    if (status) {
        ki_credential_set_unref(set);
        return status;
    }
    if (old &&
        (!is_same(&set->client_certificate, &old->client_certificate) || !is_same(&set->client_key, &old->client_key)))
        set->tls_number++;
    put_set(credentials, set);
    credentials->expires = answer->expires;
    credentials->answered_at = ki_engine_now(credentials->engine);
    return KI_OK;
}

static void plugin_failed(ki_credentials *credentials, const ki_error *err) {
    credentials->failure = *err;
    credentials->failed_at = ki_engine_now(credentials->engine);
}

static void plugin_ended(const ki_exec_answer *answer, const ki_error *err, void *user) {
    ki_credentials *credentials = user;
    ki_error own = KI_ERROR_INIT;
    if (answer && take_answer(credentials, answer, &own))
        err = &own;
    credentials->plugin_due = false;
    ki_error_clear(&credentials->failure);
    if (err)
        plugin_failed(credentials, err);
    credentials->changed(credentials->user);
}

/* By its date; but whoever waited for it gets it, be it of the past when it comes: else it would be asked for without end. */
static bool has_expired(const ki_credentials *credentials) {
    return credentials->expires != INT64_MAX && ki_wall_clock_seconds() > credentials->expires &&
           ki_engine_now(credentials->engine) >= credentials->answered_at + KI_SECONDS(KI_EXEC_RETRY_S);
}

/* Is there an answer, and is it still good? */
static ki_credential_state ask_plugin(ki_credentials *credentials, ki_error *err) {
    bool has_answer = credentials->expires != INT64_MIN;
    bool is_good = has_answer && !credentials->plugin_due && !has_expired(credentials);
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

/* --- public ----------------------------------------------------------------------------------------------------------------- */

ki_credential_state ki_credentials_get(ki_credentials *credentials, ki_credential_set **ret_set, ki_error *err) {
    int64_t now = ki_engine_now(credentials->engine);
    if (credentials->look_before_next && now >= credentials->looked + KI_SECONDS(KI_CERTIFICATE_RELOOK_S))
        look_at_files(credentials);
    if (credentials->plugin) {
        ki_credential_state state = ask_plugin(credentials, err);
        if (state != KI_CREDENTIALS_READY)
            return state;
    } else if (credentials->config->token_file.data && now >= credentials->token_due) {
        read_token_file(credentials);
    }
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
    credentials->set->refs++;
    return credentials->set;
}

void ki_credentials_refused(ki_credentials *credentials, const ki_credential_set *set) {
    if (set != credentials->set)
        return; /* others have seen to it */
    credentials->look_before_next = true;
    credentials->plugin_due = true;
    credentials->token_due = 0;
}

void ki_credentials_doubt_certificates(ki_credentials *credentials, const ki_credential_set *set) {
    if (set == credentials->set)
        credentials->look_before_next = true;
}

/* As client-go has it: what is given outright needs no plugin. */
static bool needs_plugin(const ki_config *config) {
    return config->exec.command.data && !config->token.data && !config->token_file.data && !config->username.data &&
           !config->client_certificate.data;
}

static ki_status first_set(ki_credentials *credentials, ki_error *err) {
    const ki_config *config = credentials->config;
    ki_credential_set *set = NULL;
    ki_status status = new_set(credentials, NULL, &set, err);
    if (status)
        return status;
    if (config->ca.data)
        status = set_ca(credentials, set, &config->ca, err);
    if (!status)
        status = copy(credentials->allocator, &credentials->ca_as_read, &config->ca, err);
    if (!status)
        status = copy(set->allocator, &set->client_certificate, &config->client_certificate, err);
    if (!status)
        status = copy(set->allocator, &set->client_key, &config->client_key, err);
    if (!status && config->token.data)
        status = set_authorization(set, "Bearer ", (ki_str){ config->token.data, config->token.size }, err);
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
    bool has_any = config->token.data || config->token_file.data || config->username.data || config->client_key.data ||
                   config->exec.command.data;
    /* The config was checked when it was made; this is the last gate before the wire. */
    if (has_any && !ki_config_is_https(config))
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
    if (!status && ki_timer_init(&credentials->look, engine, look_fired, credentials))
        status = ki_error_no_memory(err, "reading credentials");
    if (status) {
        ki_credentials_free(credentials);
        return status;
    }
    credentials->looked = ki_engine_now(engine);
    if (has_files(config))
        ki_timer_set(&credentials->look, credentials->looked + KI_SECONDS(KI_CERTIFICATE_LOOK_S));
    *ret_credentials = credentials;
    return KI_OK;
}

void ki_credentials_free(ki_credentials *credentials) {
    if (!credentials)
        return;
    ki_exec_plugin_free(credentials->plugin);
    ki_timer_close(&credentials->look);
    ki_credential_set_unref(credentials->set);
    ki_secret_clear(credentials->allocator, &credentials->ca_as_read);
    ki_free(credentials->allocator, credentials);
}
