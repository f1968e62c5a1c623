/* table_view.h: the table of a tab: headings, groups, rows. */
#ifndef CLI_TOP_TABLE_VIEW_H
#define CLI_TOP_TABLE_VIEW_H

#include "cli/screen/canvas.h"
#include "tab.h"

/* Draws the headings and `height` lines of the table. Errors: KI_ERR_NO_MEMORY. */
ki_status table_draw(tab *t, canvas *c, size_t height, moment at, ki_error *err);
/* Adds counts by status to the current line, the worst first: "1 CrashLoopBackOff  12 Running". */
void table_add_counts(canvas *c, const ki_columns *columns, const tally *counts);

#endif
