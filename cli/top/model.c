/* model.c: see model.h. */
#include "model.h"

#include "cli/output.h"
#include "cli/screen/screen.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHARACTER_MAX = 4 /* bytes of a character in UTF-8 */
};

void model_open(model *m, tab *tabs, size_t count, const char *server) {
    *m = (model){ .tabs = tabs, .count = count, .has_pane = true, .server = server };
}

void model_close(model *m) {
    document_clear(&m->object);
    summary_clear(&m->summary);
}

tab *model_tab(const model *m) {
    return m->current < m->count ? &m->tabs[m->current] : NULL;
}

const ki_object *model_selected(const model *m) {
    const tab *t = model_tab(m);
    return t ? tab_selected(t) : NULL;
}

/* ---- changes ---- */

/* Reads the shown object again if it has changed. */
static ki_status renew_object(model *m, ki_error *err) {
    const tab *t = model_tab(m);
    const ki_object *obj = rows_object(t->rows, ki_object_key(m->object.obj), &m->is_object_deleted);
    if (!obj || obj == m->object.obj)
        return KI_OK;
    ki_status status = document_read(&m->object, obj, err);
    return status == KI_ERR_LIMIT ? KI_OK : status; /* the version before stays */
}

ki_status model_settle(model *m, moment at, ki_error *err) {
    ki_status status = KI_OK;
    for (size_t i = 0; i < m->count && !status; i++)
        status = tab_settle(&m->tabs[i], at, err);
    if (!status && m->current == m->count && !summary_read(&m->summary, m->tabs, m->count))
        status = KI_ERR_NO_MEMORY;
    if (m->summary_line >= m->summary.count)
        m->summary_line = m->summary.count ? m->summary.count - 1 : 0;
    if (!status && m->mode == MODE_OBJECT)
        status = renew_object(m, err);
    return status;
}

bool model_is_dirty(const model *m, int64_t now_ms) {
    for (size_t i = 0; i < m->count; i++) {
        if ((i == m->current || m->current == m->count) && rows_are_dirty(m->tabs[i].rows, now_ms))
            return true;
    }
    return false;
}

/* ---- what keys do ---- */

static int64_t page_of(const model *m) {
    return m->page_lines > 1 ? (int64_t)m->page_lines - 1 : 1;
}

/* Returns how far a key moves; 0: it does not. */
static int64_t step_of(const model *m, int pressed) {
    switch (pressed) {
    case KEY_OF_UP:
    case 'k':
        return -1;
    case KEY_OF_DOWN:
    case 'j':
        return 1;
    case KEY_OF_PAGE_UP:
        return -page_of(m);
    case KEY_OF_PAGE_DOWN:
    case ' ':
        return page_of(m);
    case KEY_OF_HOME:
        return -INT32_MAX;
    case KEY_OF_END:
    case 'G':
        return INT32_MAX;
    default:
        return 0;
    }
}

bool model_key_needs_lines(const model *m, int pressed) {
    if (m->mode == MODE_TYPING && pressed < KEY_OF_ENTER)
        return false;
    return pressed == KEY_OF_ENTER || step_of(m, pressed) != 0;
}

/* Returns `at` moved by `step` within `count` lines. */
static size_t moved(size_t at, int64_t step, size_t count) {
    int64_t to = (int64_t)at + step;
    if (to >= (int64_t)count)
        to = (int64_t)count - 1;
    return to < 0 ? 0 : (size_t)to;
}

static void show_tab(model *m, size_t index) {
    m->current = index;
    m->scroll = 0;
}

/* Returns true for a key that shows another tab. */
static bool change_tab(model *m, int pressed) {
    size_t all = m->count + 1;
    if (pressed == KEY_OF_TAB)
        show_tab(m, (m->current + 1) % all);
    else if (pressed == KEY_OF_BACK_TAB)
        show_tab(m, (m->current + all - 1) % all);
    else if (pressed == '0')
        show_tab(m, m->count);
    else if (pressed >= '1' && pressed <= '9' && (size_t)(pressed - '1') < m->count)
        show_tab(m, (size_t)(pressed - '1'));
    else
        return false;
    return true;
}

/* ---- the filter ---- */

