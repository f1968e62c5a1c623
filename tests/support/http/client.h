/* client.h: an HTTP client of plain bytes, for tests of servers: what it sends is the test's, also what is no HTTP. An
 * unexpected failure fails the test. */
#ifndef TESTS_SUPPORT_HTTP_CLIENT_H
#define TESTS_SUPPORT_HTTP_CLIENT_H

/* Returns a connection to 127.0.0.1. Reading from it gives up after PATIENCE_S. */
int http_dial(int port);
void http_send(int fd, const char *text);
/* Returns everything that comes until the end, zero-terminated, and closes the connection. Valid until the next call;
 * at most 4 MiB. */
const char *http_receive(int fd);
/* Sends a request on a new connection, and returns the whole response. */
const char *http_ask(int port, const char *request);
/* Does the same with "GET target" and more headers, each ended by "\r\n"; "": none. */
const char *http_get(int port, const char *target, const char *headers);
/* Returns the port of a URL. */
int http_port(const char *url);

#endif
