/* label.h: the rules for labels' names and values, and for the DNS names in them, with the API server's messages. */
#ifndef KI_OBJECT_LABEL_H
#define KI_OBJECT_LABEL_H

#include "src/base/string_view.h"

enum {
    KI_LABEL_MAX = 63,     /* bytes of a value, of a name without its prefix, and of a DNS label */
    KI_SUBDOMAIN_MAX = 253 /* bytes of a DNS subdomain, such as a name's prefix */
};

/* Each returns the API server's message, a static text; NULL if the text is valid. */
const char *ki_label_check_key(ki_str key); /* "app" or "example.com/app": a qualified name of metadata */
const char *ki_label_check_value(ki_str value);
const char *ki_label_check_subdomain(ki_str name); /* "example.com" */

/* Returns true for lower case letters, digits and inner hyphens, of any length. */
bool ki_is_dns_label(ki_str text);
/* Returns true for DNS labels with a dot between them, of any length. */
bool ki_is_subdomain(ki_str text);

#endif
