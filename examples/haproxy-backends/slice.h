/* clang-format off */
/* Fields of endpointslices.v1.discovery.k8s.io as struct slice. Made by:
 *     kinformer gen endpointslices --fields 'endpoints[].addresses,endpoints[].conditions.ready,
 *         endpoints[].conditions.ready:present,ports[].name,ports[].port' --name slice
 *
 * Give slice_fields to the informer as its view. slice_view returns the struct of an object. */
#ifndef SLICE_VIEW_H
#define SLICE_VIEW_H

#include <kinformer/object.h>
#include <kinformer/view.h>

struct slice_endpoint {
    ki_string_list addresses;
    struct {
        bool ready;
        bool has_ready;
    } conditions;
};

static const ki_field slice_endpoint_fields[] = {
    KI_FIELD(struct slice_endpoint, addresses, "addresses"),
    KI_FIELD(struct slice_endpoint, conditions.ready, "conditions.ready"),
    KI_FIELD_PRESENT(struct slice_endpoint, conditions.has_ready, "conditions.ready"),
    KI_FIELD_END
};

struct slice_port {
    const char *name;
    int32_t port;
};

static const ki_field slice_port_fields[] = {
    KI_FIELD(struct slice_port, name, "name"),
    KI_FIELD(struct slice_port, port, "port"),
    KI_FIELD_END
};

struct slice {
    ki_list endpoints; /* struct slice_endpoint */
    ki_list ports; /* struct slice_port */
};

static const ki_field slice_fields[] = {
    KI_FIELD_LIST(struct slice, endpoints, slice_endpoint_fields, "endpoints"),
    KI_FIELD_LIST(struct slice, ports, slice_port_fields, "ports"),
    KI_FIELD_END
};

/* Returns the fields of an object; NULL if its informer has no view. Borrowed from the object. */
static inline const struct slice *slice_view(const ki_object *obj) {
#ifdef __cplusplus
    return static_cast<const struct slice *>(ki_object_view(obj));
#else
    return ki_object_view(obj);
#endif
}

#endif
