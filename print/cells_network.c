/* cells_network.c: cells of services, ingresses, endpoints and API services. */
#include "print/cells.h"

#include "src/base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    SHOWN = 3 /* maximum addresses or hosts in a cell */
};

void ki_cell_cluster_ip(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    ki_str first = ki_cell_str(yyjson_arr_get_first(ki_cell_at(root, "spec.clusterIPs")));
    (void)path, (void)now_ms;
    ki_cell_append_or(out, first.size ? first : ki_cell_str_at(root, "spec.clusterIP"), "<none>");
}

static int by_text(const void *a, const void *b) {
    const ki_str *left = a, *right = b;
    return ki_str_order(*left, *right);
}

/* Appends a load balancer's addresses and names, sorted, without duplicates. */
void ki_cell_balancers(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *ingress = ki_cell_at(root, "status.loadBalancer.ingress"), *one;
    size_t count = yyjson_arr_size(ingress), used = 0, index, max;
    ki_str *all = count ? ki_alloc_array(out->allocator, count, sizeof *all) : NULL;
    (void)path, (void)now_ms;
    if (count && !all)
        out->failed = KI_ERR_NO_MEMORY;
    if (!all)
        return;
    yyjson_arr_foreach(ingress, index, max, one) {
        ki_str address = ki_cell_str_at(one, "ip");
        all[used] = address.size ? address : ki_cell_str_at(one, "hostname");
        used += all[used].size > 0;
    }
    qsort(all, used, sizeof *all, by_text);
    for (size_t i = 0; i < used; i++) {
        if (i && ki_str_equal(all[i], all[i - 1]))
            continue;
        ki_buffer_append_string(out, i ? "," : "");
        ki_buffer_append_view(out, all[i]);
    }
    ki_free(out->allocator, all);
}

static void append_list(ki_buffer *out, yyjson_val *list, bool has_one) {
    yyjson_val *one;
    size_t index, count;
    yyjson_arr_foreach(list, index, count, one) {
        ki_buffer_append_string(out, index || has_one ? "," : "");
        ki_buffer_append_view(out, ki_cell_str(one));
    }
}

void ki_cell_external_ip(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    ki_str type = ki_cell_str_at(root, "spec.type");
    yyjson_val *given = ki_cell_at(root, "spec.externalIPs");
    size_t before = out->size;
    if (ki_str_equals(type, "ExternalName")) {
        ki_buffer_append_view(out, ki_cell_str_at(root, "spec.externalName"));
    } else if (ki_str_equals(type, "LoadBalancer")) {
        ki_cell_balancers(out, root, path, now_ms);
        append_list(out, given, out->size > before);
        if (out->size == before)
            ki_buffer_append_string(out, "<pending>");
    } else if (!type.size || ki_str_equals(type, "ClusterIP") || ki_str_equals(type, "NodePort")) {
        append_list(out, given, false);
        if (!yyjson_arr_size(given))
            ki_buffer_append_string(out, "<none>");
    } else {
        ki_buffer_append_string(out, "<unknown>");
    }
}

void ki_cell_ports(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *port, *ports = ki_cell_at(root, "spec.ports");
    size_t index, count;
    (void)path, (void)now_ms;
    if (!yyjson_arr_size(ports))
        ki_buffer_append_string(out, "<none>");
    yyjson_arr_foreach(ports, index, count, port) {
        ki_buffer_printf(out, "%s%" PRId64, index ? "," : "", ki_cell_int_at(port, "port"));
        if (ki_cell_int_at(port, "nodePort") > 0)
            ki_buffer_printf(out, ":%" PRId64, ki_cell_int_at(port, "nodePort"));
        ki_buffer_append_char(out, '/');
        ki_cell_append_or(out, ki_cell_str_at(port, "protocol"), "TCP");
    }
}

void ki_cell_hosts(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *rule, *rules = ki_cell_at(root, "spec.rules");
    size_t index, count, shown = 0;
    (void)path, (void)now_ms;
    yyjson_arr_foreach(rules, index, count, rule) {
        ki_str host = ki_cell_str_at(rule, "host");
        if (shown == SHOWN) {
            ki_buffer_printf(out, " + %zu more...", count - SHOWN);
            break;
        }
        if (!host.size)
            continue;
        ki_buffer_append_string(out, shown++ ? "," : "");
        ki_buffer_append_view(out, host);
    }
    if (!shown)
        ki_buffer_append_char(out, '*');
}

void ki_cell_ingress_ports(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    (void)path, (void)now_ms;
    ki_buffer_append_string(out, yyjson_arr_size(ki_cell_at(root, "spec.tls")) ? "80, 443" : "80");
}

