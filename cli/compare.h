/* compare.h: is an informer's cache what the server has? */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

typedef struct comparison {
    size_t same;
    size_t different;
    size_t missing;      /* the server has them, the cache does not */
    size_t left;         /* the cache has them, the server does not */
    size_t server_bytes; /* of JSON */
    char first[256];     /* the first object that is not the same, or "" */
} comparison;

/* Compares each object with what the server has, all fields but managedFields. The order of keys does not count. */
void compare_cache(const ki_informer *informer, ki_testing_server *server, comparison *ret_comparison);

#endif
