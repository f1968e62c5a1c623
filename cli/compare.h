/* compare.h: compares an informer's cache with the server. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

typedef struct comparison {
    size_t same;
    size_t different;
    size_t missing;      /* on the server, not in the cache */
    size_t left;         /* in the cache, not on the server */
    size_t server_bytes; /* of JSON */
    char first[256];     /* key of the first object that is missing or different, or "" */
} comparison;

/* Compares each object of the cache with the server's, all fields except managedFields. The order of keys does not
 * count. */
void compare_cache(const ki_informer *informer, ki_testing_server *server, comparison *ret_comparison);

#endif
