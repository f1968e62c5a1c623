/* named_list_watch.h: lists and watches of a resource that is given by its name. Each list first finds the version,
 * kind and scope in the server's discovery, so that a definition may come, go and change its versions. All on the
 * loop. */
#ifndef KI_CLIENT_NAMED_LIST_WATCH_H
#define KI_CLIENT_NAMED_LIST_WATCH_H

#include "src/client/http_list_watch.h"

/* As ki_http_list_watch_new, for a selection by name. A list whose resource is not found ends with the error of
 * ki_name_lookup. `finds`: sets what it finds in the selection; else it uses what another source has set there. */
ki_status ki_named_list_watch_new(ki_engine *engine, ki_transport *transport, ki_object_format *format,
                                  const ki_http_list_watch_options *options, bool finds, ki_list_watch **ret_list_watch,
                                  ki_error *err);

#endif
