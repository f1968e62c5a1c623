/* yaml.h: converts YAML documents to JSON. */
#ifndef CLI_YAML_H
#define CLI_YAML_H

#include <stddef.h>

/* Converts the documents of `text` to JSON, one a line, without empty ones. The caller frees the result. On failure
 * returns NULL and writes the line and the cause into `why`. */
char *yaml_to_json(const char *text, size_t size, size_t *ret_size, char why[256]);

#endif
