/* demo_controller.h: kinformer demo --controller. */
#ifndef CLI_DEMO_CONTROLLER_H
#define CLI_DEMO_CONTROLLER_H

#include "cli.h"

/* Runs `o->controller` against an embedded server while Foos and Deployments change, and checks the final state.
 * Returns the exit status. */
int demo_controller_run(const options *o);

#endif
