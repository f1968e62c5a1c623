/* health_view.h: the line that says how current a tab is, and what is wrong. */
#ifndef CLI_TOP_HEALTH_VIEW_H
#define CLI_TOP_HEALTH_VIEW_H

#include "cli/screen/canvas.h"
#include "tab.h"

/* Adds the health to the current line: "at most 0.4 s old, 312 changes a second"; "blocked, next try in 4.0 s, at
 * most 35 s old: forbidden: …". `server` is named while it does not respond. */
void health_draw(const tab *t, const char *server, canvas *c);

#endif
