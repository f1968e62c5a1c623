/* template.h: what a pod and a pod template share: containers, volumes, tolerations. */
#ifndef CLI_DESCRIBE_TEMPLATE_H
#define CLI_DESCRIBE_TEMPLATE_H

#include "values.h"

/* Writes the containers under a heading. `pod` is the pod that they belong to, with the list `statuses` under its
 * status; NULL in a template. `space` is "  " in a template, else "". */
void write_containers(sheet *s, const char *title, yyjson_val *containers, yyjson_val *pod, const char *statuses,
                      const char *space);
void write_volumes(sheet *s, yyjson_val *volumes, const char *space);
void write_tolerations(sheet *s, const char *title, yyjson_val *tolerations);
void write_spread_constraints(sheet *s, yyjson_val *constraints, const char *space);
void write_scheduling_group(sheet *s, yyjson_val *group, const char *space);
/* Writes the limits and requests of a container or pod. */
void write_requirements(sheet *s, int level, yyjson_val *resources);
/* Writes a probe: "http-get http://:8080/healthz delay=5s ...". */
void write_probe(sheet *s, const char *title, yyjson_val *probe);
/* Writes the variables of a container. */
void write_environment(sheet *s, yyjson_val *container, yyjson_val *pod);

#endif
