/* screen.h: the terminal's screen: shows a canvas and reads keys. It and description.h alone know ncurses.
 *
 * The terminal is restored whatever ends or stops the program (tty.h). SIGWINCH ends a poll, and the next key is
 * KEY_OF_RESIZE or KEY_OF_REDRAW; a program that blocks the signal calls screen_key when the signal has come.
 *
 * Colours need a terminal that has them, and an environment without NO_COLOR. Characters that the locale lacks are
 * replaced by similar ones of ASCII; in the locale C the terminal is taken to show UTF-8. */
#ifndef CLI_SCREEN_SCREEN_H
#define CLI_SCREEN_SCREEN_H

#include "canvas.h"

enum {
    SCREEN_MESSAGE_MAX = 256,
    SCREEN_WIDTH_MAX = 1000, /* columns and lines of a larger terminal stay empty */
    SCREEN_HEIGHT_MAX = 400
};

/* What screen_key returns. Characters are their code points, and Ctrl-A to Ctrl-Z that are not listed here are 1 to
 * 26. */
enum key {
    KEY_NONE_YET = 0,        /* no further key has been typed */
    KEY_OF_ENTER = 0x110000, /* above all code points */
    KEY_OF_ESCAPE,
    KEY_OF_BACKSPACE,
    KEY_OF_TAB,
    KEY_OF_BACK_TAB,
    KEY_OF_UP,
    KEY_OF_DOWN,
    KEY_OF_LEFT,
    KEY_OF_RIGHT,
    KEY_OF_PAGE_UP,
    KEY_OF_PAGE_DOWN,
    KEY_OF_HOME,
    KEY_OF_END,
    KEY_OF_CLEAR_LINE, /* Ctrl-U */
    KEY_OF_REDRAW,     /* Ctrl-L, or the program goes on after a stop */
    KEY_OF_RESIZE,     /* the terminal has another size */
    KEY_OF_SUSPEND,    /* Ctrl-Z: the caller calls screen_suspend */
    KEY_OF_INTERRUPT   /* Ctrl-C, Ctrl-\ */
};

typedef struct screen_of_terminal screen;

/* Takes the terminal of stdin and stdout. Returns NULL with a message for the user ("the terminal \"dumb\" cannot move
 * its cursor; use kinformer get, or kinformer watch") if it cannot. At most one at a time. */
screen *screen_open(char message[SCREEN_MESSAGE_MAX]);
/* Restores the terminal. NULL is accepted. */
void screen_close(screen *s);

/* The descriptor that is readable when a key has been typed. */
int screen_fd(const screen *s);
/* Reads the next key. Waits for 25 ms at most, after an escape: for the rest of the sequence. */
int screen_key(screen *s);
size_t screen_width(const screen *s);
size_t screen_height(const screen *s);
/* Sends what differs from the last picture. Waits at most about 50 ms for a slow terminal. Returns false if the
 * terminal has not taken all of it, or is the shell's: the caller calls again within some time, with this picture or a
 * newer one. */
bool screen_draw(screen *s, const canvas *c);
/* Sends the whole picture with the next screen_draw (Ctrl-L). */
void screen_redraw(screen *s);
/* Restores the terminal, stops the program as Ctrl-Z does, and takes the terminal again once it goes on. */
void screen_suspend(screen *s);

#endif
