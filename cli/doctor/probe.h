/* probe.h: connects to the server step by step, for diagnosis: name resolution, TCP, TLS, HTTP. Uses its own
 * connection, without token, password or plugin: an error response counts as a response. */
#ifndef KI_DOCTOR_PROBE_H
#define KI_DOCTOR_PROBE_H

#include <kinformer/config.h>

#include <stdbool.h>

enum {
    KI_PROBE_TEXT_MAX = 256
};

typedef enum ki_probe_step {
    KI_PROBE_NAME,
    KI_PROBE_TCP,
    KI_PROBE_TLS,
    KI_PROBE_HTTP,
    KI_PROBE_DONE
} ki_probe_step;

typedef struct ki_probe_certificate {
    char subject[KI_PROBE_TEXT_MAX]; /* as the TLS library writes it: "CN = kube-apiserver"; longer texts are cut */
    char issuer[KI_PROBE_TEXT_MAX];
    char names[2 * KI_PROBE_TEXT_MAX]; /* subject alternative names */
    int64_t begins_s;                  /* seconds since 1970; 0: unreadable */
    int64_t ends_s;
} ki_probe_certificate;

typedef struct ki_probe {
    ki_probe_step failed; /* the failed step, or KI_PROBE_DONE */
    ki_error error;       /* error of that step */
    bool is_https;
    char address[64]; /* the peer's address; "" without a connection */
    int port;
    int64_t duration_us[KI_PROBE_DONE]; /* each step's own time; -1: not reached */
    int http_status;
    int http_version;                 /* 10, 11, 20, … */
    size_t chain;                     /* number of certificates that the server sent, trusted or not */
    ki_probe_certificate certificate; /* the server's own certificate, if `chain` is not 0 */
    int64_t now_s;                    /* wall clock at the time of the check */
} ki_probe;

/* Runs the probe. Blocks: up to `timeout_ms`, twice that for an untrusted certificate. Errors: KI_ERR_NO_MEMORY and the
 * like; an unreachable server is a result, not an error. Threads: any. */
ki_status ki_probe_run(const ki_config *config, int64_t timeout_ms, ki_probe *ret_probe, ki_error *err);

#endif
