/* load_file.h: creates the objects of a file in an embedded server. */
#ifndef CLI_FORMAT_LOAD_FILE_H
#define CLI_FORMAT_LOAD_FILE_H

#include <kinformer-testing/server.h>

/* Reads JSON or YAML: one object, a List, or several documents of either. Custom resources come after their
 * definitions. Errors: KI_ERR_SYSTEM; KI_ERR_PARSE; KI_ERR_INVALID (a kind that the server does not know; the message
 * names the object's index in the file); those of ki_testing_server_put. */
ki_status load_file(ki_testing_server *server, const char *path, size_t *ret_objects, ki_error *err);

#endif
