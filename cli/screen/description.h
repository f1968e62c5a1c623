/* description.h: what terminfo says of the terminal, before ncurses takes it. */
#ifndef CLI_SCREEN_DESCRIPTION_H
#define CLI_SCREEN_DESCRIPTION_H

#include "screen.h"
#include "tty.h"

/* Reads what the terminal gets when it is taken and given back (tty_take). Returns false with a message for the user if
 * it cannot show a picture. */
bool description_read(char take[TTY_TEXT_MAX], char restore[TTY_TEXT_MAX], char message[SCREEN_MESSAGE_MAX]);

#endif
