/* list_options.h: parses and checks the query parameters of a list or watch, as the real server does. */
#ifndef KT_REQUEST_LIST_OPTIONS_H
#define KT_REQUEST_LIST_OPTIONS_H

#include "testing/request/call.h"

typedef enum kt_match {
    KT_MATCH_UNSET,
    KT_MATCH_EXACT,
    KT_MATCH_NOT_OLDER
} kt_match;

typedef struct kt_list_options {
    bool watch;
    int64_t limit; /* 0: none */
    ki_str continue_token;
    ki_str resource_version; /* the parameter's text; "" and "0" have special meanings */
    uint64_t revision;       /* `resource_version` as a number */
    kt_match match;
    bool has_send_initial; /* sendInitialEvents is present */
    bool send_initial;
    bool bookmarks;
    int64_t timeout_s; /* seconds; -1: none */
} kt_list_options;

ki_status kt_list_options_parse(kt_call *call, kt_list_options *ret_options);
/* Responds 504: the revision is newer than the cluster's. */
ki_status kt_fail_too_large(kt_call *call, uint64_t revision);
/* Appends the same Status, for a watch. */
ki_status kt_append_too_large(ki_buffer *out, uint64_t revision, uint64_t current);

#endif
