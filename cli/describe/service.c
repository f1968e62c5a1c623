/* service.c: a service with its endpoints. */
#include "describe.h"
#include "values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENDPOINTS_SHOWN = 3
};

/* Writes the texts of an array with commas; `none` for an empty one. NULL: no line. */
static void write_list(sheet *s, const char *title, yyjson_val *texts, const char *none) {
    bool is_empty = !yyjson_arr_size(texts);
    if (is_empty && !none)
        return;
    sheet_write(s, 0, "%s:\t%s", title, is_empty ? none : "");
    write_joined(s, texts, ",");
    sheet_write(s, 0, "\n");
}

static void write_selector(sheet *s, yyjson_val *selector) {
    size_t count;
    named_value *members = members_sorted(s, selector, &count);
    sheet_write(s, 0, "Selector:\t%s", count ? "" : "<none>");
    for (size_t i = 0; i < count; i++)
        sheet_write(s, 0, "%s%s=%s", i ? "," : "", members[i].name, text_of(members[i].value));
    sheet_write(s, 0, "\n");
    free(members);
}

static void write_balancers(sheet *s, yyjson_val *balancers) {
    yyjson_val *one;
    size_t index, count;
    if (!yyjson_arr_size(balancers))
        return;
    sheet_write(s, 0, "LoadBalancer Ingress:\t");
    yyjson_arr_foreach(balancers, index, count, one) {
        const char *ip = text_at(one, "ip"), *mode = text_at(one, "ipMode");
        sheet_write(s, 0, "%s%s", index ? ", " : "", *ip ? ip : text_at(one, "hostname"));
        if (*ip && *mode)
            sheet_write(s, 0, " (%s)", mode);
    }
    sheet_write(s, 0, "\n");
}

/* ---- endpoints ---- */

/* The endpoints of one port while they are written. */
typedef struct endpoints {
    sheet *s;
    size_t shown;
    size_t ready;
    bool has_more;
} endpoints;

/* Writes the endpoints of a slice; `port` is NULL in a slice without ports. */
static void write_endpoints(endpoints *e, yyjson_val *slice, yyjson_val *port) {
    yyjson_val *one;
    size_t index, count;
    yyjson_arr_foreach(value_at(slice, "endpoints"), index, count, one) {
        const char *address = text_of(yyjson_arr_get_first(value_at(one, "addresses")));
        bool is_ipv6 = port && strchr(address, ':');
        e->has_more |= e->shown == ENDPOINTS_SHOWN;
        if (yyjson_is_false(value_at(one, "conditions.ready")))
            continue;
        e->ready++;
        if (e->has_more)
            continue;
        sheet_write(e->s, 0, "%s%s%s%s", e->shown++ ? "," : "", is_ipv6 ? "[" : "", address, is_ipv6 ? "]" : "");
        if (port)
            sheet_write(e->s, 0, ":%" PRId64, integer_at(port, "port"));
    }
}

/* Writes the first endpoints of a service's port, and how many others there are. */
static void write_port_endpoints(const description *d, sheet *s, const char *name) {
    endpoints e = { .s = s };
    yyjson_val *port;
    size_t index, count;
    sheet_write(s, 0, "Endpoints:\t%s", d->related.count ? "" : "<none>");
    for (size_t i = 0; i < d->related.count; i++) {
        yyjson_val *slice = d->related.items[i], *ports = value_at(slice, "ports");
        if (!yyjson_arr_size(ports))
            write_endpoints(&e, slice, NULL);
        yyjson_arr_foreach(ports, index, count, port) {
            if (strcmp(text_at(port, "name"), name) == 0)
                write_endpoints(&e, slice, port);
        }
    }
    if (e.has_more) /* also if the others are not ready, as kubectl */
        sheet_write(s, 0, " + %zu more...", e.ready - ENDPOINTS_SHOWN);
    sheet_write(s, 0, "\n");
}

static void write_port(const description *d, sheet *s, yyjson_val *port) {
    const char *own = text_at(port, "name"), *name = *own ? own : "<unset>", *protocol = text_at(port, "protocol");
    sheet_write(s, 0, "Port:\t%s\t%" PRId64 "/%s\n", name, integer_at(port, "port"), protocol);
    sheet_write(s, 0, "TargetPort:\t");
    write_int_or_string(s, value_at(port, "targetPort"));
    sheet_write(s, 0, "/%s\n", protocol);
    write_text(s, "AppProtocol", port, "appProtocol");
    if (integer_at(port, "nodePort"))
        sheet_write(s, 0, "NodePort:\t%s\t%" PRId64 "/%s\n", name, integer_at(port, "nodePort"), protocol);
    write_port_endpoints(d, s, own);
}

void describe_service(const description *d, sheet *s) {
    yyjson_val *service = d->object, *port;
    size_t index, count;
    sheet_write(s, 0, "Name:\t%s\n", text_at(service, "metadata.name"));
    sheet_write(s, 0, "Namespace:\t%s\n", text_at(service, "metadata.namespace"));
    write_labels(s, "Labels", value_at(service, "metadata.labels"));
    write_annotations(s, "Annotations", value_at(service, "metadata.annotations"));
    write_selector(s, value_at(service, "spec.selector"));
    sheet_write(s, 0, "Type:\t%s\n", text_at(service, "spec.type"));
    write_text(s, "IP Family Policy", service, "spec.ipFamilyPolicy");
    write_list(s, "IP Families", value_at(service, "spec.ipFamilies"), "<none>");
    sheet_write(s, 0, "IP:\t%s\n", text_at(service, "spec.clusterIP"));
    write_list(s, "IPs", value_at(service, "spec.clusterIPs"), "<none>");
    write_list(s, "External IPs", value_at(service, "spec.externalIPs"), NULL);
    write_text(s, "Desired LoadBalancer IP", service, "spec.loadBalancerIP");
    write_text(s, "External Name", service, "spec.externalName");
    write_balancers(s, value_at(service, "status.loadBalancer.ingress"));
    yyjson_arr_foreach(value_at(service, "spec.ports"), index, count, port) {
        write_port(d, s, port);
    }
    sheet_write(s, 0, "Session Affinity:\t%s\n", text_at(service, "spec.sessionAffinity"));
    write_text(s, "External Traffic Policy", service, "spec.externalTrafficPolicy");
    write_text(s, "Internal Traffic Policy", service, "spec.internalTrafficPolicy");
    if (integer_at(service, "spec.healthCheckNodePort"))
        sheet_write(s, 0, "HealthCheck NodePort:\t%" PRId64 "\n", integer_at(service, "spec.healthCheckNodePort"));
    write_list(s, "LoadBalancer Source Ranges", value_at(service, "spec.loadBalancerSourceRanges"), NULL);
    write_text(s, "Traffic Distribution", service, "spec.trafficDistribution");
}
