/* credentials.h: the current credentials: from the config, from files that change, and from an exec plugin.
 *
 * A request gets the current set, an error, or "pending" while a plugin runs. A set never changes; a new set replaces
 * it. Loop only. */
#ifndef KI_AUTH_CREDENTIALS_H
#define KI_AUTH_CREDENTIALS_H

#include "src/auth/config.h"
#include "src/engine/engine.h"

enum {
    KI_TOKEN_FILE_PERIOD_S = 50,  /* a token file is read again after this time; client-go's value */
    KI_TOKEN_FILE_RETRY_S = 10,   /* after a failed read, with the last good token in use */
    KI_TOKEN_FILE_MISSING_S = 1,  /* after a failed read, if there was no token yet */
    KI_CERTIFICATE_CHECK_S = 60,  /* period of checks of the certificate and key files */
    KI_CERTIFICATE_RECHECK_S = 1, /* minimum time between checks after a failed handshake or a 401 */
    KI_CREDENTIAL_HIDDEN_MIN = 6, /* shortest token that is hidden in messages: shorter ones occur in any text */
    KI_EXEC_RETRY_S = 2           /* minimum time between two runs of a plugin */
};

/* Immutable; shared by reference counting. */
typedef struct ki_credential_set {
    const ki_allocator *allocator;
    unsigned refs;
    uint64_t tls_number;     /* changes with the certificates; each number needs its own connections */
    ki_secret authorization; /* "Authorization: Bearer …", or not set */
    ki_secret ca;            /* PEM, without certificates that cannot be parsed */
    ki_secret client_certificate;
    ki_secret client_key;
} ki_credential_set;

void ki_credential_set_unref(ki_credential_set *set); /* NULL is allowed */

/* Replaces the token, or the base64 of user name and password, with asterisks in `text`. */
void ki_credential_set_hide(const ki_credential_set *set, char *text, size_t size);

typedef enum ki_credential_state {
    KI_CREDENTIALS_READY,
    KI_CREDENTIALS_PENDING, /* `changed` will be called */
    KI_CREDENTIALS_FAILED
} ki_credential_state;

typedef struct ki_credentials ki_credentials;

/* Creates the credentials of a config. `changed` is called when "pending" ends and when certificates change, never from
 * inside a function of this file. Borrows `config`, which must outlive the credentials. Errors: KI_ERR_CONFIG
 * (credentials for a server that is not https), KI_ERR_NO_MEMORY. */
ki_status ki_credentials_new(ki_engine *engine, const ki_config *config, void (*changed)(void *user), void *user,
                             ki_credentials **ret_credentials, ki_error *err);
/* Returns the state. With KI_CREDENTIALS_READY the caller gets a reference in `*ret_set`. */
ki_credential_state ki_credentials_get(ki_credentials *credentials, ki_credential_set **ret_set, ki_error *err);
/* Returns the number of the current certificates. */
uint64_t ki_credentials_tls_number(const ki_credentials *credentials);
/* Returns a reference to the current set, valid or not, without reading files or running the plugin. */
ki_credential_set *ki_credentials_current(ki_credentials *credentials);
/* Reports a 401 for this set: before the next request files are read and the plugin is run again, unless `set` is
 * already replaced. */
void ki_credentials_rejected(ki_credentials *credentials, const ki_credential_set *set);
/* Reports a failed handshake with this set: the certificate files are checked before the next request. */
void ki_credentials_doubt_certificates(ki_credentials *credentials, const ki_credential_set *set);
void ki_credentials_free(ki_credentials *credentials); /* NULL is allowed */

#endif
