/* auth.c: tokens and rules (auth.h). */
#include "testing/access/auth.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/object.h"
#include "testing/cluster/storage.h"
#include "testing/request/known_names.h"
#include "testing/values/spec.h"

struct kt_token {
    kt_token *next;
    kt_spec spec;
    ki_str secret;
    kt_user user;
    int64_t expires_ms; /* 0: never; otherwise a service account's token */
    bool is_start;      /* kept by kt_auth_keep_start */
};

struct kt_rule {
    kt_rule *next;
    kt_spec spec;
    bool is_start;
};

void kt_auth_init(kt_auth *auth, const ki_allocator *allocator) {
    *auth = (kt_auth){ .allocator = allocator };
}

static void free_token(const kt_auth *auth, kt_token *token) {
    kt_spec_free(&token->spec);
    ki_free(auth->allocator, token);
}

/* Removes the rules, or those that were added since the start. */
static void remove_rules(kt_auth *auth, bool since_start) {
    for (kt_rule **place = &auth->rules; *place;) {
        kt_rule *rule = *place;
        if (since_start && rule->is_start) {
            place = &rule->next;
            continue;
        }
        *place = rule->next;
        kt_spec_free(&rule->spec);
        ki_free(auth->allocator, rule);
        auth->rule_count--;
    }
}

void kt_auth_clear_rules(kt_auth *auth) {
    remove_rules(auth, false);
}

void kt_auth_keep_start(kt_auth *auth) {
    for (kt_token *token = auth->tokens; token; token = token->next)
        token->is_start = true;
    for (kt_rule *rule = auth->rules; rule; rule = rule->next)
        rule->is_start = true;
    auth->was_closed = auth->closed;
}

void kt_auth_return_to_start(kt_auth *auth) {
    for (kt_token **place = &auth->tokens; *place;) {
        kt_token *token = *place;
        if (token->is_start) {
            place = &token->next;
            continue;
        }
        *place = token->next;
        auth->token_count--;
        free_token(auth, token);
    }
    remove_rules(auth, true);
    auth->closed = auth->was_closed;
}

void kt_auth_free(kt_auth *auth) {
    if (!auth->allocator)
        return;
    kt_auth_clear_rules(auth);
    while (auth->tokens) {
        kt_token *token = auth->tokens;
        auth->tokens = token->next;
        free_token(auth, token);
    }
    auth->token_count = 0;
}

/* ---- tokens ---- */

/* Compares in constant time. */
static bool same_secret(ki_str a, ki_str b) {
    unsigned char differs = a.size != b.size;
    for (size_t i = 0; i < a.size && i < b.size; i++)
        differs |= (unsigned char)(a.data[i] ^ b.data[i]);
    return !differs;
}

static const kt_token *find_token(const kt_auth *auth, ki_str secret) {
    const kt_token *token = auth->tokens;
    while (token && !same_secret(token->secret, secret))
        token = token->next;
    return token;
}

/* Returns true if the account system:serviceaccount:NAMESPACE:NAME exists with the uid of the token. */
static bool has_account(const kt_cluster *cluster, const kt_user *user) {
    ki_str rest = user->name, ns;
    for (int i = 0; i < 2; i++)
        ki_str_split(rest, ':', &rest);
    ns = ki_str_split(rest, ':', &rest);
    const kt_object *account = kt_storage_get(kt_storage_of(cluster, KI_SERVICEACCOUNTS), ns, rest);
    return account && ki_str_equal(account->uid, user->uid);
}

bool kt_auth_find(const kt_cluster *cluster, ki_str secret, int64_t now_ms, kt_user *ret_user) {
    KT_HOLDS(cluster);
    const kt_token *token = find_token(&cluster->auth, secret);
    if (!token || (token->expires_ms && (token->expires_ms <= now_ms || !has_account(cluster, &token->user))))
        return false;
    *ret_user = token->user;
    return true;
}

/* Returns true if an older token than this one has the same user. */
static bool has_older(const kt_token *token) {
    const kt_token *older = token->next;
    while (older && (older->expires_ms || !ki_str_equal(older->user.name, token->user.name)))
        older = older->next;
    return older;
}

