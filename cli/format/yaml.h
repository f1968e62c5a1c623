/* yaml.h: converts YAML documents to JSON; reads files of either. */
#ifndef CLI_FORMAT_YAML_H
#define CLI_FORMAT_YAML_H

#include <kinformer/error.h>

#include <stddef.h>

/* Converts the documents of `text` to JSON, one a line, without empty ones. The caller frees the result. On failure
 * returns NULL and writes the line and the cause into `why`. */
char *yaml_to_json(const char *text, size_t size, size_t *ret_size, char why[256]);

/* Reads a file of JSON or YAML documents as JSON, with a zero at the end; "-" is standard input. The caller frees the
 * result. On failure returns NULL and fills `err`: KI_ERR_SYSTEM, KI_ERR_LIMIT (more than `max` bytes), KI_ERR_PARSE,
 * KI_ERR_NO_MEMORY. */
char *yaml_read_file(const char *path, size_t max, size_t *ret_size, ki_error *err);

#endif
