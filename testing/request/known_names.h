/* known_names.h: checks the verbs, resources and paths that a rule or a fault names, so that none silently matches
 * nothing. Any thread.
 *
 * A resource is written as PLURAL.GROUP, and a resource of the core group as PLURAL alone. A name with a group that is
 * not built in can become a custom resource later, and passes. */
#ifndef KT_REQUEST_KNOWN_NAMES_H
#define KT_REQUEST_KNOWN_NAMES_H

#include <kinformer/error.h>

#include "testing/values/spec.h"

typedef enum kt_names_of {
    KT_NAMES_OF_RULE, /* also verbs and resources that only authorization has, such as impersonate and users */
    KT_NAMES_OF_FAULT
} kt_names_of;

/* Checks the fields verb, resource, namespace, name and path of a line. The error suggests the right word.
 * Errors: KI_ERR_INVALID. */
ki_status kt_known_names_check(const kt_spec *spec, kt_names_of what, ki_error *err);

#endif
