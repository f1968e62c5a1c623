/* access.h: authentication and authorization of the embedded server: tokens, client certificates, rules, and HTTPS
 * certificates. All of them can change while the server runs, to test how a client handles it.
 *
 * Authentication. A server started without `tls` and `rbac` accepts every request, until a token is added. From then
 * on, and always with `tls` or `rbac`, requests through the network need a token or a client certificate. Requests
 * without either are from system:anonymous, who may only read /version and the health endpoints. A server that accepts
 * every request rejects those of web pages of other sites: with a Host that is neither localhost nor an address, or
 * with an Origin that is neither of a loopback host nor equal to Host.
 *
 * Authorization. A user may do what a rule allows or, with `rbac`, a role. Without rules and `rbac` every authenticated
 * user may do everything. Members of system:masters may always do everything. A user with the verb impersonate can act
 * as another user, with the headers Impersonate-User, Impersonate-Group and Impersonate-Uid. The functions of these
 * headers are not subject to either check. */
#ifndef KINFORMER_TESTING_ACCESS_H
#define KINFORMER_TESTING_ACCESS_H

#include <kinformer-testing/server.h>

KI_BEGIN_DECLS

/* Returns the token of the user kinformer-admin, a member of system:masters, which a server with `tls` or `rbac` makes
 * and writes to its kubeconfigs; NULL for other servers. Ownership: borrowed from `server`. Blocks: no. */
KI_API const char *ki_testing_server_token(const ki_testing_server *server);

/* Adds a token: "token=SECRET,user=jane,groups=dev+ops,uid=7". groups and uid are optional.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT (more than 4,096 tokens), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_add_token(ki_testing_server *server, const char *token, ki_error *err);

/* Removes the token `secret`. Later requests with the token get 401. Open watches continue, as on a real server.
 * Errors: KI_ERR_NOT_FOUND. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_remove_token(ki_testing_server *server, const char *secret,
                                                              ki_error *err);

/* Adds a rule: "user=jane,verb=get+list+watch,resource=pods+deployments.apps,namespace=default,name=web". group=NAME
 * can replace user, and path=/metrics can replace resource. A missing part matches everything. A star at the end of a
 * value matches any rest. A resource without a group is of the core group.
 * Errors: KI_ERR_INVALID (also for a rule that can match no request, with the nearest right word), KI_ERR_LIMIT (more
 * than 1,024 rules), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_allow(ki_testing_server *server, const char *rule, ki_error *err);

/* Removes all rules. Without `rbac` every authenticated user may do everything then. To deny everything to one user,
 * keep a rule for another user. */
KI_API void ki_testing_server_clear_rules(ki_testing_server *server);

/* Gets the CA certificate that clients must trust, as PEM.
 * Ownership: as ki_testing_server_request. Errors: KI_ERR_STATE (a server without TLS), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_ca(ki_testing_server *server, ki_testing_text *ret_pem, ki_error *err);

/* Issues a client certificate with its key, as PEM. The common name is `user`, the organizations are `groups`
 * ("dev+ops"; may be NULL). The certificate is valid for `seconds`; with a negative value it expired an hour ago.
 * Ownership: the caller empties both texts with ki_testing_text_clear.
 * Errors: KI_ERR_STATE (a server without TLS, or with a certificate from files), KI_ERR_INVALID, KI_ERR_TLS,
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_issue_certificate(ki_testing_server *server, const char *user,
                                                                   const char *groups, int64_t seconds,
                                                                   ki_testing_text *ret_pem, ki_testing_text *ret_key,
                                                                   ki_error *err);

/* Replaces the server's certificate, and closes all connections. With `new_ca` also replaces the CA: client
 * certificates of the old CA are no longer accepted. Blocks: until the server serves again.
 * Errors: as ki_testing_server_issue_certificate; KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_renew_certificate(ki_testing_server *server, bool new_ca,
                                                                   ki_error *err);

/* Restarts the HTTP server: closes all connections, and accepts none for `down_ms`. Objects and settings stay.
 * Blocks: for `down_ms`. Errors: KI_ERR_SYSTEM (another program took the port meanwhile). */
KI_API KI_MUST_CHECK ki_status ki_testing_server_restart(ki_testing_server *server, int64_t down_ms, ki_error *err);

KI_END_DECLS

#endif
