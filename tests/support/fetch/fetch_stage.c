/* fetch_stage.c: see fetch_stage.h. */
#include "tests/support/fetch/fetch_stage.h"

#include "src/base/buffer.h"
#include "testing/faults/fault.h"
#include "tests/support/controller_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char answers[8192]; /* the rest is counted only */
static int answer_count;
ki_error fetch_last_error;

void fetch_answer(ki_informer *informer, const char *key, const ki_object *obj, const ki_error *err, void *user) {
    size_t used = strlen(answers);
    assert_non_null(informer);
    assert_true((obj == NULL) == (err != NULL));
    const char *version = obj ? ki_object_label(obj, "v") : NULL;
    snprintf(answers + used, sizeof answers - used, "%s%s %s;", (const char *)user, key,
             version ? version
             : err   ? ki_status_name(err->code)
                     : "-");
    fetch_last_error = err ? *err : (ki_error)KI_ERROR_INIT;
    answer_count++;
}

void fetch_expect(const char *wanted) {
    assert_string_equal(answers, wanted);
    (void)fetch_count_answers();
}

int fetch_count_answers(void) {
    int count = answer_count;
    answers[0] = '\0';
    answer_count = 0;
    return count;
}

void fetch_fault(const char *line) {
    ki_error err = KI_ERROR_INIT;
    if (kt_faults_add(kt_cluster_faults(stage.cluster), line, kt_memory_adapter_now_ms(stage.adapter), NULL, &err))
        fail_msg("%s: %s", line, ki_error_message(&err));
}

void fetch_heal(void) {
    kt_faults_clear(kt_cluster_faults(stage.cluster));
}

int fetch_count_requests(void) {
    ki_buffer text;
    ki_buffer_init(&text, ki_engine_allocator(stage.engine.engine), 0);
    assert_int_equal(kt_faults_append(kt_cluster_faults(stage.cluster), &text), KI_OK);
    assert_int_equal(ki_buffer_append_char(&text, '\0'), KI_OK);
    const char *place = strstr(text.data, "\"requests\":");
    int count = place ? atoi(place + strlen("\"requests\":")) : -1;
    ki_buffer_free(&text);
    return count;
}

ki_informer *fetch_pods(const ki_informer_options *options) {
    ki_informer *pods = NULL;
    (void)fetch_count_answers();
    assert_int_equal(ki_factory_informer(stage.factory, KI_PODS, options, &pods, NULL), KI_OK);
    return pods;
}

void fetch_ask(ki_informer *informer, const char *key, int64_t timeout_ms) {
    static char nobody[] = "";
    ki_error err = KI_ERROR_INIT;
    if (ki_informer_get_or_fetch_async(informer, key, timeout_ms, fetch_answer, nobody, &err))
        fail_msg("%s: %s", key, ki_error_message(&err));
}
