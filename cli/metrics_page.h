/* metrics_page.h: watch --metrics: what the informers measure, for a scraper, over HTTP. */
#ifndef CLI_METRICS_PAGE_H
#define CLI_METRICS_PAGE_H

#include "session.h"

typedef struct metrics_page metrics_page;

/* Is "PORT", ":PORT", "ADDRESS:PORT" or "[IPv6]:PORT" an address to listen at? Without one it is loopback. */
bool metrics_page_check(const char *text);
/* Serves at such an address, as a part of the session. NULL, said on stderr, where it cannot. */
metrics_page *metrics_page_new(session *s, const char *text);
session_part *metrics_page_part(metrics_page *page);
void metrics_page_free(metrics_page *page);

#endif
