/* inquiry.h: asks the cluster about the selected object: its Events, and the owners of its owner.
 *
 * The Events come from an informer of their own, of this object alone. It starts once the cursor has rested, and ends
 * when the cursor leaves, with its factory and what else was asked. Needs no session and no clock. */
#ifndef CLI_TOP_INQUIRY_H
#define CLI_TOP_INQUIRY_H

#include "model.h"

#include <kinformer/kinformer.h>

enum {
    INQUIRY_AFTER_MS = 300 /* how long the cursor rests before the cluster is asked */
};

typedef struct inquiry inquiry;

/* Both are borrowed. Returns NULL if out of memory. */
inquiry *inquiry_new(const ki_config *config, ki_engine *engine);
/* NULL is accepted. Not in a handler. */
void inquiry_free(inquiry *q);

/* Sets what the cursor is on; NULL: nothing. Called at each tick, on the loop's thread and not in a handler: begins and
 * ends the requests. Errors: KI_ERR_NO_MEMORY: nothing is asked. */
ki_status inquiry_select(inquiry *q, const ki_object *obj, int64_t now_ms);
/* Returns true once for each change of what inquiry_read returns. */
bool inquiry_has_changed(inquiry *q);
/* Copies what is known into `*ret_details`; its Events are borrowed until the next call. Errors: KI_ERR_NO_MEMORY. */
ki_status inquiry_read(inquiry *q, details *ret_details, ki_error *err);

#endif