static ki_status use_typed(model *m, ki_error *err) {
    tab *t = model_tab(m);
    return t ? tab_filter(t, m->typed, err) : KI_OK;
}

static void begin_typing(model *m) {
    const tab *t = model_tab(m);
    if (!t)
        return;
    memcpy(m->typed, t->filter, sizeof m->typed);
    memcpy(m->before, t->filter, sizeof m->before);
    m->mode = MODE_TYPING;
}

/* Removes the last character. */
static void erase(char *text) {
    size_t size = strlen(text);
    while (size && ((unsigned char)text[size - 1] & 0xc0) == 0x80)
        size--;
    text[size ? size - 1 : 0] = '\0';
}

/* Adds a character in UTF-8, if there is room. */
static void append(char text[TAB_FILTER_MAX], unsigned point) {
    size_t size = strlen(text);
    char *to = text + size;
    if (size + 5 > TAB_FILTER_MAX)
        return;
    if (point < 0x80) {
        *to++ = (char)point;
    } else if (point < 0x800) {
        *to++ = (char)(0xc0 | point >> 6);
        *to++ = (char)(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
        *to++ = (char)(0xe0 | point >> 12);
        *to++ = (char)(0x80 | (point >> 6 & 0x3f));
        *to++ = (char)(0x80 | (point & 0x3f));
    } else {
        *to++ = (char)(0xf0 | point >> 18);
        *to++ = (char)(0x80 | (point >> 12 & 0x3f));
        *to++ = (char)(0x80 | (point >> 6 & 0x3f));
        *to++ = (char)(0x80 | (point & 0x3f));
    }
    *to = '\0';
}

static ki_status type_key(model *m, int pressed, ki_error *err) {
    if (pressed == KEY_OF_ENTER) {
        m->mode = MODE_TABLE;
        return KI_OK;
    }
    if (pressed == KEY_OF_ESCAPE) {
        m->mode = MODE_TABLE;
        memcpy(m->typed, m->before, sizeof m->typed);
    } else if (pressed == KEY_OF_BACKSPACE) {
        erase(m->typed);
    } else if (pressed == KEY_OF_CLEAR_LINE) {
        m->typed[0] = '\0';
    } else if (pressed >= ' ' && pressed < KEY_OF_ENTER) {
        append(m->typed, (unsigned)pressed);
    } else {
        int64_t step = pressed > KEY_OF_ENTER ? step_of(m, pressed) : 0;
        if (step)
            tab_move(model_tab(m), step);
        return KI_OK;
    }
    return use_typed(m, err);
}

/* ---- the table ---- */

/* Opens the group of the cursor, or shows its object. */
static ki_status enter(model *m, tab *t, ki_error *err) {
    const ki_object *obj = tab_selected(t);
    if (!obj) {
        tab_toggle(t);
        return KI_OK;
    }
    ki_status status = document_read(&m->object, obj, err);
    if (status == KI_ERR_LIMIT)
        return KI_OK;
    m->mode = status ? m->mode : MODE_OBJECT;
    m->scroll = 0;
    t->has_moved = true;
    return status;
}

static ki_status table_key(model *m, tab *t, int pressed, ki_error *err) {
    int64_t step = step_of(m, pressed);
    if (step && !(pressed == ' ' && *t->group)) {
        tab_move(t, step);
        return KI_OK;
    }
    switch (pressed) {
    case KEY_OF_ENTER:
        return enter(m, t, err);
    case ' ':
        tab_toggle(t);
        break;
    case KEY_OF_LEFT:
        t->left = tab_left(t) - (tab_left(t) > 0);
        break;
    case KEY_OF_RIGHT:
        t->left = tab_left(t) + 1;
        break;
    case '>':
    case '<':
        tab_sort_next(t, pressed == '>' ? 1 : -1);
        break;
    case 'r':
        tab_reverse(t);
        break;
    case 'g':
        tab_group(t, (grouping)((t->grouped_by + 1) % GROUPINGS));
        break;
    case 'w':
        t->is_wide = !t->is_wide;
        break;
    case '/':
        begin_typing(m);
        break;
    case KEY_OF_ESCAPE:
        return tab_filter(t, "", err);
    default:
        break;
    }
    return KI_OK;
}

/* ---- the summary ---- */

/* Writes the filter of a status: "status=Running ready!=true". Of one with blanks, which ends a condition, and of one
 * that was cut it has the words: "status~Up status~to status~date". */
static void write_filter(const char *column, const summary_line *line, char text[TAB_FILTER_MAX]) {
    const char *status = line->of.status;
    char name[32];
    size_t size = 0;
    snprintf(name, sizeof name, "%s", column);
    make_lower(name);
    if (strcmp(column, "Ready") == 0 && (strcmp(status, "Ready") == 0 || strcmp(status, "NotReady") == 0)) {
        snprintf(text, TAB_FILTER_MAX, "ready%strue", strcmp(status, "Ready") == 0 ? "=" : "!=");
        return;
    }
    bool has_words = strchr(status, ' ') || strlen(status) + CHARACTER_MAX >= STATUS_MAX;
    text[0] = '\0';
    while (*(status += strspn(status, " ")) && size < TAB_FILTER_MAX) {
        int word = (int)strcspn(status, " ");
        size += (size_t)snprintf(text + size, TAB_FILTER_MAX - size, "%s%s%s%.*s", size ? " " : "", name,
                                 has_words ? "~" : "=", word, status);
        status += word;
    }
    if (line->is_unready && size < TAB_FILTER_MAX)
        snprintf(text + size, TAB_FILTER_MAX - size, " ready!=true");
}

/* Shows the objects of a line of the summary, without groups. */
static ki_status enter_status(model *m, ki_error *err) {
    char text[TAB_FILTER_MAX];
    if (m->summary_line >= m->summary.count)
        return KI_OK;
    const summary_line line = m->summary.lines[m->summary_line];
    const ki_columns *columns = m->tabs[line.tab].is.columns;
    const ki_column *status = ki_columns_at(columns, column_of_status(columns));
    show_tab(m, line.tab);
    tab_group(&m->tabs[line.tab], GROUP_NONE);
    if (!status || m->tabs[line.tab].is.is_event)
        return tab_filter(&m->tabs[line.tab], "", err);
    write_filter(status->name, &line, text);
    return tab_filter(&m->tabs[line.tab], text, err);
}

static ki_status summary_key(model *m, int pressed, ki_error *err) {
    if (pressed == KEY_OF_ENTER)
        return enter_status(m, err);
    m->summary_line = moved(m->summary_line, step_of(m, pressed), m->summary.count);
    return KI_OK;
}

/* ---- all keys ---- */

static void object_key(model *m, int pressed) {
    size_t last = m->object.count > m->page_lines ? m->object.count - m->page_lines : 0;
    if (pressed == KEY_OF_ESCAPE || pressed == 'q' || pressed == KEY_OF_ENTER || pressed == KEY_OF_LEFT) {
        m->mode = MODE_TABLE;
        document_clear(&m->object);
    } else {
        m->scroll = moved(m->scroll, step_of(m, pressed), last + 1);
    }
}

/* Returns true for a key that means the same in each mode. */
static bool common_key(model *m, int pressed) {
    if (pressed == KEY_OF_INTERRUPT)
        m->is_done = true;
    else if (pressed == KEY_OF_SUSPEND)
        m->suspends = true;
    else if (pressed == KEY_OF_REDRAW)
        m->redraws = true;
    else
        return pressed == KEY_OF_RESIZE;
    return true;
}

ki_status model_key(model *m, int pressed, ki_error *err) {
    tab *t = model_tab(m);
    if (common_key(m, pressed))
        return KI_OK;
    if (m->mode == MODE_TYPING)
        return type_key(m, pressed, err);
    if (m->mode == MODE_KEYS) {
        m->mode = m->object.obj ? MODE_OBJECT : MODE_TABLE; /* any key */
        return KI_OK;
    }
    if (pressed == '?' || pressed == 'h') {
        m->mode = MODE_KEYS;
        return KI_OK;
    }
    if (m->mode == MODE_OBJECT) {
        object_key(m, pressed);
        return KI_OK;
    }
    if (pressed == 'q')
        m->is_done = true;
    else if (pressed == 'p')
        m->has_pane = !m->has_pane;
    else if (!change_tab(m, pressed))
        return m->current == m->count ? summary_key(m, pressed, err) : table_key(m, t, pressed, err);
    return KI_OK;
}
