/* memory.h: watch --memory: where the memory of the watched objects is. */
#ifndef CLI_SESSION_MEMORY_H
#define CLI_SESSION_MEMORY_H

#include "session.h"

/* Prints the memory of all informers of the session, which have synced. */
void memory_print(const session *s);

#endif
