/* options.c: see options.h. */
#include "src/base/options.h"

#include <string.h>

ki_status ki_options_take(const void *options, void *ret_given, size_t size, const char *maker, ki_error *err) {
    size_t given = 0;
    memset(ret_given, 0, size);
    if (options) {
        memcpy(&given, options, sizeof given);
        if (given == 0)
            return ki_error_set(err, KI_ERR_INVALID, "options without a size: use %s()", maker);
        memcpy(ret_given, options, given < size ? given : size);
    }
    memcpy(ret_given, &size, sizeof size);
    return KI_OK;
}
