/* version.h: the version of kinformer. */
#ifndef KINFORMER_VERSION_H
#define KINFORMER_VERSION_H

#include <kinformer/export.h>

#define KI_VERSION_MAJOR 0
#define KI_VERSION_MINOR 1
#define KI_VERSION_PATCH 0
#define KI_VERSION "0.1.0"

KI_BEGIN_DECLS

/* Returns the version of the library that the program runs with, such as "0.1.0". KI_VERSION is the version of the
 * headers.
 * Ownership: static. Threads: any. */
KI_API const char *ki_version(void);

KI_END_DECLS

#endif
