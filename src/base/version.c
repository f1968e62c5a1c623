/* version.c: the version of the linked library. */
#include <kinformer/version.h>

const char *ki_version(void) {
    return KI_VERSION;
}
