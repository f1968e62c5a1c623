/* exec_credential.h: the texts that are exchanged with a credential plugin: ExecCredential of client.authentication.k8s.io, there and back.
 * Any thread. */
#ifndef KI_AUTH_EXEC_CREDENTIAL_H
#define KI_AUTH_EXEC_CREDENTIAL_H

#include "src/auth/config.h"

/* What a plugin gave. Wiped when cleared. */
typedef struct ki_exec_answer {
    ki_secret token;       /* not given: none */
    ki_secret certificate; /* both or none */
    ki_secret key;
    int64_t expires; /* seconds since 1970; INT64_MAX: not known */
} ki_exec_answer;

void ki_exec_answer_clear(const ki_allocator *allocator, ki_exec_answer *answer);

/* The JSON that KUBERNETES_EXEC_INFO tells the plugin. */
ki_status ki_exec_request(const ki_config *config, ki_buffer *out);

/* Errors: KI_ERR_PARSE (no JSON), KI_ERR_CONFIG (another version, no credentials, a date that is none), KI_ERR_NO_MEMORY. Messages hold
 * nothing of the output but its apiVersion and kind. */
ki_status ki_exec_answer_parse(const ki_allocator *allocator, const char *api_version, ki_str output,
                               ki_exec_answer *ret_answer, ki_error *err);

/* RFC 3339, such as 2018-03-05T17:30:20-08:00, to seconds since 1970 (fractions are dropped). */
bool ki_rfc3339_to_seconds(ki_str text, int64_t *ret_seconds);

#endif
