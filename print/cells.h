/* cells.h: writes one cell of a row as text, from an object's JSON. Called by columns.c through the table in
 * columns_table.c.
 *
 * A path is names with dots. `a.b|c.d` is the first path with a value. The text after `?` replaces a missing value. */
#ifndef KI_PRINT_CELLS_H
#define KI_PRINT_CELLS_H

#include <kinformer-print/columns.h>

#include "src/base/buffer.h"

#include <yyjson.h>

/* One column of a built-in resource. */
typedef struct ki_cell {
    ki_column column; /* name NULL ends a table */
    bool is_plain;    /* in a Table not a string but a number, true or false */
    void (*append)(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
    const char *path;
} ki_cell;

/* Append a cell; the buffer keeps a failure. */
void ki_cell_text(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_integer(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* 0 if missing */
void ki_cell_count(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);   /* of members; a+b: sum */
void ki_cell_bool(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);    /* true or false */
/* Appends True, False or <unset>. */
void ki_cell_bool_text(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_age(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_list(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* texts, separated by commas */
void ki_cell_join(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* LIST:member */
void ki_cell_labels(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_selector(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);

void ki_cell_pod_ready(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_pod_status(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_pod_restarts(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_pod_ip(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_readiness_gates(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);

void ki_cell_replicas_ready(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_job_status(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_job_completions(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_job_duration(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_controller(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_targets(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);

void ki_cell_node_status(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_node_roles(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_node_address(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* type `path` */
void ki_cell_node_kernel(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);

void ki_cell_cluster_ip(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_external_ip(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_balancers(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_ports(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_hosts(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_ingress_ports(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_parameters(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_endpoints(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_slice_ports(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_slice_addresses(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_service_of_api(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_available(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);

void ki_cell_phase(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_claim(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_access_modes(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_claim_capacity(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_claim_modes(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_storage_class(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_default_name(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* `path`: annotations */
void ki_cell_quota(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* `path`: "limits" or other */

/* Appends the type of the last true condition that `path` names: "Issued Denied?Pending". */
void ki_cell_last_condition(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_served_versions(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_established(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* true or false */
void ki_cell_group_resource(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_signing_state(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_requested_duration(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_health(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_dangling(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_parent(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_claim_state(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_param_kind(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);

void ki_cell_event_seen(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* "first" or "last" */
void ki_cell_event_object(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_event_source(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_event_message(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_event_count(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_reference(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms);
void ki_cell_subjects(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms); /* kind `path` */

/* ---- helpers ---- */

/* Returns the value at a path, or NULL. */
yyjson_val *ki_cell_at(yyjson_val *root, const char *path);
ki_str ki_cell_str(yyjson_val *val);
ki_str ki_cell_str_at(yyjson_val *root, const char *path);
int64_t ki_cell_int_at(yyjson_val *root, const char *path);
/* Appends `text`, or `other` if `text` is empty. */
void ki_cell_append_or(ki_buffer *out, ki_str text, const char *other);
/* Returns the status of a condition; NULL if there is no condition of this type. */
yyjson_val *ki_cell_condition(yyjson_val *root, const char *type);
bool ki_cell_is_true(yyjson_val *condition);
/* Parses an RFC 3339 time as milliseconds since 1970. */
bool ki_cell_time(ki_str text, int64_t *ret_ms);
/* Appends a duration: 45s, 3m20s, 170m, 5h2m, 30h, 3d4h, 200d, 2y3d. */
void ki_cell_append_duration(ki_buffer *out, int64_t ms);

typedef struct ki_cell_member {
    ki_str name;
    yyjson_val *value;
} ki_cell_member;
/* Returns the members of an object sorted by name, to be freed with ki_free and out's allocator. Returns NULL without
 * members or if out of memory, which `out` keeps. */
ki_cell_member *ki_cell_sorted(ki_buffer *out, yyjson_val *object, size_t *ret_count);

#endif
