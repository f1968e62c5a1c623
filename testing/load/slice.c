/* slice.c: the EndpointSlices of the load's Services, which follow its pods. See state.h. */
#include "testing/load/state.h"

#include "testing/cluster/storage.h"

#include <stdio.h>

ki_status kt_load_outdate(kt_load *load, size_t index) {
    const kt_load_workload *w = &load->workloads[load->pods[index].workload];
    if (!w->slice_count)
        return KI_OK;
    uint32_t slice = w->first_slice + (uint32_t)(index - w->first_pod) / KT_LOAD_ENDPOINTS;
    if (load->outdated[slice])
        return KI_OK;
    ki_status status = ki_ring_push(&load->outdating, &slice);
    load->outdated[slice] = !status;
    return status;
}

/* Appends the endpoint of a pod that has an address. */
static void add_endpoint(kt_load *load, size_t index, const char *ns, bool *is_first) {
    const kt_load_pod *p = &load->pods[index];
    kt_load_fields f;
    char name[KT_LOAD_NAME];
    kt_load_pod_name(load, p, index, name);
    ki_str uid = kt_load_uid(load, KI_PODS, ns, name);
    if (!uid.size || !kt_load_has_address(p))
        return;
    kt_load_clear(&f);
    kt_load_set(&f, 's', ns);
    kt_load_set_pod(load, p, index, &f);
    kt_load_set(&f, 'K', p->ready ? "true" : "false");
    kt_load_set(&f, 'k', p->step == KT_LOAD_DELETING ? "true" : "false");
    f.values['u'] = uid;
    if (!*is_first)
        ki_buffer_append_char(&load->body, ',');
    *is_first = false;
    kt_load_add(load, &load->body, KT_LOAD_SLICE_ENDPOINT, &f);
}

static const kt_load_workload *workload_of(const kt_load *load, uint32_t slice) {
    const kt_load_workload *w = load->workloads;
    while (slice < w->first_slice || slice >= w->first_slice + w->slice_count)
        w++;
    return w;
}

/* Writes an EndpointSlice. Sets `*ret_written` to false if nothing changed: its pods are as before, or a client has
 * deleted its Service. */
static ki_status put_slice(kt_load *load, uint32_t slice, int64_t now_ms, bool *ret_written, ki_error *err) {
    const kt_load_workload *w = workload_of(load, slice);
    size_t first = w->first_pod + (size_t)(slice - w->first_slice) * KT_LOAD_ENDPOINTS;
    size_t end = w->first_pod + w->pod_count;
    char suffix[KT_LOAD_SUFFIX + 1];
    bool is_first = true;
    kt_load_fields f;
    *ret_written = kt_load_uid(load, KI_SERVICES, w->app->namespace_name, w->name).size > 0;
    if (!*ret_written)
        return KI_OK;
    kt_load_write_suffix(UINT32_MAX - slice, suffix);
    kt_load_clear(&f);
    kt_load_set_workload(load, w, &f);
    kt_load_setf(&f, 'n', "%s-%s", w->name, suffix);
    kt_load_set_time(&f, '3', load->now_s);
    kt_load_set(&f, 'u', w->service_uid);
    kt_load_begin(load);
    kt_load_add(load, &load->body, KT_LOAD_SLICE, &f);
    for (size_t i = first; i < end && i < first + KT_LOAD_ENDPOINTS; i++)
        add_endpoint(load, i, w->app->namespace_name, &is_first);
    ki_buffer_append_char(&load->body, ']');
    uint64_t before = kt_cluster_revision(load->cluster);
    ki_status status = kt_load_put(load, KI_ENDPOINTSLICES, "kube-controller-manager", NULL, now_ms, err);
    *ret_written = kt_cluster_revision(load->cluster) != before;
    return status;
}

ki_status kt_load_update_slice(kt_load *load, int64_t now_ms, bool *ret_written, ki_error *err) {
    uint32_t slice;
    ki_status status = KI_OK;
    *ret_written = false;
    while (!status && !*ret_written && ki_ring_pop(&load->outdating, &slice)) {
        load->outdated[slice] = false;
        status = put_slice(load, slice, now_ms, ret_written, err);
    }
    return status;
}
