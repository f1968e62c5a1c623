/* cron.h: checks a schedule of a CronJob, with the messages of the parser that Kubernetes uses (robfig/cron). Any
 * thread. */
#ifndef KT_VALUES_CRON_H
#define KT_VALUES_CRON_H

#include "src/base/buffer.h"

/* Appends the problem of a schedule, such as "expected exactly 5 fields, found 1: [x]"; nothing if it is valid.
 * Time zones are not looked up. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_cron_check(ki_str schedule, ki_buffer *ret_problem);

#endif
