/* screen.c: see screen.h.
 *
 * ncurses computes what differs from the last picture and writes it with write(), as long as that blocks. So while it
 * draws, its descriptor is a file in memory; the terminal gets the file's bytes without blocking (tty_write). */
#define NCURSES_WIDECHAR 1
#include "screen.h"

#include "description.h"
#include "glyphs.h"
#include "tty.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wctype.h>

enum {
    ESCAPE_DELAY_MS = 25,
    CHUNK = 4096, /* bytes that are read from the file at once */
    CONTROL_C = 3,
    CONTROL_L = 12,
    CONTROL_U = 21,
    CONTROL_Z = 26,
    ESCAPE = 27,
    CONTROL_BACKSLASH = 28,
    DELETE = 127
};

struct screen_of_terminal {
    FILE *out;        /* ncurses' */
    SCREEN *curses;   /* its state */
    WINDOW *keys;     /* a pad: reading a key from it draws nothing */
    int terminal;     /* a copy of the descriptor of `out`, to point it back */
    int memory;       /* the file in memory */
    off_t size, sent; /* bytes of the file; those that the terminal has taken */
    bool was_retaken; /* the caller does not know yet */
    attr_t attributes[STYLES];
    short pairs[STYLES];
    size_t width, height;
};

/* ---- opening and closing ---- */

/* Takes the terminal for tty.h. */
static bool take_terminal(char message[SCREEN_MESSAGE_MAX]) {
    char take[TTY_TEXT_MAX], restore[TTY_TEXT_MAX];
    if (!description_read(take, restore, message))
        return false;
    if (tty_take(take, restore))
        return true;
    snprintf(message, SCREEN_MESSAGE_MAX, "the terminal cannot be used: %s", strerror(errno));
    return false;
}

/* Sets the characters' set: UTF-8, or what the environment names. C.UTF-8 has no language: letters stay as they are
 * elsewhere in the program. */
static void set_locale(void) {
    const char *set = setlocale(LC_CTYPE, "") ? nl_langinfo(CODESET) : "UTF-8";
    bool is_other = strcmp(set, "UTF-8") != 0 && strcmp(set, "ANSI_X3.4-1968") != 0;
    if (!is_other && !setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "");
}

static bool wants_colours(void) {
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && has_colors();
}

static void set_styles(screen *s) {
    static const struct {
        attr_t attributes;
        short text, background;
        attr_t without_colours;
    } looks[STYLES] = {
        [STYLE_PLAIN] = { A_NORMAL, -1, -1, A_NORMAL },
        [STYLE_DIM] = { A_DIM, -1, -1, A_DIM },
        [STYLE_HEADING] = { A_BOLD | A_UNDERLINE, -1, -1, A_BOLD | A_UNDERLINE },
        [STYLE_GOOD] = { A_NORMAL, COLOR_GREEN, -1, A_NORMAL },
        [STYLE_WARNING] = { A_NORMAL, COLOR_YELLOW, -1, A_UNDERLINE },
        [STYLE_BAD] = { A_BOLD, COLOR_RED, -1, A_BOLD },
        [STYLE_LIT] = { A_NORMAL, COLOR_BLACK, COLOR_YELLOW, A_REVERSE | A_BOLD },
        [STYLE_BAR] = { A_REVERSE, -1, -1, A_REVERSE },
    };
    bool has_colours = wants_colours() && start_color() == OK && use_default_colors() == OK;
    for (short i = 0; i < (short)STYLES; i++) {
        s->attributes[i] = has_colours ? looks[i].attributes : looks[i].without_colours;
        if (has_colours && looks[i].text >= 0 && init_pair(i, looks[i].text, looks[i].background) == OK)
            s->pairs[i] = i;
    }
}

/* Takes the terminal's size. Returns true if it is another one. */
static bool take_size(screen *s) {
    size_t width = s->width, height = s->height;
    tty_size(&width, &height);
    width = width < SCREEN_WIDTH_MAX ? width : SCREEN_WIDTH_MAX;
    height = height < SCREEN_HEIGHT_MAX ? height : SCREEN_HEIGHT_MAX;
    if ((width == s->width && height == s->height) || resizeterm((int)height, (int)width) != OK)
        return false;
    s->width = width;
    s->height = height;
    screen_redraw(s); /* terminals move the lines that they have */
    return true;
}

