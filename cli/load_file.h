/* load_file.h: puts the objects of a file into an embedded server. */
#ifndef CLI_LOAD_FILE_H
#define CLI_LOAD_FILE_H

#include <kinformer-testing/server.h>

/* JSON or YAML: one object, a List, or several documents of either; custom resources after their definitions. Errors: KI_ERR_SYSTEM,
 * KI_ERR_PARSE, KI_ERR_INVALID (a kind that the server does not know; the message says which object of the file), those of
 * ki_testing_server_put. */
ki_status load_file(ki_testing_server *server, const char *path, size_t *ret_objects, ki_error *err);

#endif
