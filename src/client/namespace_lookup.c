/* namespace_lookup.c: see namespace_lookup.h. */
#include "src/client/namespace_lookup.h"

/* Only a Status says that there is no namespace: a proxy's 404 says nothing. */
static void on_document(yyjson_val *root, const ki_error *err, void *user) {
    (void)root;
    ki_namespace_lookup *lookup = user;
    bool is_missing = err && err->http_status == KI_DOCUMENT_NOT_FOUND && strcmp(err->reason, "NotFound") == 0;
    lookup->on_found(!err         ? KI_NAMESPACE_THERE
                     : is_missing ? KI_NAMESPACE_MISSING
                                  : KI_NAMESPACE_UNCERTAIN,
                     lookup->user);
}

void ki_namespace_lookup_init(ki_namespace_lookup *lookup, ki_engine *engine, ki_transport *transport) {
    *lookup = (ki_namespace_lookup){ .on_found = NULL };
    ki_document_request_init(&lookup->request, engine, transport);
}

ki_status ki_namespace_lookup_begin(ki_namespace_lookup *lookup, const char *namespace_name,
                                    ki_on_namespace_found on_found, void *user, ki_error *err) {
    if (lookup->request.exchange)
        return KI_OK;
    lookup->on_found = on_found;
    lookup->user = user;
    return ki_document_request_send(&lookup->request, on_document, lookup, err, "/api/v1/namespaces/%s",
                                    namespace_name);
}
