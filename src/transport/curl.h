/* curl.h: the transport over libcurl's multi interface in socket mode, on the engine's epoll and timers. */
#ifndef KI_TRANSPORT_CURL_H
#define KI_TRANSPORT_CURL_H

#include <kinformer/config.h>

#include "src/transport/transport.h"

/* Creates a transport over libcurl. Ownership: the caller frees it with ki_transport_free, on the loop or with the
 * engine stopped. Copies what it needs of `config`. */
ki_status ki_curl_transport_new(ki_engine *engine, const ki_config *config, ki_transport **ret_transport,
                                ki_error *err);

#endif
