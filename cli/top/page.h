/* page.h: the picture of kinformer top: a bar with the tabs, the health, the table or the summary or an object, the
 * pane of the selected object, a bar with the filter and the order.
 *
 *      pods 2,000  deployments 120  nodes 50  summary
 *     at most 0.4 s old, 312 changes a second                       1,812 Running  12 Pending
 *       NAMESPACE  NAME                    READY  STATUS   RESTARTS  AGE
 *     ~ shop       cart-5b2gv7q5r9-mdgxn   1/1    Running  0         3m20s
 */
#ifndef CLI_TOP_PAGE_H
#define CLI_TOP_PAGE_H

#include "cli/screen/canvas.h"
#include "model.h"

/* Draws the model as of its last model_settle on a canvas that has begun, and notes in the model how many lines of the
 * table are shown. Errors: KI_ERR_NO_MEMORY: the picture is incomplete. */
ki_status page_draw(model *m, canvas *c, moment at, ki_error *err);

#endif
