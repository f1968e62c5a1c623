/* output.c: see output.h. */
#include "output.h"

#include "cli.h"

#include "src/base/string_view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    SAY_MAX = 2048,
    HELD_WAIT_MS = 50 /* for a terminal that takes no bytes */
};

static int failure; /* errno of the first failed write to stdout */
static bool is_failure_printed;
static bool is_progress_shown;

/* The messages of output_hold_messages, as lines. */
static struct {
    bool is_holding;
    char text[HELD_MAX];
    size_t size;
    size_t dropped; /* earlier messages, which had no room */
} held;

/* Returns true if the reader has closed stdout. */
static bool is_output_closed(void) {
    struct pollfd out = { .fd = STDOUT_FILENO };
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

/* Returns the errno of an earlier failed write: the stream has only a flag, and the next write fails in the same
 * way. */
static int find_cause(void) {
    if (is_output_closed())
        return EPIPE;
    return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
}

bool output_flush(void) {
    if (failure)
        return false;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    failure = errno ? errno : find_cause();
    return false;
}

int output_status(void) {
    if (!failure || failure == EPIPE)
        return EXIT_OK;
    if (!is_failure_printed) {
        fprintf(stderr, "kinformer: cannot write the output: %s\n", strerror(failure));
        is_failure_printed = true;
    }
    return EXIT_FAILED;
}

bool is_terminal(FILE *out) {
    static int known[3] = { -1, -1, -1 };
    int fd = fileno(out);
    if (fd < 0 || fd > 2)
        return false;
    if (known[fd] < 0)
        known[fd] = isatty(fd);
    return known[fd] == 1;
}

const char *colour_text(FILE *out, colour which) {
    static const char *const texts[] = { "\033[0m", "\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[1m" };
    static int wanted = -1;
    if (wanted < 0) {
        const char *no_color = getenv("NO_COLOR");
        const char *term = getenv("TERM");
        wanted = !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
    }
    return wanted && is_terminal(out) ? texts[which] : "";
}

void show_progress(const char *text) {
    if (held.is_holding || !is_terminal(stderr) || (!text && !is_progress_shown))
        return;
    fprintf(stderr, "\r\033[K%s", text ? text : "");
    fflush(stderr);
    is_progress_shown = text != NULL;
}

/* Keeps a line, in place of the oldest ones. */
static void hold(const char *line) {
    size_t size = strlen(line);
    while (size > sizeof held.text - held.size) {
        const char *end = memchr(held.text, '\n', held.size);
        size_t first = (size_t)(end - held.text) + 1;
        held.size -= first;
        held.dropped++;
        memmove(held.text, held.text + first, held.size);
    }
    memcpy(held.text + held.size, line, size);
    held.size += size;
}

void say(const char *command, const char *format, ...) {
    va_list args;
    char text[SAY_MAX], line[SAY_MAX + 64];
    show_progress(NULL);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_safe(text);
    snprintf(line, sizeof line, "kinformer %.40s: %s\n", command, text);
    if (held.is_holding)
        hold(line);
    else
        fputs(line, stderr);
}

void output_hold_messages(void) {
    show_progress(NULL);
    held.is_holding = true;
}

/* Writes to standard error. A terminal that nobody reads gets what it takes: the program does not wait for it. */
static void write_held(const char *text, size_t size) {
    int fd = is_terminal(stderr) ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    struct pollfd room = { .fd = fd, .events = POLLOUT };
    if (fd < 0) {
        fwrite(text, 1, size, stderr);
        return;
    }
    while (size && poll(&room, 1, HELD_WAIT_MS) == 1) {
        ssize_t written = write(fd, text, size);
        if (written <= 0)
            break;
        text += written;
        size -= (size_t)written;
    }
    close(fd);
}

void output_release_messages(void) {
    char first[128];
    if (held.dropped)
        write_held(first, (size_t)snprintf(first, sizeof first, "kinformer: %zu earlier messages are left out\n",
                                           held.dropped));
    write_held(held.text, held.size);
    held.is_holding = false;
    held.size = held.dropped = 0;
}

void print_safe(FILE *out, const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t size = ki_str_control_size((const char *)c);
        if (size == 0)
            putc(*c++, out);
        for (; size; size--, c++)
            putc('?', out);
    }
}

void print_printable(const char *text, size_t size) {
    const char *end = text + size;
    if (!is_terminal(stdout)) {
        fwrite(text, 1, size, stdout);
        return;
    }
    while (text < end) {
        size_t control = *text == '\t' || *text == '\n' ? 0 : ki_str_control_size(text);
        if (control)
            printf("%.*s", (int)control, "???");
        else
            putchar(*text);
        text += control ? control : 1;
    }
}

void make_safe(char *text) {
    while (*text) {
        size_t size = ki_str_control_size(text);
        memset(text, '?', size);
        text += size ? size : 1;
    }
}

void make_lower(char *text) {
    for (; *text; text++)
        *text = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
}

void make_upper(char *text) {
    for (; *text; text++)
        *text = *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text;
}