/* Keys that a terminal sends in another mode than its description says. */
static void define_keys(void) {
    static const struct {
        const char *sequence;
        int code;
    } more[] = { { "\033[A", KEY_UP },     { "\033OA", KEY_UP },    { "\033[B", KEY_DOWN },  { "\033OB", KEY_DOWN },
                 { "\033[C", KEY_RIGHT },  { "\033OC", KEY_RIGHT }, { "\033[D", KEY_LEFT },  { "\033OD", KEY_LEFT },
                 { "\033[H", KEY_HOME },   { "\033OH", KEY_HOME },  { "\033[1~", KEY_HOME }, { "\033[F", KEY_END },
                 { "\033OF", KEY_END },    { "\033[4~", KEY_END },  { "\033OM", KEY_ENTER }, { "\033[Z", KEY_BTAB },
                 { "\033[5~", KEY_PPAGE }, { "\033[6~", KEY_NPAGE } };
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (key_defined(more[i].sequence) == 0)
            define_key(more[i].sequence, more[i].code);
    }
}

/* Opens the descriptors, and ncurses with them. Returns false, with errno, if it cannot. */
static bool open_curses(screen *s) {
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    s->terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    s->memory = memfd_create("kinformer-screen", MFD_CLOEXEC);
    s->out = out < 0 ? NULL : fdopen(out, "w");
    if (!s->out && out >= 0)
        close(out);
    if (!s->out || s->terminal < 0 || s->memory < 0)
        return false;
    use_env(FALSE);    /* LINES and COLUMNS do not change */
    use_tioctl(FALSE); /* the size, of which ncurses would allocate any, is that of take_size */
    s->curses = newterm(NULL, s->out, stdin);
    s->keys = s->curses ? newpad(1, 1) : NULL;
    return s->keys != NULL;
}

static void set_up(screen *s) {
    raw();
    noecho();
    tty_note_modes();
    set_escdelay(ESCAPE_DELAY_MS);
    typeahead(-1); /* a picture is drawn as a whole */
    curs_set(0);
    keypad(s->keys, TRUE);
    nodelay(s->keys, TRUE);
    define_keys();
    set_styles(s);
    s->width = (size_t)COLS;
    s->height = (size_t)LINES;
    take_size(s);
}

screen *screen_open(char message[SCREEN_MESSAGE_MAX]) {
    if (!take_terminal(message))
        return NULL;
    set_locale();
    screen *s = calloc(1, sizeof *s);
    if (s && open_curses(s)) {
        set_up(s);
        return s;
    }
    snprintf(message, SCREEN_MESSAGE_MAX, "the terminal cannot be used: %s", strerror(errno));
    if (s)
        screen_close(s);
    else
        tty_restore();
    return NULL;
}

void screen_close(screen *s) {
    if (!s)
        return;
    tty_restore();
    if (s->out)
        dup3(s->memory, fileno(s->out), O_CLOEXEC); /* what ncurses has to say no longer matters */
    if (s->keys)
        delwin(s->keys);
    if (s->curses)
        delscreen(s->curses);
    if (s->out)
        fclose(s->out);
    if (s->terminal >= 0)
        close(s->terminal);
    if (s->memory >= 0)
        close(s->memory);
    free(s);
}

size_t screen_width(const screen *s) {
    return s->width;
}

size_t screen_height(const screen *s) {
    return s->height;
}

void screen_suspend(screen *s) {
    (void)s; /* there is one */
    tty_suspend();
}

/* ---- drawing ---- */

void screen_redraw(screen *s) {
    (void)s;
    clearok(curscr, TRUE);
}

/* Begins anew after a stop: the terminal has nothing of the last picture. */
static void note_retake(screen *s) {
    if (!tty_was_retaken())
        return;
    s->was_retaken = true;
    s->sent = s->size;
    screen_redraw(s);
}

/* Sends what the terminal has not taken yet. Returns true once it has all. */
static bool send_rest(screen *s) {
    char chunk[CHUNK];
    while (s->sent < s->size) {
        ssize_t size = pread(s->memory, chunk, sizeof chunk, s->sent);
        if (size <= 0)
            return false;
        size_t taken = tty_write(chunk, (size_t)size);
        s->sent += (off_t)taken;
        if (taken < (size_t)size)
            return false;
    }
    return true;
}

/* Lets ncurses draw into the file. */
static void draw_into_memory(screen *s) {
    if (ftruncate(s->memory, 0) != 0 || lseek(s->memory, 0, SEEK_SET) != 0 ||
        dup3(s->memory, fileno(s->out), O_CLOEXEC) < 0)
        return; /* draws on the terminal itself */
    doupdate();
    dup3(s->terminal, fileno(s->out), O_CLOEXEC);
    s->size = lseek(s->memory, 0, SEEK_END);
    s->sent = 0;
}

