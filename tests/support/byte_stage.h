/* byte_stage.h: an informer of ConfigMaps on a stepped engine, with a server that sends bytes: one text for every
 * list, and the test's bytes for the watch. Records what the informer reports. An unexpected failure fails the test. */
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
    kt_memory_call *watch; /* the open watch; NULL: none */
    const char *list;      /* the response to a list */
    int lists, watches;
    int resumes;       /* watches that resumed after an event that could not be read; not in `errors` */
    char target[2048]; /* of the last request */
    char errors[4096]; /* "status:key" of each reported error */
    char synced[512];  /* the line of the log that says so; empty: none yet */
    size_t adds, deletes;
} byte_stage;

#define BYTE_OBJECT(name, version) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"ns\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" version "\"}}"

void byte_stage_open(byte_stage *s, const char *list, ki_factory_options factory, const ki_informer_options *options);
void byte_stage_close(byte_stage *s);
/* Sends bytes into the watch. If the informer ends the watch and opens it again, sends the same bytes once more, as
 * a server does. */
void byte_stage_send(byte_stage *s, const char *bytes, size_t size);
void byte_stage_send_in_pieces(byte_stage *s, const char *bytes, size_t size, size_t piece);
/* Ends the watch cleanly and returns the target of the informer's next request. */
const char *byte_stage_end_watch(byte_stage *s);

#endif
