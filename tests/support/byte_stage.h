/* byte_stage.h: an informer of config maps on a stepped engine whose server is bytes: one text for every list, and what the test sends into the
 * watch. What is reported is written down. What goes wrong fails the test. */
#ifndef TESTS_SUPPORT_BYTE_STAGE_H
#define TESTS_SUPPORT_BYTE_STAGE_H

#include <kinformer/kinformer.h>

#include "testing/memory/transport.h"
#include "tests/support/test_engine.h"

typedef struct byte_stage {
    test_engine engine;
    ki_transport *transport;
    ki_factory *factory;
    ki_informer *informer;
    kt_memory_call *watch; /* under way, or NULL */
    const char *list;      /* what a list gets */
    int lists, watches;
    int resumes;       /* watches that were resumed since an event could not be read: not among the errors */
    char target[2048]; /* of the last request */
    char errors[4096]; /* "status:key" of each that was reported */
    size_t adds, deletes;
} byte_stage;

#define BYTE_OBJECT(name, version) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"ns\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" version "\"}}"

void byte_stage_open(byte_stage *s, const char *list, const ki_informer_options *options);
void byte_stage_close(byte_stage *s);
/* Into the watch. Where the informer ends that and opens it again, the same bytes are sent once more, as a server does. */
void byte_stage_send(byte_stage *s, const char *bytes, size_t size);
void byte_stage_send_in_pieces(byte_stage *s, const char *bytes, size_t size, size_t piece);
/* The server closes the watch in good order, and the informer goes on: gives the target of its next request. */
const char *byte_stage_end_watch(byte_stage *s);

#endif
