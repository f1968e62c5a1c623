/* texts.h: answers and events that a client cannot use. Static; any thread. */
#ifndef KT_FAULTS_TEXTS_H
#define KT_FAULTS_TEXTS_H

#include <stddef.h>

/* In place of a whole answer: number `which`, modulo how many there are. */
const char *kt_fault_garbage(size_t which);
/* In place of an event, with its newline. A client can set it aside and go on. */
const char *kt_fault_bad_event(size_t which);

#endif