bool kt_auth_next_token(const kt_auth *auth, const char *secret, size_t *at, ki_str *ret_secret, ki_str *ret_user) {
    while (*at < auth->token_count) {
        const kt_token *token = auth->tokens; /* the newest first */
        for (size_t i = auth->token_count - 1; i > *at; i--)
            token = token->next;
        ++*at;
        if (token->expires_ms || ki_str_equals(token->secret, secret) || has_older(token))
            continue;
        *ret_secret = token->secret;
        *ret_user = token->user.name;
        return true;
    }
    return false;
}

void kt_auth_bind_newest(kt_auth *auth, int64_t expires_ms) {
    auth->tokens->expires_ms = expires_ms;
}

void kt_auth_drop_expired(kt_auth *auth, int64_t now_ms) {
    for (kt_token **place = &auth->tokens; *place;) {
        kt_token *token = *place;
        if (!token->expires_ms || token->expires_ms > now_ms) {
            place = &token->next;
            continue;
        }
        *place = token->next;
        auth->token_count--;
        free_token(auth, token);
    }
}

bool kt_user_is_in(const kt_user *user, const char *group) {
    for (size_t i = 0; i < user->group_count; i++) {
        if (ki_str_equals(user->groups[i], group))
            return true;
    }
    return false;
}

void kt_user_join(kt_user *user, ki_str group) {
    if (group.size && user->group_count < KT_GROUPS_MAX)
        user->groups[user->group_count++] = group;
}

static bool is_printable(ki_str text) {
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    }
    return text.size > 0;
}

ki_status kt_auth_add_token(kt_auth *auth, const char *line, ki_error *err) {
    static const char *const known[] = { "token", "user", "groups", "uid", NULL };
    if (auth->token_count == KT_TOKENS_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "there are %d tokens, and no room for more", (int)KT_TOKENS_MAX);
    kt_token *token = ki_alloc_zero(auth->allocator, sizeof *token);
    if (!token)
        return ki_error_no_memory(err, "adding a token");
    ki_status status = kt_spec_parse(auth->allocator, "a token", known, line, &token->spec, err);
    if (!status) {
        const kt_token *existing = find_token(auth, kt_spec_get(&token->spec, "token"));
        ki_str groups = kt_spec_get(&token->spec, "groups");
        token->secret = kt_spec_get(&token->spec, "token");
        token->user.name = kt_spec_get(&token->spec, "user");
        token->user.uid = kt_spec_get(&token->spec, "uid");
        if (token->spec.kind.size || !is_printable(token->secret) || !token->user.name.size)
            status = ki_error_set(err, KI_ERR_INVALID, "a token is written as token=SECRET,user=NAME[,groups=A+B]");
        else if (token->secret.size > KT_TOKEN_SIZE_MAX)
            status = ki_error_set(err, KI_ERR_LIMIT, "a token of more than %d bytes", (int)KT_TOKEN_SIZE_MAX);
        else if (existing)
            status = ki_error_set(err, KI_ERR_INVALID, "this token is there already: that of user %.*s",
                                  (int)existing->user.name.size, existing->user.name.data);
        while (!status && groups.size) {
            ki_str group = ki_str_split(groups, '+', &groups);
            if (token->user.group_count + 1 == KT_GROUPS_MAX) /* system:authenticated is added later */
                status = ki_error_set(err, KI_ERR_LIMIT, "a user is in at most %d groups", (int)KT_GROUPS_MAX - 1);
            else
                kt_user_join(&token->user, group);
        }
    }
    if (status) {
        free_token(auth, token);
        return status;
    }
    token->next = auth->tokens;
    auth->tokens = token;
    auth->token_count++;
    auth->closed = true;
    return KI_OK;
}

ki_status kt_auth_remove_token(kt_auth *auth, const char *secret, ki_error *err) {
    for (kt_token **place = &auth->tokens; *place; place = &(*place)->next) {
        kt_token *token = *place;
        if (!ki_str_equals(token->secret, secret))
            continue;
        *place = token->next;
        auth->token_count--;
        free_token(auth, token);
        return KI_OK;
    }
    return ki_error_set(err, KI_ERR_NOT_FOUND, "there is no such token");
}

/* ---- rules ---- */

