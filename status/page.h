/* page.h: the page for people. Any thread. */
#ifndef KI_STATUS_PAGE_H
#define KI_STATUS_PAGE_H

#include "src/base/buffer.h"
#include "status/history.h"

typedef struct ki_page {
    const char *title;
    const char *process;       /* "node-1, pid 7" */
    const char *version;       /* of the program; "": unknown */
    const ki_picture *picture; /* with details */
    ki_history *history;
    double running_s;   /* since the server was made */
    double loop_late_s; /* since the loop should have run; 0: it is in time */
} ki_page;

/* Appends the page as HTML. */
void ki_page_write(const ki_page *page, ki_buffer *out);

/* The script of the page, which updates it in place. The page works without. Static. */
extern const char ki_page_script[];
/* The style of the page, for its head, in two parts: C compilers need not have longer texts. Static. */
extern const char ki_page_style[];
extern const char ki_page_style_of_tables[];

#endif
