/* describe.c: see describe.h. */
#include "describe.h"

#include "values.h"

#include <string.h>

described_kind described_kind_of(yyjson_val *object) {
    static const struct {
        const char *api_version, *kind;
        described_kind layout;
    } known[] = { { "v1", "Pod", DESCRIBED_POD },
                  { "v1", "Node", DESCRIBED_NODE },
                  { "v1", "Service", DESCRIBED_SERVICE },
                  { "v1", "Secret", DESCRIBED_SECRET },
                  { "v1", "ConfigMap", DESCRIBED_CONFIG_MAP },
                  { "apps/v1", "Deployment", DESCRIBED_DEPLOYMENT } };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(text_at(object, "apiVersion"), known[i].api_version) == 0 &&
            strcmp(text_at(object, "kind"), known[i].kind) == 0)
            return known[i].layout;
    }
    return DESCRIBED_BY_FIELDS;
}

void describe_object(const description *d, sheet *s) {
    switch (described_kind_of(d->object)) {
    case DESCRIBED_POD:
        describe_pod(d, s);
        break;
    case DESCRIBED_NODE:
        describe_node(d, s);
        break;
    case DESCRIBED_DEPLOYMENT:
        describe_deployment(d, s);
        break;
    case DESCRIBED_SERVICE:
        describe_service(d, s);
        break;
    case DESCRIBED_SECRET:
        describe_secret(d, s);
        return; /* kubectl shows no Events of secrets */
    case DESCRIBED_CONFIG_MAP:
        describe_config_map(d, s);
        break;
    case DESCRIBED_BY_FIELDS:
        describe_by_fields(d, s);
        break;
    }
    if (d->shows_events)
        describe_events(d, s);
}
