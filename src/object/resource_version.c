/* resource_version.c: compares two resource versions. */
#include <kinformer/object.h>

#include <string.h>

/* Returns true for a decimal integer without sign and leading zeros, the only form whose order Kubernetes defines
 * (KEP-5504). */
static bool is_decimal(const char *text) {
    if (!*text || (text[0] == '0' && text[1]))
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
    }
    return true;
}

ki_order ki_resource_version_compare(const char *a, const char *b) {
    if (!a || !b)
        return KI_ORDER_UNKNOWN;
    int order = strcmp(a, b);
    if (order == 0)
        return KI_ORDER_SAME;
    if (!is_decimal(a) || !is_decimal(b))
        return KI_ORDER_UNKNOWN;
    size_t a_size = strlen(a), b_size = strlen(b);
    if (a_size != b_size)
        return a_size < b_size ? KI_ORDER_OLDER : KI_ORDER_NEWER;
    return order < 0 ? KI_ORDER_OLDER : KI_ORDER_NEWER;
}
