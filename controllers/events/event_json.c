/* event_json.c: writes Events as JSON, as client-go's recorders do (k8s.io/api core/v1 and events/v1). */
#include "controllers/events/event_json.h"

#include "src/base/rfc3339.h"
#include "src/engine/engine.h"

#include <inttypes.h>
#include <stdio.h>

/* --- names -------------------------------------------------------------------------------------------------------- */

static bool is_lower_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Returns true for a DNS subdomain (RFC 1123): labels of a-z, 0-9 and '-', separated by dots, none with '-' at an
 * end. */
static bool is_dns_subdomain(const char *name) {
    size_t size = strlen(name);
    if (size == 0 || size > KI_EVENT_NAME_MAX)
        return false;
    for (size_t i = 0; i < size; i++) {
        bool is_edge = i == 0 || i + 1 == size || name[i - 1] == '.' || name[i + 1] == '.';
        if (!is_lower_alphanumeric(name[i]) && (is_edge || (name[i] != '-' && name[i] != '.')))
            return false;
    }
    return true;
}

/* Writes a UUID of version 4 (RFC 9562 §5.4). */
static void write_uuid(const ki_event_key *random, char ret_name[KI_EVENT_NAME_MAX + 1]) {
    uint64_t high = (random->halves[0] & ~UINT64_C(0xF000)) | UINT64_C(0x4000);
    uint64_t low = (random->halves[1] & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
    snprintf(ret_name, KI_EVENT_NAME_MAX + 1, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
             high >> 32, high >> 16 & 0xFFFF, high & 0xFFFF, low >> 48, low & UINT64_C(0xFFFFFFFFFFFF));
}

void ki_event_name(const ki_event_source *source, const ki_event_record *record, int64_t name_ns,
                   char ret_name[KI_EVENT_NAME_MAX + 1]) {
    int size = snprintf(ret_name, KI_EVENT_NAME_MAX + 1, "%s.%" PRIx64, record->regarding.name, (uint64_t)name_ns);
    if (size <= KI_EVENT_NAME_MAX && is_dns_subdomain(ret_name))
        return;
    char digits[KI_RFC3339_SIZE];
    snprintf(digits, sizeof digits, "%" PRIx64, (uint64_t)name_ns);
    const char *const texts[] = { record->regarding.uid, record->regarding.name, digits };
    const ki_event_key key = ki_event_key_of(source->seed, texts, sizeof texts / sizeof *texts);
    write_uuid(&key, ret_name);
}

const char *ki_event_namespace(const ki_event_record *record) {
    return *record->regarding.namespace_name ? record->regarding.namespace_name : "default";
}

/* --- JSON: a buffer keeps its first failure; the caller checks it once, at the end -------------------------------- */

static void append(ki_buffer *out, const char *json) {
    ki_buffer_append_string(out, json);
}

static void append_text(ki_buffer *out, const char *text) {
    ki_buffer_append_json_string(out, ki_str_of(text));
}

/* Appends a member if its text is not empty, after a comma if another member precedes it. */
static void append_member(ki_buffer *out, const char *name, const char *text) {
    if (!*text)
        return;
    if (out->size && out->data[out->size - 1] != '{')
        append(out, ",");
    append_text(out, name);
    append(out, ":");
    append_text(out, text);
}

static void append_reference(ki_buffer *out, const ki_event_reference *reference) {
    append(out, "{");
    append_member(out, "kind", reference->kind);
    append_member(out, "namespace", reference->namespace_name);
    append_member(out, "name", reference->name);
    append_member(out, "uid", reference->uid);
    append_member(out, "apiVersion", reference->api_version);
    append_member(out, "resourceVersion", reference->resource_version);
    append(out, "}");
}

static void append_metadata(const ki_event_source *source, const ki_event_record *record, int64_t name_ns,
                            const char *annotations, ki_buffer *out) {
    char name[KI_EVENT_NAME_MAX + 1];
    ki_event_name(source, record, name_ns, name);
    append(out, ",\"metadata\":{");
    append_member(out, "name", name);
    append_member(out, "namespace", ki_event_namespace(record));
    if (*annotations) {
        append(out, ",\"annotations\":");
        append(out, annotations);
    }
    append(out, "}");
}

static void append_message(const ki_event_record *record, const ki_event_outcome *outcome, ki_buffer *out) {
    char message[sizeof KI_EVENT_COMBINED_PREFIX + KI_EVENT_MESSAGE_MAX];
    snprintf(message, sizeof message, "%s%s", outcome->is_combined ? KI_EVENT_COMBINED_PREFIX : "", record->message);
    append(out, ",\"message\":");
    append_text(out, message);
}

ki_status ki_event_write_core(const ki_event_source *source, const ki_event_record *record,
                              const ki_event_outcome *outcome, ki_buffer *out) {
    char first[KI_RFC3339_SIZE], last[KI_RFC3339_SIZE];
    ki_rfc3339_seconds(outcome->first_ns / KI_SECONDS(1), first);
    ki_rfc3339_seconds(outcome->last_ns / KI_SECONDS(1), last);
    append(out, "{\"kind\":\"Event\",\"apiVersion\":\"v1\"");
    append_metadata(source, record, outcome->name_ns, outcome->is_combined ? "" : record->annotations, out);
    append(out, ",\"involvedObject\":");
    append_reference(out, &record->regarding);
    append_member(out, "reason", record->reason);
    append_message(record, outcome, out);
    append(out, ",\"source\":{");
    append_member(out, "component", source->component);
    append_member(out, "host", source->host);
    ki_buffer_printf(out, "},\"firstTimestamp\":\"%s\",\"lastTimestamp\":\"%s\",\"count\":%" PRId32, first, last,
                     outcome->count);
    append_member(out, "type", record->type);
    append(out, ",\"eventTime\":null,\"reportingComponent\":");
    append_text(out, outcome->is_combined ? "" : source->component);
    append(out, ",\"reportingInstance\":");
    append_text(out, outcome->is_combined ? "" : source->host);
    append(out, "}");
    return out->failed;
}

ki_status ki_event_patch_core(const ki_event_record *record, const ki_event_outcome *outcome, ki_buffer *out) {
    char last[KI_RFC3339_SIZE];
    ki_rfc3339_seconds(outcome->last_ns / KI_SECONDS(1), last);
    ki_buffer_printf(out, "{\"count\":%" PRId32 ",\"lastTimestamp\":\"%s\"", outcome->count, last);
    if (*record->message || outcome->is_combined)
        append_message(record, outcome, out);
    append(out, "}");
    return out->failed;
}

static void append_series(int32_t count, int64_t last_wall_ns, ki_buffer *out) {
    char last[KI_RFC3339_SIZE];
    ki_rfc3339_micros(last_wall_ns, last);
    ki_buffer_printf(out, "\"series\":{\"count\":%" PRId32 ",\"lastObservedTime\":\"%s\"}", count, last);
}

ki_status ki_event_write_v1(const ki_event_source *source, const ki_event_record *record, int32_t count,
                            int64_t last_wall_ns, ki_buffer *out) {
    char when[KI_RFC3339_SIZE];
    ki_rfc3339_micros(record->wall_ns, when);
    append(out, "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\"");
    append_metadata(source, record, record->name_ns, record->annotations, out);
    append_member(out, "eventTime", when);
    if (count > 1) {
        append(out, ",");
        append_series(count, last_wall_ns, out);
    }
    append_member(out, "reportingController", source->component);
    append_member(out, "reportingInstance", source->instance);
    append_member(out, "action", record->action);
    append_member(out, "reason", record->reason);
    append(out, ",\"regarding\":");
    append_reference(out, &record->regarding);
    if (record->has_related) {
        append(out, ",\"related\":");
        append_reference(out, &record->related);
    }
    append_member(out, "note", record->message);
    append_member(out, "type", record->type);
    append(out, "}");
    return out->failed;
}

ki_status ki_event_patch_v1(int32_t count, int64_t last_wall_ns, ki_buffer *out) {
    append(out, "{");
    append_series(count, last_wall_ns, out);
    append(out, "}");
    return out->failed;
}
