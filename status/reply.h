/* reply.h: what the server responds to a path. No sockets. Any thread. */
#ifndef KI_STATUS_REPLY_H
#define KI_STATUS_REPLY_H

#include "src/base/buffer.h"
#include "status/sampler.h"

enum {
    KI_REPLY_MAX = 16 * 1024 * 1024 /* bytes, before compression */
};

typedef struct ki_request_line {
    const char *method, *path;
    bool is_verbose;             /* the query has "verbose" */
    const char *accept;          /* header; NULL: none */
    const char *accept_encoding; /* header; NULL: none */
} ki_request_line;

typedef struct ki_reply {
    int status;               /* of HTTP */
    const char *content_type; /* static */
    bool is_packed;           /* with gzip */
    ki_buffer body;
} ki_reply;

/* What the replies are made of. */
typedef struct ki_reply_source {
    ki_sampler *sampler;
    const char *title, *process, *version; /* as of a ki_page */
    int64_t started_ns;
} ki_reply_source;

/* Makes a reply; without memory one of status 500 and an empty body.
 * Ownership: the caller frees `ret_reply->body`. */
void ki_reply_make(const ki_reply_source *source, const ki_request_line *request, ki_reply *ret_reply);

#endif
