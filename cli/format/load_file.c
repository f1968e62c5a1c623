/* load_file.c: see load_file.h. */
#include "load_file.h"

#include "yaml.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LOAD_FILE_LIMIT = 256 * 1024 * 1024 /* bytes */
};

ki_status load_file(ki_testing_server *server, const char *path, size_t *ret_objects, ki_error *err) {
    size_t size = 0;
    char *text = yaml_read_file(path, LOAD_FILE_LIMIT, &size, err);
    if (!text)
        return err->code;
    ki_error why = KI_ERROR_INIT;
    ki_status status = ki_testing_server_put_all(server, text, size, ret_objects, &why);
    free(text);
    if (status) {
        *err = why;
        snprintf(err->message, sizeof err->message, "%s: %s", path, ki_error_message(&why));
    }
    return status;
}