ki_status kt_auth_add_rule(kt_auth *auth, const char *line, ki_error *err) {
    static const char *const known[] = { "user", "group", "verb", "resource", "namespace", "name", "path", NULL };
    if (auth->rule_count == KT_RULES_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "there are %d rules, and no room for more", (int)KT_RULES_MAX);
    kt_rule *rule = ki_alloc_zero(auth->allocator, sizeof *rule);
    if (!rule)
        return ki_error_no_memory(err, "adding a rule");
    ki_status status = kt_spec_parse(auth->allocator, "a rule", known, line, &rule->spec, err);
    if (!status &&
        (rule->spec.kind.size || (!kt_spec_get(&rule->spec, "user").size && !kt_spec_get(&rule->spec, "group").size)))
        status = ki_error_set(err, KI_ERR_INVALID,
                              "a rule is written as user=NAME or group=NAME, then verb=, resource=, namespace=, name= "
                              "or path=: user=jane,verb=get+list+watch,resource=pods");
    if (!status)
        status = kt_known_names_check(&rule->spec, KT_NAMES_OF_RULE, err);
    if (status) {
        kt_spec_free(&rule->spec);
        ki_free(auth->allocator, rule);
        return status;
    }
    kt_rule **end = &auth->rules;
    while (*end)
        end = &(*end)->next;
    *end = rule;
    auth->rule_count++;
    return KI_OK;
}

/* Returns true if `list` contains the resource: "pods", "deployments.apps", "pods/status"; a star at the end matches
 * any rest. */
static bool has_resource(ki_str list, const kt_attributes *wanted) {
    char text[256];
    size_t size = wanted->resource.size;
    if (!list.data || ki_str_equals(list, "*"))
        return true;
    if (size + wanted->group.size + wanted->subresource.size + 3 > sizeof text)
        return false;
    memcpy(text, wanted->resource.data, size);
    if (wanted->group.size) {
        text[size++] = '.';
        memcpy(text + size, wanted->group.data, wanted->group.size);
        size += wanted->group.size;
    }
    if (wanted->subresource.size) {
        text[size++] = '/';
        memcpy(text + size, wanted->subresource.data, wanted->subresource.size);
        size += wanted->subresource.size;
    }
    return kt_spec_list_has(list, (ki_str){ text, size });
}

static bool rule_is_about(const kt_spec *spec, const kt_user *user) {
    ki_str name = kt_spec_get(spec, "user"), group = kt_spec_get(spec, "group");
    if (name.data && !kt_spec_list_has(name, user->name))
        return false;
    if (!group.data)
        return true;
    for (size_t i = 0; i < user->group_count; i++) {
        if (kt_spec_list_has(group, user->groups[i]))
            return true;
    }
    return false;
}

static bool rule_allows(const kt_spec *spec, const kt_user *user, const kt_attributes *wanted) {
    ki_str path = kt_spec_get(spec, "path");
    if (!rule_is_about(spec, user) || !kt_spec_list_has(kt_spec_get(spec, "verb"), wanted->verb))
        return false;
    if (wanted->of_path)
        return path.data ? kt_spec_list_has(path, wanted->path) : !kt_spec_get(spec, "resource").data;
    ki_str namespaces = kt_spec_get(spec, "namespace"), names = kt_spec_get(spec, "name");
    return !path.data && has_resource(kt_spec_get(spec, "resource"), wanted) &&
           (!namespaces.data || (wanted->ns.size && kt_spec_list_has(namespaces, wanted->ns))) &&
           (!names.data || (wanted->name.size && kt_spec_list_has(names, wanted->name)));
}

bool kt_auth_rules_allow(const kt_auth *auth, const kt_user *user, const kt_attributes *wanted) {
    for (const kt_rule *rule = auth->rules; rule; rule = rule->next) {
        if (rule_allows(&rule->spec, user, wanted))
            return true;
    }
    return false;
}

bool kt_auth_next_rule(const kt_auth *auth, const kt_user *user, const kt_rule **at, kt_rule_text *ret_rule) {
    const kt_rule *rule = *at ? (*at)->next : auth->rules;
    while (rule && !rule_is_about(&rule->spec, user))
        rule = rule->next;
    if (!rule)
        return false;
    *at = rule;
    *ret_rule = (kt_rule_text){ kt_spec_get(&rule->spec, "verb"), kt_spec_get(&rule->spec, "resource"),
                                kt_spec_get(&rule->spec, "namespace"), kt_spec_get(&rule->spec, "name"),
                                kt_spec_get(&rule->spec, "path") };
    return true;
}
