/* lease.h: a Lease (coordination.k8s.io/v1) as an elector reads and writes it. No state, no requests, no clock.
 * The fields are those of LeaseSpec: holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions.
 * Times stay text: only their writer's clock can interpret them. */
#ifndef KI_ELECTION_LEASE_H
#define KI_ELECTION_LEASE_H

#include "src/object/json.h"

enum {
    KI_LEASE_BYTES_MAX = 2 << 20 /* of a Lease as JSON; etcd stores no larger object */
};

/* The part of a Lease that an election changes. Strings are borrowed. */
typedef struct ki_lease_record {
    ki_str holder; /* empty: no holder */
    int64_t duration_s;
    int64_t transitions;
    ki_str acquire_time; /* empty: none */
    ki_str renew_time;
} ki_lease_record;

/* A Lease as the server sent it. All zeros: none seen yet. */
typedef struct ki_lease {
    yyjson_doc *doc; /* the whole Lease; the strings below point into it */
    ki_str resource_version;
    ki_lease_record record;
} ki_lease;

/* Reads a Lease. Absent fields become empty or 0.
 * Errors: KI_ERR_PROTOCOL (no object with a resource version, or a field of another type), KI_ERR_NO_MEMORY. */
ki_status ki_lease_read(const ki_allocator *allocator, ki_str json, ki_lease *ret_lease, ki_error *err);
/* Frees the document and sets the Lease to all zeros. */
void ki_lease_clear(ki_lease *lease);
/* Returns true if the Lease was not written between `a` and `b`. Compares version and record: a restore from a backup
 * can repeat a version. */
bool ki_lease_is_same(const ki_lease *a, const ki_lease *b);

/* Name of a Lease. */
typedef struct ki_lease_place {
    const char *namespace_name;
    const char *name;
} ki_lease_place;

/* Writes a Lease with `record` as its spec. `base`: the Lease to update; its metadata stay, with the resource version,
 * so that the server rejects the write if the Lease has changed. `base` NULL: a new Lease.
 * Ownership: *ret_json is owned by the caller, who frees it with ki_free. Errors: KI_ERR_INVALID (a string that is not
 * UTF-8), KI_ERR_NO_MEMORY. */
ki_status ki_lease_write(const ki_allocator *allocator, const ki_lease_place *place, const ki_lease *base,
                         const ki_lease_record *record, char **ret_json, size_t *ret_size, ki_error *err);

#endif
