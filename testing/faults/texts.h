/* texts.h: responses and events that a client cannot use. Static; any thread. */
#ifndef KT_FAULTS_TEXTS_H
#define KT_FAULTS_TEXTS_H

#include <stddef.h>

/* Returns an invalid response body; `which` is taken modulo the number of texts. */
const char *kt_fault_garbage(size_t which);
/* Returns an invalid event with its newline. A client can skip it. */
const char *kt_fault_bad_event(size_t which);

#endif
