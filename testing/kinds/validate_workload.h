/* validate_workload.h: checks the kinds that have a template of a pod. validate_object.c calls it. */
#ifndef KT_KINDS_VALIDATE_WORKLOAD_H
#define KT_KINDS_VALIDATE_WORKLOAD_H

#include "testing/validation/checked.h"

void kt_check_deployment(kt_checked *c);
void kt_check_replica_set(kt_checked *c);
void kt_check_daemon_set(kt_checked *c);
void kt_check_stateful_set(kt_checked *c);
void kt_check_job(kt_checked *c);
void kt_check_cron_job(kt_checked *c);
void kt_check_replication(kt_checked *c);
void kt_check_pod_template(kt_checked *c);

#endif
