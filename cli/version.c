/* version.c: kinformer version. */
#include "cli.h"
#include "output.h"

#include <kinformer/version.h>

#include <stdio.h>

static int run_version(const options *o) {
    (void)o;
    printf("kinformer %s\n", ki_version());
    return output_flush() ? EXIT_OK : output_status();
}

const cli_command command_version = {
    .name = "version",
    .usage = "",
    .purpose = "print the version of kinformer",
    .text = "  kinformer version\n",
    .run = run_version,
};
