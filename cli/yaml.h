/* yaml.h: YAML documents as JSON. */
#ifndef CLI_YAML_H
#define CLI_YAML_H

#include <stddef.h>

/* The documents of `text` as JSON, one a line, empty ones left out; freed with free. NULL on failure: `why` then says where and why. */
char *yaml_to_json(const char *text, size_t size, size_t *ret_size, char why[256]);

#endif
