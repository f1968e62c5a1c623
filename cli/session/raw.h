/* raw.h: get --raw: the response to one GET request, as the server sends it. */
#ifndef CLI_SESSION_RAW_H
#define CLI_SESSION_RAW_H

#include "cli/cli.h"

/* Checks the flags, sends the request and prints the body as it arrives. Returns the exit status. */
int raw_get(const options *o);

#endif
