/* rfc3339.h: a time as text (RFC 3339), as Kubernetes reads and writes its types Time and MicroTime. */
#ifndef KI_BASE_RFC3339_H
#define KI_BASE_RFC3339_H

#include "src/base/internal_api.h"
#include "src/base/string_view.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    KI_RFC3339_SIZE = 32 /* bytes of a time with its closing zero */
};

/* Writes seconds since 1970 as "2006-01-02T15:04:05Z". Years from 0 to 9999. */
KI_INTERNAL_API void ki_rfc3339_seconds(int64_t unix_seconds, char ret_text[KI_RFC3339_SIZE]);
/* Writes nanoseconds since 1970 (>= 0) as "2006-01-02T15:04:05.000000Z". */
KI_INTERNAL_API void ki_rfc3339_micros(int64_t wall_ns, char ret_text[KI_RFC3339_SIZE]);

/* Parses a time such as "2018-03-05T17:30:20.5-08:00" as seconds since 1970 and nanoseconds; further digits are
 * dropped. Accepts what Go's time.Parse accepts. Returns false for any other text. */
bool ki_rfc3339_parse(ki_str text, int64_t *ret_seconds, int64_t *ret_nanoseconds);

#endif