/* Adds text that fills `width` columns. */
static void add_text(const char *text, size_t width) {
    wchar_t wide[SCREEN_WIDTH_MAX * 2];
    addnwstr(wide, (int)glyphs_fill(wide, sizeof wide / sizeof wide[0], text, width));
}

static void add_line(const screen *s, const canvas *c, size_t line) {
    const attr_t reverse = canvas_is_selected(c, line) ? A_REVERSE : 0;
    size_t column = 0;
    for (size_t i = 0; i < canvas_run_count(c, line); i++) {
        const canvas_run r = canvas_run_at(c, line, i);
        if (r.column >= s->width)
            break;
        column = r.column + r.width < s->width ? r.column + r.width : s->width;
        attr_set(s->attributes[r.style] ^ reverse, s->pairs[r.style], NULL);
        move((int)line, (int)r.column);
        add_text(r.text, column - r.column);
    }
    if (reverse && column < s->width) {
        attr_set(reverse, 0, NULL);
        move((int)line, (int)column);
        add_text("", s->width - column);
    }
}

bool screen_draw(screen *s, const canvas *c) {
    if (!tty_is_taken())
        return false;
    note_retake(s);
    if (!send_rest(s))
        return false;
    erase();
    for (size_t line = 0; line < canvas_height(c) && line < s->height; line++)
        add_line(s, c, line);
    wnoutrefresh(stdscr);
    draw_into_memory(s);
    return send_rest(s);
}

/* ---- keys ---- */

int screen_fd(const screen *s) {
    (void)s;
    return STDIN_FILENO;
}

static int key_of_code(wint_t code) {
    switch (code) {
    case KEY_ENTER:
        return KEY_OF_ENTER;
    case KEY_BACKSPACE:
        return KEY_OF_BACKSPACE;
    case KEY_BTAB:
        return KEY_OF_BACK_TAB;
    case KEY_UP:
        return KEY_OF_UP;
    case KEY_DOWN:
        return KEY_OF_DOWN;
    case KEY_LEFT:
        return KEY_OF_LEFT;
    case KEY_RIGHT:
        return KEY_OF_RIGHT;
    case KEY_PPAGE:
        return KEY_OF_PAGE_UP;
    case KEY_NPAGE:
        return KEY_OF_PAGE_DOWN;
    case KEY_HOME:
        return KEY_OF_HOME;
    case KEY_END:
        return KEY_OF_END;
    default:
        return KEY_NONE_YET; /* of no use here */
    }
}

static int key_of_character(wint_t character) {
    switch (character) {
    case '\r':
    case '\n':
        return KEY_OF_ENTER;
    case '\t':
        return KEY_OF_TAB;
    case '\b':
    case DELETE:
        return KEY_OF_BACKSPACE;
    case CONTROL_C:
    case CONTROL_BACKSLASH:
        return KEY_OF_INTERRUPT;
    case CONTROL_L:
        return KEY_OF_REDRAW;
    case CONTROL_U:
        return KEY_OF_CLEAR_LINE;
    case CONTROL_Z:
        return KEY_OF_SUSPEND;
    default:
        return character < ' ' || iswprint(character) ? (int)character : KEY_NONE_YET;
    }
}

/* Reads what follows an escape: nothing, a sequence that the terminal's description does not have, which is skipped, or
 * a key of its own. */
static int key_after_escape(screen *s) {
    wint_t character = 0;
    int kind = wget_wch(s->keys, &character);
    if (kind == OK && (character == '[' || character == 'O')) {
        do
            kind = wget_wch(s->keys, &character);
        while (kind == OK && character >= ' ' && character < '@');
        return KEY_NONE_YET;
    }
    if (kind == OK)
        unget_wch((wchar_t)character);
    else if (kind == KEY_CODE_YES)
        ungetch((int)character);
    return KEY_OF_ESCAPE;
}

int screen_key(screen *s) {
    int found = KEY_NONE_YET, kind = OK;
    wint_t character = 0;
    note_retake(s);
    bool was_retaken = s->was_retaken;
    s->was_retaken = false;
    if (take_size(s))
        return KEY_OF_RESIZE;
    if (was_retaken)
        return KEY_OF_REDRAW;
    while (!found && (kind = wget_wch(s->keys, &character)) != ERR) {
        if (kind == KEY_CODE_YES)
            found = key_of_code(character);
        else
            found = character == ESCAPE ? key_after_escape(s) : key_of_character(character);
    }
    return found;
}
