/* request_match.c: see request_match.h. */
#include "testing/request/request_match.h"

#include <stdio.h>

kt_request_facts kt_request_facts_of(const kt_call *call, kt_facts_space *space) {
    kt_attributes wanted;
    ki_str rest;
    kt_call_describe(call, space->verb, &wanted);
    kt_request_facts facts = { .verb = wanted.verb,
                               .ns = call->ns,
                               .name = wanted.name,
                               .path = ki_str_split(ki_str_of(call->request->target), '?', &rest),
                               .user_agent = ki_str_of(call->request->user_agent) };
    const ki_resource *resource = call->resource;
    if (!resource)
        return facts;
    int size = snprintf(space->resource, sizeof space->resource, "%s%s%s%s%.*s", resource->plural,
                        resource->group[0] ? "." : "", resource->group, call->subresource.size ? "/" : "",
                        (int)call->subresource.size, call->subresource.size ? call->subresource.data : "");
    if (size > 0 && (size_t)size < sizeof space->resource)
        facts.resource = (ki_str){ space->resource, (size_t)size };
    return facts;
}

static bool has(const kt_spec *spec, const char *field, ki_str value) {
    return kt_spec_list_has(kt_spec_get(spec, field), value);
}

bool kt_request_matches(const kt_spec *spec, const kt_request_facts *facts) {
    ki_str resources = kt_spec_get(spec, "resource");
    return has(spec, "verb", facts->verb) && (!resources.data || facts->resource.data) &&
           has(spec, "resource", facts->resource) && has(spec, "name", facts->name) &&
           has(spec, "namespace", facts->ns) && has(spec, "path", facts->path) &&
           has(spec, "user-agent", facts->user_agent);
}
