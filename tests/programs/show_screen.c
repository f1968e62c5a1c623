/* Shows a screen with its size, all styles, and the keys that were typed, for tests/integration/screen.py.
 *
 * q ends, x crashes, f fills the screen with other letters, z suspends as Ctrl-Z does. */
#include "cli/screen/screen.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEYS_MAX = 40
};

static volatile uintptr_t no_address = sizeof(int);
static int keys[KEYS_MAX]; /* the last ones */
static size_t key_count;
static const char *filler = ""; /* what the lines below are filled with: no letter twice, which terminals repeat */

static void add_key(int typed) {
    if (key_count == KEYS_MAX)
        memmove(keys, keys + 1, sizeof keys - sizeof keys[0]);
    key_count -= key_count == KEYS_MAX;
    keys[key_count++] = typed;
}

static const char *name_of(int typed, char text[16]) {
    static const char *const names[] = { "enter", "escape", "backspace", "tab",     "back-tab",  "up",
                                         "down",  "left",   "right",     "page-up", "page-down", "home",
                                         "end",   "clear",  "redraw",    "resize",  "suspend",   "interrupt" };
    if (typed >= KEY_OF_ENTER)
        return names[typed - KEY_OF_ENTER];
    snprintf(text, 16, typed > ' ' && typed < 127 ? "%c" : "%d", typed);
    return text;
}

static void draw_keys(canvas *c) {
    char text[16];
    canvas_line(c);
    canvas_add(c, STYLE_PLAIN, "keys:", 0);
    for (size_t i = 0; i < key_count; i++)
        canvas_printf(c, STYLE_PLAIN, " %s", name_of(keys[i], text));
}

static void draw_styles(canvas *c) {
    static const char *const names[STYLES] = { "plain", "dim", "heading", "good", "warning", "bad", "lit", "bar" };
    for (int selected = 0; selected < 2; selected++) {
        canvas_line(c);
        if (selected)
            canvas_select_line(c);
        for (style in = STYLE_PLAIN; in < STYLES; in++) {
            canvas_add(c, in, names[in], 0);
            canvas_add(c, STYLE_PLAIN, " ", 0);
        }
    }
}

static void draw(canvas *c, screen *s) {
    if (!canvas_begin(c, screen_width(s), screen_height(s)))
        exit(EXIT_FAILURE);
    canvas_line(c);
    canvas_printf(c, STYLE_BAR, "screen %zux%zu, process %d", screen_width(s), screen_height(s), getpid());
    canvas_move(c, canvas_width(c), STYLE_BAR);
    draw_keys(c);
    draw_styles(c);
    canvas_line(c);
    canvas_add(
        c, STYLE_PLAIN,
        "1 \342\206\222 2 \342\200\246 \342\224\200\342\224\202 \346\227\245\346\234\254|e\314\201|\360\237\221\251|",
        0);
    while (canvas_line(c)) {
        for (size_t i = 0; *filler && i < canvas_width(c); i += 2)
            canvas_add(c, STYLE_PLAIN, filler, 0);
    }
}

static bool handle_key(int typed, screen *s) {
    add_key(typed);
    if (typed == 'f')
        filler = *filler == 'a' ? "ba" : "ab";
    if (typed == KEY_OF_SUSPEND)
        screen_suspend(s);
    if (typed == KEY_OF_REDRAW)
        screen_redraw(s);
    if (typed == 'x')
        *(volatile int *)no_address = 1; /* NOLINT(performance-no-int-to-ptr): a crash */
    return typed != 'q';
}

int main(void) {
    char message[SCREEN_MESSAGE_MAX];
    canvas *c = canvas_new();
    screen *s = screen_open(message);
    if (!s || !c) {
        fprintf(stderr, "show_screen: %s\n", s ? "no memory" : message);
        canvas_free(c);
        return EXIT_FAILURE;
    }
    bool goes_on = true, is_drawn = false;
    while (goes_on) {
        struct pollfd input = { .fd = screen_fd(s), .events = POLLIN };
        draw(c, s);
        is_drawn = screen_draw(s, c);
        poll(&input, 1, is_drawn ? -1 : 100);
        for (int typed; goes_on && (typed = screen_key(s)) != KEY_NONE_YET;)
            goes_on = handle_key(typed, s);
        if (input.revents & (POLLERR | POLLHUP))
            goes_on = false;
    }
    screen_close(s);
    canvas_free(c);
    return EXIT_SUCCESS;
}
