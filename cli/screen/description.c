/* description.c: see description.h. */
#include "description.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

/* Returns a string of the terminal's description; "" if it has none. */
static const char *capability(const char *name) {
    const char *text = tigetstr(name);
    return text && text != (const char *)-1 ? text : ""; /* NOLINT(performance-no-int-to-ptr): as terminfo has it */
}

/* Appends a capability, without its delays ("$<5>"). */
static void append(char to[TTY_TEXT_MAX], const char *name) {
    size_t size = strlen(to);
    for (const char *text = capability(name); *text && size + 1 < TTY_TEXT_MAX; text++) {
        if (text[0] == '$' && text[1] == '<' && strchr(text, '>'))
            text = strchr(text, '>');
        else
            to[size++] = *text;
    }
    to[size] = '\0';
}

/* Checks that the terminal can show a picture. */
static bool can_show(char message[SCREEN_MESSAGE_MAX]) {
    static const char instead[] = "use kinformer get, or kinformer watch";
    const char *name = getenv("TERM");
    int found = 0;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        snprintf(message, SCREEN_MESSAGE_MAX, "standard input and output are not a terminal; %s", instead);
    else if (!name || !*name)
        snprintf(message, SCREEN_MESSAGE_MAX, "TERM is not set; set it to the terminal's name (xterm-256color), or %s",
                 instead);
    else if (setupterm(name, STDOUT_FILENO, &found) != OK)
        snprintf(message, SCREEN_MESSAGE_MAX,
                 "the terminal \"%.64s\" is not known here; set TERM to a similar one (xterm-256color), or %s", name,
                 instead);
    else if (!*capability("cup"))
        snprintf(message, SCREEN_MESSAGE_MAX, "the terminal \"%.64s\" cannot move its cursor; %s", name, instead);
    else
        return true;
    return false;
}

/* Writes the texts one after the other. */
static void write_texts(char to[TTY_TEXT_MAX], const char *const *names, size_t count) {
    to[0] = '\0';
    for (size_t i = 0; i < count; i++)
        append(to, names[i]);
}

bool description_read(char take[TTY_TEXT_MAX], char restore[TTY_TEXT_MAX], char message[SCREEN_MESSAGE_MAX]) {
    static const char *const takes[] = { "smcup", "smkx", "civis" };
    static const char *const restores[] = { "rmkx", "sgr0", "op", "cnorm", "rmcup" };
    bool can = can_show(message);
    if (can) {
        write_texts(take, takes, sizeof takes / sizeof takes[0]);
        write_texts(restore, restores, sizeof restores / sizeof restores[0]);
        if (!*capability("rmcup")) /* the picture would stay */
            append(restore, "clear");
    }
    del_curterm(cur_term);
    return can;
}
