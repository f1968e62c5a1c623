/* exec_credential.h: the input and output of a credential plugin: ExecCredential of client.authentication.k8s.io. Any
 * thread. */
#ifndef KI_AUTH_EXEC_CREDENTIAL_H
#define KI_AUTH_EXEC_CREDENTIAL_H

#include "src/auth/config.h"

/* The credentials that a plugin printed. Wiped when cleared. */
typedef struct ki_exec_result {
    ki_secret token;       /* not set: none */
    ki_secret certificate; /* both or none */
    ki_secret key;
    int64_t expires; /* seconds since 1970; INT64_MAX: unknown */
} ki_exec_result;

void ki_exec_result_clear(const ki_allocator *allocator, ki_exec_result *result);

/* Writes the JSON of KUBERNETES_EXEC_INFO. */
ki_status ki_exec_request(const ki_config *config, ki_buffer *out);

/* Parses a plugin's output. Errors: KI_ERR_PARSE (not JSON), KI_ERR_CONFIG (another version, no credentials, an invalid
 * date), KI_ERR_NO_MEMORY. Messages contain nothing of the output except its apiVersion and kind. */
ki_status ki_exec_result_parse(const ki_allocator *allocator, const char *api_version, ki_str output,
                               ki_exec_result *ret_result, ki_error *err);

#endif
