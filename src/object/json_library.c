/* json_library.c: see json_library.h. */
#include "src/object/json_library.h"

#include "src/base/error.h"

#include <stdatomic.h>
#include <stdint.h>
#include <yyjson.h>

enum {
    NOT_ASKED = 0, /* a version of yyjson is never 0 */
    PATCH_BITS = 8 /* 0x000A00 is 0.10.0 */
};

ki_status ki_json_check_library(ki_error *err) {
    static _Atomic uint32_t loaded = NOT_ASKED;
    uint32_t version = atomic_load_explicit(&loaded, memory_order_relaxed);
    if (version == NOT_ASKED) {
        version = yyjson_version();
        atomic_store_explicit(&loaded, version, memory_order_relaxed);
    }
    if (version >> PATCH_BITS == YYJSON_VERSION_HEX >> PATCH_BITS)
        return KI_OK;
    return ki_error_set(err, KI_ERR_UNSUPPORTED,
                        "the process has yyjson %u.%u.%u, and kinformer was built for %s: their structs may differ; "
                        "build kinformer with KI_YYJSON_SOURCE, which gives it a yyjson of its own",
                        version >> 16, version >> 8 & 0xff, version & 0xff, YYJSON_VERSION_STRING);
}
