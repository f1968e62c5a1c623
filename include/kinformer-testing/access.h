/* access.h: who may use the embedded server, and for what: tokens, client certificates, rules, and the certificates of HTTPS. For the tests
 * of a client's credentials: they can be given, taken away and renewed while the server runs.
 *
 * A server is open, and everybody may do everything, until it is started with `tls`, `rbac` or a token, or is given a token. From then
 * on requests through the network need a token or a certificate (else they are system:anonymous, which may see /version and health only);
 * who is let in may do what a rule or, with `rbac`, a role allows. Without rules and roles that is everything. Members of system:masters
 * may always do everything. Who may `impersonate` users, groups, serviceaccounts and uids is whom its Impersonate-User, -Group and -Uid
 * headers name. The calls of these headers are not asked who they are. */
#ifndef KINFORMER_TESTING_ACCESS_H
#define KINFORMER_TESTING_ACCESS_H

#include <kinformer-testing/server.h>

KI_BEGIN_DECLS

/* The token of the user kinformer-admin (a member of system:masters) that a server with `tls` or `rbac` makes itself, and that its
 * kubeconfigs have; NULL on a server without. Ownership: borrowed. Blocks: no. */
KI_API const char *ki_testing_server_token(const ki_testing_server *server);

/* Adds a token: "token=SECRET,user=jane,groups=dev+ops,uid=7"; groups and uid may be left out. At most 4,096 of them.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_add_token(ki_testing_server *server, const char *token, ki_error *err);

/* Takes a token away, by its secret: requests with it get 401 from now on. Watches that are open go on, as on a real server.
 * Errors: KI_ERR_NOT_FOUND. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_remove_token(ki_testing_server *server, const char *secret,
                                                              ki_error *err);

/* Adds a rule: "user=jane,verb=get+list+watch,resource=pods+deployments.apps,namespace=default,name=web", or with group=NAME
 * in place of the user, or path=/metrics in place of the resource. What is left out is all; a star at a word's end is any rest. At most
 * 1,024 of them. Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_allow(ki_testing_server *server, const char *rule, ki_error *err);

/* Takes all rules away: everybody who is let in may do everything then. To take everything from one user, let a rule that
 * is not about them stay. */
KI_API void ki_testing_server_clear_rules(ki_testing_server *server);

/* The certificate that clients have to trust, as PEM.
 * Ownership: `*ret_pem` as in ki_testing_server_request. Errors: KI_ERR_STATE on a server without TLS, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_ca(ki_testing_server *server, ki_testing_text *ret_pem, ki_error *err);

/* A client certificate with its key, as PEM: the common name is the user, the organisations are the groups ("dev+ops"; may be NULL).
 * Valid for `seconds` from now; over since an hour where that is negative.
 * Ownership: the caller's, both to be freed with ki_testing_text_clear. Errors: KI_ERR_STATE on a server without TLS or with a certificate
 * from files, KI_ERR_INVALID, KI_ERR_TLS, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_issue_certificate(ki_testing_server *server, const char *user,
                                                                   const char *groups, int64_t seconds,
                                                                   ki_testing_text *ret_pem, ki_testing_text *ret_key,
                                                                   ki_error *err);

/* Another certificate for the server, and with `new_ca` another CA: clients' certificates of the old one are not accepted any more. All
 * connections are cut. Blocks: until the server serves again. Errors: as above, and KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_renew_certificate(ki_testing_server *server, bool new_ca,
                                                                   ki_error *err);

/* Restarts the HTTP server: all connections are cut; for `down_ms` new ones are refused. What it knows stays.
 * Blocks: for so long. Errors: KI_ERR_SYSTEM where its port was taken meanwhile. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_restart(ki_testing_server *server, int64_t down_ms, ki_error *err);

KI_END_DECLS

#endif
