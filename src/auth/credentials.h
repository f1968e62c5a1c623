/* credentials.h: who we are, at each moment: what the config says, and what files and a credential plugin say since.
 *
 * A request asks for the set of that moment, and gets it, an error, or "not yet" while a plugin runs. Sets never change; a new one takes the
 * place of the old. Loop only. */
#ifndef KI_AUTH_CREDENTIALS_H
#define KI_AUTH_CREDENTIALS_H

#include "src/auth/config.h"
#include "src/engine/engine.h"

enum {
    KI_TOKEN_FILE_PERIOD_S = 50,  /* a minute less ten seconds: then a token file is read again */
    KI_TOKEN_FILE_RETRY_S = 10,   /* where that failed, and the last good token goes on */
    KI_CERTIFICATE_LOOK_S = 60,   /* files of certificates and keys are looked at so often */
    KI_CERTIFICATE_RELOOK_S = 1,  /* and after a failed handshake or a 401, but not more often than this */
    KI_CREDENTIAL_HIDDEN_MIN = 6, /* bytes of a token that is cut out of messages: a shorter one is part of any text */
    KI_EXEC_RETRY_S = 2 /* what a plugin answered or failed with holds so long: nobody runs it again and again */
};

/* Shared by count. */
typedef struct ki_credential_set {
    const ki_allocator *allocator;
    unsigned refs;
    uint64_t tls_number;     /* another one: other certificates, so other connections */
    ki_secret authorization; /* "Authorization: Bearer …", or not given */
    ki_secret ca;            /* PEM; what cannot be read of it is left out */
    ki_secret client_certificate;
    ki_secret client_key;
} ki_credential_set;

void ki_credential_set_unref(ki_credential_set *set); /* NULL is accepted */

/* Puts asterisks in place of the token, or of the user's name and password in base64, wherever `text` has them. */
void ki_credential_set_hide(const ki_credential_set *set, char *text, size_t size);

typedef enum ki_credential_state {
    KI_CREDENTIALS_READY,
    KI_CREDENTIALS_PENDING, /* `changed` will be called */
    KI_CREDENTIALS_FAILED
} ki_credential_state;

typedef struct ki_credentials ki_credentials;

/* `changed` comes when "not yet" is over, and when certificates are other ones; never from inside a function of this file.
 * Borrows `config`, which must outlive it. Errors: KI_ERR_CONFIG (credentials for a server that is not https), KI_ERR_NO_MEMORY. */
ki_status ki_credentials_new(ki_engine *engine, const ki_config *config, void (*changed)(void *user), void *user,
                             ki_credentials **ret_credentials, ki_error *err);
/* KI_CREDENTIALS_READY: `*ret_set` is the caller's. */
ki_credential_state ki_credentials_get(ki_credentials *credentials, ki_credential_set **ret_set, ki_error *err);
/* The number of the certificates that hold now. */
uint64_t ki_credentials_tls_number(const ki_credentials *credentials);
/* The set that holds now, good or not, without reading or running anything. Shared: the caller's. */
ki_credential_set *ki_credentials_current(ki_credentials *credentials);
/* The server answered 401 to this set: everything is read again before the next request, unless there is a newer set already. */
void ki_credentials_refused(ki_credentials *credentials, const ki_credential_set *set);
/* A handshake with this set failed: the certificate files are looked at before the next request. */
void ki_credentials_doubt_certificates(ki_credentials *credentials, const ki_credential_set *set);
void ki_credentials_free(ki_credentials *credentials); /* NULL is accepted */

#endif
