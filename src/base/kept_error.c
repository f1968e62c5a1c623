/* kept_error.c: see kept_error.h. */
#include "src/base/kept_error.h"

#include "src/base/assert.h"
#include "src/base/memory.h"

void ki_error_keep(const ki_allocator *allocator, ki_kept_error *kept, const ki_error *err) {
    KI_ASSERT(kept->code || !kept->whole);
    ki_error *whole = kept->whole;
    if (!err || !err->code) {
        ki_free(allocator, whole);
        *kept = (ki_kept_error){ .code = KI_OK };
        return;
    }
    if (!whole)
        whole = ki_alloc(allocator, sizeof *whole);
    if (whole)
        *whole = *err;
    *kept = (ki_kept_error){ err->code, err->category, err->http_status, err->retry_after_ms, whole };
}

ki_error ki_error_kept(const ki_kept_error *kept) {
    KI_ASSERT(kept->code || !kept->whole);
    KI_ASSERT(!kept->whole || kept->whole->code == kept->code);
    static const ki_error none = KI_ERROR_INIT;
    if (!kept->code)
        return none;
    return kept->whole ? *kept->whole
                       : (ki_error){ kept->code,           kept->category, kept->http_status,
                                     kept->retry_after_ms, { 0 },          "out of memory for the message" };
}
