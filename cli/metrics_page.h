/* metrics_page.h: watch --metrics: serves the informers' metrics over HTTP. */
#ifndef CLI_METRICS_PAGE_H
#define CLI_METRICS_PAGE_H

#include "session.h"

typedef struct metrics_page metrics_page;

/* Returns true for "PORT", ":PORT", "ADDRESS:PORT" or "[IPv6]:PORT". Without an address the page listens on
 * loopback. */
bool metrics_page_check(const char *text);
/* Serves the metrics at `text`, as a part of the session. Returns NULL, with a message on stderr, on failure. */
metrics_page *metrics_page_new(session *s, const char *text);
session_part *metrics_page_part(metrics_page *page);
void metrics_page_free(metrics_page *page);

#endif
