/* manifest.h: get -f: the objects that files name, as targets of a session. */
#ifndef CLI_SESSION_MANIFEST_H
#define CLI_SESSION_MANIFEST_H

#include "session.h"

typedef struct manifest manifest;

/* Adds a target for each object of the files of -f: YAML or JSON, several documents, Lists; "-" is standard input.
 * Returns an exit status; a failure has been printed. The caller frees `*ret_manifest` with manifest_free after the
 * session has been closed: the targets borrow its names. */
int manifest_add_targets(session *s, manifest **ret_manifest);
void manifest_free(manifest *m);

#endif
