/* summary.h: the objects of all tabs by status, the worst first.
 *
 *     COUNT  RESOURCE  STATUS
 *         3  pods      CrashLoopBackOff
 *         2  pods      Running, not ready
 *     1,985  pods      Running */
#ifndef CLI_TOP_SUMMARY_H
#define CLI_TOP_SUMMARY_H

#include "cli/rows/severity.h"
#include "tab.h"

typedef struct summary_line {
    size_t tab;      /* its index */
    condition of;    /* the status, and whether these objects are ready; the status can be "" */
    bool is_unready; /* only the objects that are not ready */
    size_t count;
    severity severity;
} summary_line;

/* {0} is empty. */
typedef struct summary {
    summary_line *lines;
    size_t count;
} summary;

/* Counts the objects of the tabs as of their last tab_settle. Returns false if out of memory: the summary is as it
 * was. */
bool summary_read(summary *s, const tab *tabs, size_t count);
void summary_clear(summary *s);

#endif
