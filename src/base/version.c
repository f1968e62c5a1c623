/* version.c: which kinformer was linked. */
#include <kinformer/version.h>

const char *ki_version(void) {
    return KI_VERSION;
}
