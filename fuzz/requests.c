/* requests.c: requests to the REST layer of an empty cluster, one after the other. A request is four lines of text
 * (method, target, content type, the Accept header) and a body; a byte of 0x1e ends it. Watches are read once. */
#include "fuzz/fuzz.h"

#include "src/base/memory.h"
#include "testing/request/watch.h"
#include "testing/rest/rest.h"

enum {
    NOW_MS = 1780000000,
    END_OF_REQUEST = 0x1e,
    REQUESTS_MAX = 8,
    BLOCK = 64 * 1024
};

/* Cuts a line off. The caller frees it. */
static char *take_line(ki_str *rest) {
    ki_str line = ki_str_split(*rest, '\n', rest);
    char *copy = ki_strndup(&ki_allocator_default, line.size ? line.data : "", line.size);
    fuzz_check(copy != NULL);
    return copy;
}

static void read_watch(kt_watch *watch) {
    kt_watch_state state = KT_WATCH_WAITS;
    ki_buffer frames;
    ki_buffer_init(&frames, &ki_allocator_default, 0);
    fuzz_check(!kt_watch_read(watch, (int64_t)NOW_MS * 1000, &frames, BLOCK, NULL, &state));
    ki_buffer_free(&frames);
}

static void send_request(kt_cluster *cluster, ki_str text) {
    char *method = take_line(&text), *target = take_line(&text), *type = take_line(&text), *accept = take_line(&text);
    const kt_request request = { .method = method,
                                 .target = target,
                                 .content_type = type[0] ? type : NULL,
                                 .accept = accept[0] ? accept : NULL,
                                 .user_agent = "fuzz/1.0",
                                 .is_local = true,
                                 .body = text.data ? text : (ki_str){ "", 0 } };
    kt_response response;
    fuzz_check(!kt_rest_handle(cluster, &request, (int64_t)NOW_MS * 1000, &response));
    fuzz_check(response.status >= 200 && response.status < 600);
    if (response.watch)
        read_watch(response.watch);
    kt_response_free(&response);
    free(method);
    free(target);
    free(type);
    free(accept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_str rest = { (const char *)data, size };
    kt_cluster *cluster = NULL;
    fuzz_check(!kt_cluster_new(NULL, NULL, &cluster, NULL));
    for (int i = 0; i < REQUESTS_MAX && rest.size; i++)
        send_request(cluster, ki_str_split(rest, END_OF_REQUEST, &rest));
    kt_cluster_free(cluster);
    return 0;
}
