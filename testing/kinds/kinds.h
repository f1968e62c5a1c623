/* kinds.h: checks of several fields together, one function for each kind. validate_object.c lists the
 * functions, and checks single fields by tables of rules. */
#ifndef KT_KINDS_KINDS_H
#define KT_KINDS_KINDS_H

#include "testing/validation/checked.h"

/* validate_access.c */
void kt_check_role(kt_checked *c); /* ClusterRoles too: `what` is the kind */
void kt_check_role_binding(kt_checked *c);
void kt_check_priority_class(kt_checked *c);

/* validate_data.c */
void kt_check_config_map(kt_checked *c);
void kt_check_revision(kt_checked *c);
void kt_check_secret(kt_checked *c);

/* validate_network.c */
void kt_check_endpoints(kt_checked *c);
void kt_check_endpoint_slice(kt_checked *c);
void kt_check_network_policy(kt_checked *c);
void kt_check_service_cidr(kt_checked *c);

/* validate_capacity.c */
void kt_check_limit_range(kt_checked *c);
void kt_check_node(kt_checked *c);
void kt_check_node_status(kt_checked *c);
void kt_check_resource_quota(kt_checked *c);
void kt_check_resource_quota_status(kt_checked *c);

/* validate_scaling.c */
void kt_check_disruption_budget(kt_checked *c);
void kt_check_pod_autoscaler(kt_checked *c);

/* validate_volume.c */
/* Checks the spec of a claim, also in a template. */
void kt_check_claim_spec(kt_causes *causes, const char *path, yyjson_val *spec);
void kt_check_volume(kt_checked *c);
void kt_check_volume_attachment(kt_checked *c);
void kt_check_volume_claim(kt_checked *c);

/* validate_status.c */
void kt_check_pod_status(kt_checked *c);
void kt_check_workload_status(kt_checked *c); /* `what` is the kind */

/* validate_event.c */
void kt_check_event(kt_checked *c);

/* validate_flow.c */
void kt_check_flow_schema(kt_checked *c);
void kt_check_priority_level(kt_checked *c);

/* validate_policy.c */
void kt_check_api_service(kt_checked *c);
void kt_check_policy_binding(kt_checked *c); /* `what` is "validating" or "mutating" */

/* validate_webhook.c */
/* Checks a RuleWithOperations, also of an admission policy. */
void kt_check_webhook_rule(kt_checked *c, const char *path, yyjson_val *rule);
void kt_check_webhooks(kt_checked *c);

/* validate_claim.c */
void kt_check_resource_claim(kt_checked *c);
void kt_check_resource_claim_status(kt_checked *c);
void kt_check_resource_claim_template(kt_checked *c);

#endif
