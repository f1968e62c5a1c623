/* time.h: times in the form that Kubernetes writes. Any thread. */
#ifndef KT_VALUES_TIME_H
#define KT_VALUES_TIME_H

#include <stdint.h>

enum {
    KT_TIME_SIZE = 32 /* bytes; "2026-07-01T00:00:00Z" and its zero need 21 */
};

/* Writes milliseconds since the Unix epoch as RFC 3339, in whole seconds and UTC. */
void kt_format_time(int64_t now_ms, char ret_text[KT_TIME_SIZE]);

#endif
