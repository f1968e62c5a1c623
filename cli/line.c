/* line.c: see line.h. */
#include "line.h"

#include "diff.h"
#include "output.h"

#include <time.h>

bool get_json(session *s, const ki_object *obj, ki_value *ret_json) {
    ki_error err = KI_ERROR_INIT;
    if (ki_object_json(obj, ret_json, &err) == KI_OK)
        return true;
    say(s->command, "%s: %s", ki_object_key(obj), ki_error_message(&err));
    session_end(s, EXIT_FAILED);
    return false;
}

static void print_differences(session *s, const ki_event *event) {
    ki_value before = KI_VALUE_INIT;
    ki_value after = KI_VALUE_INIT;
    if (get_json(s, event->old, &before) && get_json(s, event->obj, &after)) {
        printf("  ");
        diff_print(before.text, before.text_size, after.text, after.text_size, stdout);
    }
    ki_value_clear(&before);
    ki_value_clear(&after);
}

void print_line(session *s, const ki_event *event, change_type type) {
    static const struct {
        char sign;
        colour colour;
    } looks[] = { { '+', COLOUR_GREEN }, { '~', COLOUR_YELLOW }, { '-', COLOUR_RED } };
    char clock[16] = "";
    struct tm parts;
    time_t now = time(NULL);

    if (localtime_r(&now, &parts))
        strftime(clock, sizeof clock, "%H:%M:%S", &parts);
    printf("%s%c%s %s%s%s ", colour_text(stdout, looks[type].colour), looks[type].sign,
           colour_text(stdout, COLOUR_NONE), colour_text(stdout, COLOUR_DIM), clock, colour_text(stdout, COLOUR_NONE));
    print_tame(stdout, ki_object_kind(event->obj));
    putchar(' ');
    print_tame(stdout, ki_object_key(event->obj));
    if (event->final_state_unknown)
        printf(" (went while nobody watched)");
    if (event->is_resync)
        printf(" (resync)");
    else if (event->old)
        print_differences(s, event);
    putchar('\n');
}
