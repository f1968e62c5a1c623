/* auth.h: users, their tokens and the rules for them. authorize.h decides about requests. Part of a cluster; the caller
 * holds the cluster.
 *
 * A request that did not come through the network (tests, the load, the simulation) is allowed everything. Other
 * requests authenticate by bearer token or client certificate; without one the user is system:anonymous. A server
 * that never had a token or client CA is open: every user is allowed everything. */
#ifndef KT_ACCESS_AUTH_H
#define KT_ACCESS_AUTH_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

#include <stdbool.h>

enum {
    KT_GROUPS_MAX = 128, /* of one user; impersonation of more groups is an error */
    KT_GROUPS_OWN = 4,   /* of these, reserved for groups that the server adds */
    KT_TOKENS_MAX = 4096,
    KT_RULES_MAX = 1024,
    KT_TOKEN_SIZE_MAX = 4096
};

/* A user. All members are borrowed. */
typedef struct kt_user {
    ki_str name;
    ki_str uid;
    ki_str groups[KT_GROUPS_MAX];
    size_t group_count;
} kt_user;

typedef struct kt_token kt_token;
typedef struct kt_rule kt_rule;

typedef struct kt_auth {
    const ki_allocator *allocator;
    kt_token *tokens;
    size_t token_count;
    kt_rule *rules;
    size_t rule_count;
    bool closed;     /* requests from the network must authenticate */
    bool rbac;       /* Roles, ClusterRoles and bindings apply */
    bool was_closed; /* at the start (kt_auth_keep_start) */
} kt_auth;

/* A request as authorization sees it. */
typedef struct kt_attributes {
    ki_str verb;  /* "list"; for paths that are no resources, the method in lower case */
    bool of_path; /* only `verb` and `path` count */
    ki_str path;
    ki_str group;
    ki_str resource;
    ki_str subresource;
    ki_str ns;
    ki_str name;
} kt_attributes;

void kt_auth_init(kt_auth *auth, const ki_allocator *allocator);
void kt_auth_free(kt_auth *auth);

/* Adds a token: "token=SECRET,user=jane,groups=dev+ops,uid=1". Errors: KI_ERR_INVALID, KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
ki_status kt_auth_add_token(kt_auth *auth, const char *line, ki_error *err);
/* Removes a token. Errors: KI_ERR_NOT_FOUND. */
ki_status kt_auth_remove_token(kt_auth *auth, const char *secret, ki_error *err);
/* Adds a rule:
 * "user=jane,verb=get+list+watch,resource=pods+deployments.apps+pods/status,namespace=default,name=a+b", "group=…",
 * "path=/metrics". A missing field matches everything. A rule needs a user or a group. Errors as for tokens. */
ki_status kt_auth_add_rule(kt_auth *auth, const char *line, ki_error *err);
void kt_auth_clear_rules(kt_auth *auth);
/* Keeps the present tokens and rules. The second function removes those that were added since. */
void kt_auth_keep_start(kt_auth *auth);
void kt_auth_return_to_start(kt_auth *auth);

/* Gets the oldest token that does not expire of each user, the oldest first, except the one with `secret`. `*at` is 0
 * at first. False after the last one. */
bool kt_auth_next_token(const kt_auth *auth, const char *secret, size_t *at, ki_str *ret_secret, ki_str *ret_user);
/* Makes the token that was added last expire at `expires_ms`, and earlier if its service account is deleted or
 * replaced. */
void kt_auth_bind_newest(kt_auth *auth, int64_t expires_ms);
/* Removes expired tokens. */
void kt_auth_drop_expired(kt_auth *auth, int64_t now_ms);
/* Returns true if a rule allows the request. */
bool kt_auth_rules_allow(const kt_auth *auth, const kt_user *user, const kt_attributes *wanted);
/* Returns each rule that applies to `user`. `*at` starts as NULL. False after the last one. */
typedef struct kt_rule_text { /* lists such as "a+b"; data NULL: everything */
    ki_str verbs;
    ki_str resources;
    ki_str namespaces;
    ki_str names;
    ki_str paths;
} kt_rule_text;
bool kt_auth_next_rule(const kt_auth *auth, const kt_user *user, const kt_rule **at, kt_rule_text *ret_rule);
/* Returns true if the user is in the group. */
bool kt_user_is_in(const kt_user *user, const char *group);
/* Adds a group if there is room. */
void kt_user_join(kt_user *user, ki_str group);

struct kt_cluster;
/* Finds a token's user. `*ret_user` borrows from the cluster. Returns false if the token is unknown or expired, or
 * its service account is gone. */
bool kt_auth_find(const struct kt_cluster *cluster, ki_str token, int64_t now_ms, kt_user *ret_user);

#endif
