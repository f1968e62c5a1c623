/* pane_view.h: the pane of the selected object: its owners, its Events, its last changes. */
#ifndef CLI_TOP_PANE_VIEW_H
#define CLI_TOP_PANE_VIEW_H

#include "cli/screen/canvas.h"
#include "model.h"

/* Draws `height` lines. Errors: KI_ERR_NO_MEMORY. */
ki_status pane_draw(const model *m, canvas *c, size_t height, moment at, ki_error *err);

#endif
