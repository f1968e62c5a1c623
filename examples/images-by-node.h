/* clang-format off */
/* Fields of pods.v1 as struct pod. Made by:
 *     kinformer gen pods --fields 'spec.nodeName,status.phase,spec.containers[].image,
 *         spec.containers[].resources.requests.cpu'
 *
 * Give pod_fields to the informer as its view. pod_view returns the struct of an object. */
#ifndef POD_VIEW_H
#define POD_VIEW_H

#include <kinformer/object.h>
#include <kinformer/view.h>

struct pod_spec_container {
    const char *image;
    struct {
        struct {
            int64_t cpu_milli; /* thousandths */
        } requests;
    } resources;
};

static const ki_field pod_spec_container_fields[] = {
    KI_FIELD(struct pod_spec_container, image, "image"),
    KI_FIELD_MILLI(struct pod_spec_container, resources.requests.cpu_milli, "resources.requests.cpu"),
    KI_FIELD_END
};

struct pod {
    struct {
        const char *node_name;
        ki_list containers; /* struct pod_spec_container */
    } spec;
    struct {
        const char *phase;
    } status;
};

static const ki_field pod_fields[] = {
    KI_FIELD(struct pod, spec.node_name, "spec.nodeName"),
    KI_FIELD_LIST(struct pod, spec.containers, pod_spec_container_fields, "spec.containers"),
    KI_FIELD(struct pod, status.phase, "status.phase"),
    KI_FIELD_END
};

/* Returns the fields of an object; NULL if its informer has no view. Borrowed from the object. */
static inline const struct pod *pod_view(const ki_object *obj) {
#ifdef __cplusplus
    return static_cast<const struct pod *>(ki_object_view(obj));
#else
    return ki_object_view(obj);
#endif
}

#endif
