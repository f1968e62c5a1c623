/* readiness_text.c: the readiness of a factory, for a program that has no status server. */
#include "src/base/error.h"
#include "src/base/openmetrics.h"
#include "src/engine/engine.h"
#include "src/readiness/readiness.h"

#include <string.h>

enum {
    TEXT_MAX = 16 << 20 /* bytes */
};

static ki_status copy(const ki_allocator *allocator, const ki_buffer *from, char **ret_text) {
    char *text = from->failed ? NULL : ki_metrics_text_new(allocator, from->size + 1);
    if (!text)
        return from->failed ? from->failed : KI_ERR_NO_MEMORY;
    memcpy(text, from->data, from->size);
    text[from->size] = '\0';
    *ret_text = text;
    return KI_OK;
}

ki_status ki_factory_readiness_text(ki_factory *factory, bool *ret_is_ready, char **ret_text, ki_error *err) {
    if (!factory || !ret_is_ready)
        return ki_error_missing(err, "ki_factory_readiness_text");
    ki_engine *engine = ki_factory_engine(factory);
    if (ki_engine_check_process(engine, err))
        return KI_ERR_STATE;
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_picture picture;
    ki_buffer out;
    ki_buffer_init(&out, allocator, TEXT_MAX);
    ki_status status = ki_picture_take(&picture, allocator, true, factory, NULL, NULL);
    bool is_ready = !status && ki_readiness_write(&picture, true, &out);
    if (!status && ret_text)
        status = copy(allocator, &out, ret_text);
    ki_picture_free(&picture);
    ki_buffer_free(&out);
    if (status)
        return ki_error_set(err, status, "the readiness of the informers: %s", ki_status_name(status));
    *ret_is_ready = is_ready;
    return KI_OK;
}
