/* exec_credential.c: what a credential plugin printed. */
#include "fuzz/fuzz.h"

#include "src/auth/exec_credential.h"
#include "src/auth/pem.h"
#include "src/base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char api_version[] = "client.authentication.k8s.io/v1";
    ki_str output = { (const char *)data, size };
    ki_exec_result result = { .expires = -1 };
    ki_error err = KI_ERROR_INIT;
    if (ki_exec_result_parse(&ki_allocator_default, api_version, output, &result, &err)) {
        fuzz_check(err.code == KI_ERR_CONFIG && err.message[0] && !result.token.data && result.expires == -1);
        return 0;
    }
    /* Either a token that a header can have, or a certificate with its key; or both. */
    fuzz_check(result.token.data || result.key.data);
    fuzz_check(!result.certificate.data == !result.key.data);
    for (size_t i = 0; i < result.token.size; i++)
        fuzz_check((unsigned char)result.token.data[i] >= 0x20 && result.token.data[i] != 0x7f);
    fuzz_check(!result.key.data || ki_pem_has_block((ki_str){ result.key.data, result.key.size }));
    ki_exec_result_clear(&ki_allocator_default, &result);
    fuzz_check(!result.token.data && !result.key.data);
    return 0;
}
