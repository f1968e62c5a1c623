/* tty.c: see tty.h. What a signal's handler calls here is async-signal-safe. */
#include "tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
    WAIT_MS = 10, /* for a terminal that takes no bytes, WAITS_MAX times */
    WAITS_MAX = 5,
    STACK_SIZE = 64 * 1024 /* of the handlers: a crash can be a stack that is full */
};

static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM };
static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGSYS, SIGTRAP };

/* The handlers read it: it is complete before they are set. */
static struct {
    volatile sig_atomic_t is_shown;    /* the terminal has our picture */
    volatile sig_atomic_t is_ours;     /* ... and our modes */
    volatile sig_atomic_t was_retaken; /* since the last tty_was_retaken */
    pid_t owner;                       /* not a child of it */
    int fd;
    struct termios before, during; /* modes */
    char take[TTY_TEXT_MAX], restore[TTY_TEXT_MAX];
    struct sigaction previous[NSIG]; /* of the signals that are handled */
    bool is_handled[NSIG];
} tty;

/* ---- the device ---- */

/* Opens the terminal again, so that writes do not block: a flag of stdout itself would be the shell's too. */
static int open_again(void) {
    const int flags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = open("/proc/self/fd/1", flags);
    if (fd < 0)
        fd = open("/dev/tty", flags); /* another user's, after su */
    return fd < 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : fd;
}

size_t tty_write(const char *text, size_t size) {
    size_t done = 0;
    for (int waits = 0; done < size && waits < WAITS_MAX;) {
        ssize_t written = write(tty.fd, text + done, size - done);
        if (written >= 0) {
            done += (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd room = { .fd = tty.fd, .events = POLLOUT };
            poll(&room, 1, WAIT_MS);
            waits++;
        } else if (errno != EINTR) {
            return size;
        }
    }
    return done;
}

void tty_size(size_t *width, size_t *height) {
    struct winsize size;
    if (ioctl(tty.fd, TIOCGWINSZ, &size) != 0)
        return;
    *width = size.ws_col ? size.ws_col : *width;
    *height = size.ws_row ? size.ws_row : *height;
}

/* ---- taking and giving back ---- */

/* Returns true unless the shell has put the program into the background. */
static bool is_in_foreground(void) {
    pid_t group = tcgetpgrp(tty.fd);
    return group < 0 || group == getpgrp();
}

static void write_text(const char *text) {
    tty_write(text, strlen(text));
}

static void give_back(void) {
    int saved = errno;
    if (tty.is_shown && tty.owner == getpid()) {
        tty.is_shown = tty.is_ours = false;
        write_text(tty.restore);
        if (is_in_foreground())
            tcsetattr(tty.fd, TCSANOW, &tty.before);
    }
    errno = saved;
}

static void retake(void) {
    tcsetattr(tty.fd, TCSANOW, &tty.during);
    write_text(tty.take);
    tty.is_shown = tty.is_ours = tty.was_retaken = true;
    kill(getpid(), SIGWINCH); /* wakes the program: it draws, perhaps in another size */
}

bool tty_is_taken(void) {
    if (!is_in_foreground())
        tty.is_ours = false;
    else if (!tty.is_ours)
        retake();
    return tty.is_ours;
}

bool tty_was_retaken(void) {
    bool was = tty.was_retaken;
    tty.was_retaken = false;
    return was;
}

/* ---- signals ---- */

static void on_wake(int number) {
    (void)number; /* poll has ended */
}

/* Restores the terminal and the signal's previous action, which then comes. */
static void on_end(int number, siginfo_t *info, void *context) {
    const struct sigaction *previous = &tty.previous[number];
    give_back();
    sigaction(number, previous, NULL);
    if (previous->sa_handler == SIG_DFL)
        raise(number);
    else if (previous->sa_flags & SA_SIGINFO)
        previous->sa_sigaction(number, info, context);
    else
        previous->sa_handler(number);
}

static void on_stop(int number, siginfo_t *info, void *context) {
    int saved = errno;
    struct sigaction own;
    (void)info;
    (void)context;
    give_back();
    sigaction(number, &tty.previous[number], &own);
    raise(number); /* SA_NODEFER: stops here, until SIGCONT */
    sigaction(number, &own, NULL);
    tty_is_taken(); /* without a SIGCONT, too: an orphan does not stop, since nobody can continue it */
    errno = saved;
}

static void on_continue(int number) {
    int saved = errno;
    (void)number;
    tty.is_ours = false;
    tty_is_taken();
    errno = saved;
}

/* Handles a signal, unless it is ignored. */
static void handle(int number, struct sigaction action) {
    struct sigaction previous;
    if (sigaction(number, NULL, &previous) != 0 || previous.sa_handler == SIG_IGN)
        return;
    sigemptyset(&action.sa_mask);
    action.sa_flags |= SA_ONSTACK;
    tty.previous[number] = previous;
    tty.is_handled[number] = sigaction(number, &action, NULL) == 0;
}

/* Gives the handlers a stack, unless they have one (the address sanitizer's). */
static void set_stack(void) {
    static char stack[STACK_SIZE];
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE))
        sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
}

static void handle_signals(void) {
    const struct sigaction end = { .sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_NODEFER };
    const struct sigaction stop = { .sa_sigaction = on_stop, .sa_flags = SA_SIGINFO | SA_NODEFER };
    set_stack();
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        handle(ending[i], end);
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        handle(crashes[i], end);
    handle(SIGTSTP, stop);
    handle(SIGCONT, (struct sigaction){ .sa_handler = on_continue });
    handle(SIGWINCH, (struct sigaction){ .sa_handler = on_wake });
}

/* ---- opening and closing ---- */

static void copy_text(char to[TTY_TEXT_MAX], const char *text) {
    size_t size = strlen(text);
    memcpy(to, size < TTY_TEXT_MAX ? text : "", size < TTY_TEXT_MAX ? size + 1 : 1);
}

bool tty_take(const char *take, const char *restore) {
    static bool restores_at_exit;
    tty.fd = open_again();
    if (tty.fd < 0 || tcgetattr(tty.fd, &tty.before) != 0) {
        int saved = errno;
        close(tty.fd);
        errno = saved;
        return false;
    }
    copy_text(tty.take, take);
    copy_text(tty.restore, restore);
    tty.during = tty.before;
    tty.owner = getpid();
    tty.was_retaken = false;
    tty.is_shown = tty.is_ours = true;
    handle_signals();
    if (!restores_at_exit)
        restores_at_exit = atexit(give_back) == 0;
    return true;
}

void tty_note_modes(void) {
    tcgetattr(tty.fd, &tty.during);
}

void tty_restore(void) {
    give_back();
    for (int i = 1; i < NSIG; i++) {
        if (tty.is_handled[i])
            sigaction(i, &tty.previous[i], NULL);
        tty.is_handled[i] = false;
    }
    close(tty.fd);
}

void tty_suspend(void) {
    kill(0, SIGTSTP);
}
