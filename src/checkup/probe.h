/* probe.h: one connection to the server, step by step, for a person who wants to know how far it gets: name, TCP, TLS, HTTP.
 * A connection of its own, made and ended here. No token, password or plugin takes part: an answer that refuses is an answer. */
#ifndef KI_CHECKUP_PROBE_H
#define KI_CHECKUP_PROBE_H

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
    char subject[KI_PROBE_TEXT_MAX]; /* as the TLS library writes it: "CN = kube-apiserver"; longer ones are cut */
    char issuer[KI_PROBE_TEXT_MAX];
    char names[2 * KI_PROBE_TEXT_MAX]; /* the names and addresses that it is for */
    int64_t begins_s;                  /* since 1970; 0: could not be read */
    int64_t ends_s;
} ki_probe_certificate;

typedef struct ki_probe {
    ki_probe_step failed; /* the step that failed, or KI_PROBE_DONE */
    ki_error error;       /* of that step */
    bool is_https;
    char address[64]; /* of the peer; "" before there was one */
    int port;
    int64_t duration_us[KI_PROBE_DONE]; /* each step's own time; -1: not reached */
    int http_status;
    int http_version;                 /* 10, 11, 20, … */
    size_t chain;                     /* certificates that the server sent; also where they were not believed */
    ki_probe_certificate certificate; /* the server's own, where there are any */
    int64_t now_s;                    /* the wall clock when they were looked at */
} ki_probe;

/* Blocks: up to `timeout_ms`, twice that where a certificate is not believed. Errors: KI_ERR_NO_MEMORY and the like; that the server cannot be
 * reached is a result. Threads: any. */
ki_status ki_probe_run(const ki_config *config, int64_t timeout_ms, ki_probe *ret_probe, ki_error *err);

#endif
