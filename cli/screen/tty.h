/* tty.h: the terminal as a device: taken from the shell, and given back whatever ends or stops the program.
 *
 * The terminal is restored by tty_restore, at exit, at signals that end the program, and at a crash, from the signal's
 * handler; then the signal does what it did before: its default action, or the handler that was there (the sanitizers'
 * reports). SIGTSTP restores the terminal and stops the program; SIGCONT takes the terminal again, unless the program
 * goes on in the background. Signals that are ignored stay ignored, and blocked ones wait. Nothing can be done at
 * SIGKILL.
 *
 * A terminal that takes no bytes (a dead connection) does not block the program: writes wait for a bounded time. */
#ifndef CLI_SCREEN_TTY_H
#define CLI_SCREEN_TTY_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TTY_TEXT_MAX = 256
};

/* Takes the terminal of stdin and stdout; one at a time. `take` and `restore` are what the terminal gets when it is
 * taken again after a stop, and when it is given back; longer ones than TTY_TEXT_MAX are left out. The caller sets the
 * modes and writes `take` the first time. Returns false, with errno, if it is no terminal. */
bool tty_take(const char *take, const char *restore);
/* Notes the modes that the caller has set: they are set again after a stop. */
void tty_note_modes(void);
/* Restores the terminal and the signals' handlers. */
void tty_restore(void);

/* Returns false while the program is in the background: the terminal is the shell's. Takes it again afterwards. */
bool tty_is_taken(void);
/* Returns true once after the terminal was taken again: it shows nothing of the program's. */
bool tty_was_retaken(void);
/* Writes to the terminal, and waits at most about 50 ms for it. Returns how many bytes it took; `size` if the terminal
 * is gone. */
size_t tty_write(const char *text, size_t size);
/* Reads the terminal's size. Leaves what the terminal does not know. */
void tty_size(size_t *width, size_t *height);
/* Restores the terminal and stops the program, with its process group, as Ctrl-Z does. Returns once it goes on. */
void tty_suspend(void);

#endif