/* Appends KIND.GROUP/NAME. */
void ki_cell_parameters(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *parameters = ki_cell_at(root, "spec.parameters");
    (void)path, (void)now_ms;
    if (!parameters) {
        ki_buffer_append_string(out, "<none>");
        return;
    }
    ki_buffer_append_view(out, ki_cell_str_at(parameters, "kind"));
    if (ki_cell_at(parameters, "apiGroup")) {
        ki_buffer_append_char(out, '.');
        ki_buffer_append_view(out, ki_cell_str_at(parameters, "apiGroup"));
    }
    ki_buffer_append_char(out, '/');
    ki_buffer_append_view(out, ki_cell_str_at(parameters, "name"));
}

/* ---- endpoints ---- */

/* A list that is cut after SHOWN entries: "a,b,c + 2 more...". */
typedef struct few {
    ki_buffer *out;
    size_t count;
} few;

/* Counts an entry. Returns true if the caller must append its text. */
static bool next_shown(few *f) {
    if (f->count++ >= SHOWN)
        return false;
    ki_buffer_append_string(f->out, f->count > 1 ? "," : "");
    return true;
}

static void end(few *f, const char *nothing) {
    if (f->count > SHOWN)
        ki_buffer_printf(f->out, " + %zu more...", f->count - SHOWN);
    else if (!f->count)
        ki_buffer_append_string(f->out, nothing);
}

static void append_addresses(few *f, yyjson_val *addresses, yyjson_val *port) {
    yyjson_val *address;
    size_t index, count;
    yyjson_arr_foreach(addresses, index, count, address) {
        ki_str ip = ki_cell_str_at(address, "ip");
        bool is_v6 = port && ip.size && memchr(ip.data, ':', ip.size);
        if (!next_shown(f))
            continue;
        ki_buffer_append_string(f->out, is_v6 ? "[" : "");
        ki_buffer_append_view(f->out, ip);
        ki_buffer_append_string(f->out, is_v6 ? "]" : "");
        if (port)
            ki_buffer_printf(f->out, ":%" PRId64, ki_cell_int_at(port, "port"));
    }
}

void ki_cell_endpoints(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *subsets = ki_cell_at(root, "subsets"), *subset, *port;
    size_t index, count, i, n;
    few f = { out, 0 };
    (void)path, (void)now_ms;
    yyjson_arr_foreach(subsets, index, count, subset) {
        yyjson_val *ports = yyjson_obj_get(subset, "ports"), *addresses = yyjson_obj_get(subset, "addresses");
        if (!yyjson_arr_size(ports)) /* a service without ports */
            append_addresses(&f, addresses, NULL);
        yyjson_arr_foreach(ports, i, n, port) {
            append_addresses(&f, addresses, port);
        }
    }
    end(&f, yyjson_arr_size(subsets) ? "" : "<none>");
}

void ki_cell_slice_ports(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *port;
    size_t index, count;
    few f = { out, 0 };
    (void)path, (void)now_ms;
    yyjson_arr_foreach(ki_cell_at(root, "ports"), index, count, port) {
        if (!next_shown(&f))
            continue;
        if (ki_cell_at(port, "port"))
            ki_buffer_printf(out, "%" PRId64, ki_cell_int_at(port, "port"));
        else if (ki_cell_at(port, "name"))
            ki_buffer_append_view(out, ki_cell_str_at(port, "name"));
        else
            ki_buffer_append_char(out, '*');
    }
    end(&f, "<unset>");
}

void ki_cell_slice_addresses(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *endpoint, *address;
    size_t index, count, i, n;
    few f = { out, 0 };
    (void)path, (void)now_ms;
    yyjson_arr_foreach(ki_cell_at(root, "endpoints"), index, count, endpoint) {
        yyjson_arr_foreach(yyjson_obj_get(endpoint, "addresses"), i, n, address) {
            if (next_shown(&f))
                ki_buffer_append_view(out, ki_cell_str(address));
        }
    }
    end(&f, "<unset>");
}

/* ---- API services ---- */

void ki_cell_service_of_api(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *service = ki_cell_at(root, "spec.service");
    (void)path, (void)now_ms;
    if (!service) {
        ki_buffer_append_string(out, "Local");
        return;
    }
    ki_buffer_append_view(out, ki_cell_str_at(service, "namespace"));
    ki_buffer_append_char(out, '/');
    ki_buffer_append_view(out, ki_cell_str_at(service, "name"));
}

void ki_cell_available(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *condition = ki_cell_condition(root, "Available");
    ki_str reason = ki_cell_str_at(condition, "reason");
    (void)path, (void)now_ms;
    if (ki_cell_is_true(condition)) {
        ki_buffer_append_string(out, "True");
        return;
    }
    ki_cell_append_or(out, ki_cell_str_at(condition, "status"), "Unknown");
    if (reason.size) {
        ki_buffer_append_string(out, " (");
        ki_buffer_append_view(out, reason);
        ki_buffer_append_char(out, ')');
    }
}
