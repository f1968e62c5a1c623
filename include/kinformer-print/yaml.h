/* yaml.h: YAML as `kubectl get -o yaml` and the API server write it: names sorted, quotes only where they are
 * needed. */
#ifndef KINFORMER_PRINT_YAML_H
#define KINFORMER_PRINT_YAML_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <stdbool.h>

KI_BEGIN_DECLS

enum {
    KI_YAML_MAX_NESTING = 512 /* nested arrays and objects of a written value */
};

/* Writes one JSON value of `size` bytes as a YAML document. Calls `write` with each piece of the text, until `write`
 * returns false. `allocator` NULL: malloc; libyaml always uses malloc.
 * Threads: any. Blocks: as `write`.
 * Errors: KI_ERR_PARSE (`json` is not JSON), KI_ERR_LIMIT (nested too deeply), KI_ERR_CLOSED (`write` returned false),
 * KI_ERR_NO_MEMORY, KI_ERR_INVALID. Pieces may have been written before an error. */
KI_API KI_MUST_CHECK ki_status ki_yaml_write(const ki_allocator *allocator, const char *json, size_t size,
                                             bool (*write)(const char *text, size_t size, void *user) KI_NOEXCEPT,
                                             void *user, ki_error *err);

KI_END_DECLS

#endif
