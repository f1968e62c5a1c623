/* auth.h: who asks, and what they may: tokens, a list of rules, RBAC objects. Belongs to a cluster, under its guard.
 *
 * A request that did not come through the network (tests, the load, the simulation) may do everything. One that did is let in by its
 * bearer token or client certificate, else it is system:anonymous. As long as no token was ever given out and no client CA is
 * set the server is open: everybody is let in and may do everything. */
#ifndef KT_ACCESS_AUTH_H
#define KT_ACCESS_AUTH_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

#include <stdbool.h>

enum {
    KT_GROUPS_MAX = 128, /* of one user; impersonation of one with more is refused */
    KT_GROUPS_OWN = 4,   /* of these, room for the groups that the server adds */
    KT_TOKENS_MAX = 4096,
    KT_RULES_MAX = 1024,
    KT_TOKEN_SIZE_MAX = 4096
};

/* Everything is borrowed. */
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
    bool closed; /* the network has to say who it is */
    bool rbac;   /* Role, ClusterRole and their bindings count */
} kt_auth;

/* What somebody wants to do. */
typedef struct kt_attributes {
    ki_str verb;  /* "list"; of paths that are no resources the method in small letters */
    bool of_path; /* then only `path` counts */
    ki_str path;
    ki_str group;
    ki_str resource;
    ki_str subresource;
    ki_str ns;
    ki_str name;
} kt_attributes;

void kt_auth_init(kt_auth *auth, const ki_allocator *allocator);
void kt_auth_free(kt_auth *auth);

/* "token=SECRET,user=jane,groups=dev+ops,uid=1". Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_auth_add_token(kt_auth *auth, const char *line, ki_error *err);
/* KI_ERR_NOT_FOUND where there is no such token. */
ki_status kt_auth_remove_token(kt_auth *auth, const char *secret, ki_error *err);
/* "user=jane,verb=get+list+watch,resource=pods+deployments.apps+pods/status,namespace=default,name=a+b", "group=…",
 * "path=/metrics". A field that is not there matches everything; a rule needs a user or a group. */
ki_status kt_auth_add_rule(kt_auth *auth, const char *line, ki_error *err);
void kt_auth_clear_rules(kt_auth *auth);

/* The head of the tokens, which was added last, ends then, and when its service account goes, by name or uid. */
void kt_auth_bind_newest(kt_auth *auth, int64_t expires_ms);
/* Forgets the tokens that have ended. */
void kt_auth_drop_expired(kt_auth *auth, int64_t now_ms);
/* Does one of the rules allow it? */
bool kt_auth_rules_allow(const kt_auth *auth, const kt_user *user, const kt_attributes *wanted);
/* Walks the rules about `user`: start with *at NULL; false at the end. */
typedef struct kt_rule_text { /* lists as "a+b"; data NULL: everything */
    ki_str verbs;
    ki_str resources;
    ki_str namespaces;
    ki_str names;
    ki_str paths;
} kt_rule_text;
bool kt_auth_next_rule(const kt_auth *auth, const kt_user *user, const kt_rule **at, kt_rule_text *ret_rule);
bool kt_user_is_in(const kt_user *user, const char *group);
/* Adds a group, where there is room. */
void kt_user_join(kt_user *user, ki_str group);

struct kt_cluster;
/* Whose token it is: `*ret_user` points into the cluster. False where it is nobody's, has expired, or its service account is not there. */
bool kt_auth_find(const struct kt_cluster *cluster, ki_str token, int64_t now_ms, kt_user *ret_user);
/* May `user`? `ret_why` (may be NULL) gets what RBAC says of its reasons, empty for other grounds. */
bool kt_auth_allows(const struct kt_cluster *cluster, const kt_user *user, const kt_attributes *wanted, char *ret_why,
                    size_t why_size);

struct kt_call;
/* Lets a call in, or answers it with 401 or 403. */
ki_status kt_auth_check(struct kt_call *call);
/* For a patch that is about to create the object: 403 where the user may not do that. */
ki_status kt_auth_check_create(struct kt_call *call);
/* Where it asks to be done in somebody else's name: makes it theirs, or answers it with 403. */
ki_status kt_impersonate(struct kt_call *call);
/* Who the call is from, or in whose name. */
const kt_user *kt_call_user(const struct kt_call *call);

#endif