/* Returns the terminal columns of the UTF-8 character at `c`: 2 for wide East Asian characters and emoji, 0 inside a
 * character. */
static size_t columns_of(const unsigned char *c) {
    static const struct {
        unsigned first, last;
    } wide[] = { { 0x1100, 0x115f }, { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },  { 0xf900, 0xfaff },
                 { 0xff00, 0xff60 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd } };
    unsigned number = 0;
    if ((*c & 0xc0) == 0x80)
        return 0;
    if (*c < 0xe0)
        return 1;
    number = *c & (*c < 0xf0 ? 0xfU : 0x7U);
    for (c++; (*c & 0xc0) == 0x80; c++)
        number = number << 6 | (*c & 0x3fU);
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        if (number >= wide[i].first && number <= wide[i].last)
            return 2;
    }
    return 1;
}

size_t width_of(const char *text) {
    size_t width = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t size = ki_str_control_size((const char *)c);
        width += size ? size : (*c & 0xc0) != 0x80;
        c += size ? size : 1;
    }
    return width;
}

size_t terminal_width(void) {
    struct winsize size = { 0 };
    return is_terminal(stdout) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Returns the size of the colour sequence at `text`, or 0. */
static size_t colour_size(const char *text) {
    if (*text != '\033')
        return 0;
    size_t size = strcspn(text, "m");
    return size + (text[size] == 'm');
}

void strip_colours(char *text) {
    char *to = text;
    for (size_t size; *text; text += size ? size : 1) {
        size = colour_size(text);
        if (!size)
            *to++ = *text;
    }
    *to = '\0';
}

size_t display_width(const char *text) {
    size_t width = 0;
    while (*text) {
        size_t size = colour_size(text);
        width += size ? 0 : columns_of((const unsigned char *)text);
        text += size ? size : 1;
    }
    return width;
}

size_t display_fitting(const char *text, size_t width) {
    size_t used = 0, end = 0;
    bool has_end = false;
    for (size_t i = 0, size; text[i]; i += size ? size : 1) {
        size = colour_size(text + i);
        used += size ? 0 : columns_of((const unsigned char *)text + i);
        if (!has_end && used + 1 > width) { /* leaves room for the ellipsis */
            end = i;
            has_end = true;
        }
        if (used > width)
            return end;
    }
    return strlen(text);
}

void display_cut(const char *text, size_t width, FILE *out) {
    size_t fitting = width ? display_fitting(text, width) : strlen(text);
    fwrite(text, 1, fitting, out);
    if (text[fitting])
        fprintf(out, "%s\342\200\246", colour_text(stdout, COLOUR_NONE));
}

void display_shorten(const char *text, size_t width, FILE *out) {
    const char *end = text + strlen(text);
    if (display_width(text) <= width) {
        fputs(text, out);
        return;
    }
    size_t begin = display_fitting(text, (width + 1) / 2);
    for (const char *at = end; at > text + begin && display_width(at) <= width / 2; at--) {
        if (((unsigned char)*at & 0xc0) != 0x80)
            end = at;
    }
    fprintf(out, "%.*s\342\200\246%s", (int)begin, text, end);
}

void output_line(const char *text) {
    display_cut(text, terminal_width(), stdout);
    putchar('\n');
}

/* Returns the size in bytes of the UTF-8 character at `text`; 0 if the bytes are not UTF-8. */
static size_t character_size(const char *text) {
    const unsigned char first = (unsigned char)*text;
    size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first >= 0x80 && (first < 0xc2 || first > 0xf4))
        return 0;
    for (size_t i = 1; i < size; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    }
    return size;
}

void print_json_string(FILE *out, const char *text) {
    putc('"', out);
    while (*text) {
        size_t size = character_size(text);
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else if (size)
            fwrite(text, 1, size, out);
        else
            putc('?', out);
        text += size ? size : 1;
    }
    putc('"', out);
}

void print_selector_value(FILE *out, const char *value) {
    for (; *value; value++) { /* as Kubernetes' fields.EscapeValue */
        if (strchr("\\,=", *value))
            putc('\\', out);
        putc(*value, out);
    }
}

const char *with_commas(unsigned long long number, char text[32]) {
    char plain[24];
    int size = snprintf(plain, sizeof plain, "%llu", number);
    char *to = text;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = plain[i];
    }
    *to = '\0';
    return text;
}

char *object_name(const ki_object *obj) {
    const char *version = ki_object_api_version(obj);
    const char *slash = strchr(version, '/');
    char *name = NULL;
    int kind_size = (int)strlen(ki_object_kind(obj));
    if (asprintf(&name, "%s%s%.*s/%s", ki_object_kind(obj), slash ? "." : "", slash ? (int)(slash - version) : 0,
                 version, ki_object_name(obj)) < 0)
        return NULL;
    for (int i = 0; i < kind_size; i++)
        name[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    return name;
}

void print_object_name(const ki_object *obj) {
    char *name = object_name(obj);
    print_safe(stdout, name ? name : ki_object_name(obj));
    free(name);
}
