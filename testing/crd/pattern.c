/* pattern.c: matches a compiled pattern. All ways through the pattern are followed at the same time, character by
 * character, so that the time has a bound (Thompson, "Regular Expression Search Algorithm", 1968). */
#include "testing/crd/pattern.h"

#include "src/base/memory.h"

enum {
    NO_CHARACTER = -1, /* before and after the text */
    REPLACEMENT = 0xfffd
};

typedef struct match {
    const kt_pattern *pattern;
    kt_pattern_room *room;
    uint64_t *left;
    int32_t before, after; /* the characters around the position */
} match;

ki_status kt_pattern_room_init(kt_pattern_room *room, const ki_allocator *allocator, size_t capacity) {
    *room = (kt_pattern_room){ .marks = ki_alloc_zero(allocator, 4 * capacity * sizeof *room->marks) };
    if (!room->marks)
        return KI_ERR_NO_MEMORY;
    room->stack = room->marks + capacity;
    room->now = room->stack + capacity;
    room->next = room->now + capacity;
    return KI_OK;
}

void kt_pattern_room_free(kt_pattern_room *room, const ki_allocator *allocator) {
    ki_free(allocator, room->marks);
}

/* Removes the first character of `rest`. A byte that is not UTF-8 is U+FFFD, as in Go. */
static int32_t take_character(ki_str *rest) {
    size_t size = rest->size ? ki_str_utf8_size(*rest) : 0;
    const unsigned char *bytes = (const unsigned char *)rest->data;
    if (!rest->size)
        return NO_CHARACTER;
    uint32_t character = size == 1 ? bytes[0] : size ? bytes[0] & (0x7fU >> size) : REPLACEMENT;
    for (size_t i = 1; i < size; i++)
        character = character << 6 | (bytes[i] & 0x3fU);
    rest->data += size ? size : 1;
    rest->size -= size ? size : 1;
    return (int32_t)character;
}

static bool is_word(int32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns true if a step that takes no character holds here. */
static bool holds(const match *m, kt_pattern_kind kind) {
    switch (kind) {
    case KT_PATTERN_BEGIN_TEXT:
        return m->before == NO_CHARACTER;
    case KT_PATTERN_END_TEXT:
        return m->after == NO_CHARACTER;
    case KT_PATTERN_BEGIN_LINE:
        return m->before == NO_CHARACTER || m->before == '\n';
    case KT_PATTERN_END_LINE:
        return m->after == NO_CHARACTER || m->after == '\n';
    case KT_PATTERN_WORD_EDGE:
        return is_word(m->before) != is_word(m->after);
    default:
        return is_word(m->before) == is_word(m->after);
    }
}

static void spend(const match *m, uint64_t steps) {
    *m->left -= steps < *m->left ? steps : *m->left;
}

/* Adds `step` to the steps to visit, once for each position. */
static void visit(const match *m, size_t *depth, size_t step) {
    kt_pattern_room *room = m->room;
    if (room->marks[step] == room->position)
        return;
    room->marks[step] = room->position;
    room->stack[(*depth)++] = (uint32_t)step;
}

/* Follows all ways from `step` to the steps that take the next character. Returns true at the pattern's end. */
static bool follow(const match *m, size_t step, size_t *count) {
    const kt_pattern_step *steps = m->pattern->steps;
    kt_pattern_room *room = m->room;
    size_t depth = 0;
    visit(m, &depth, step);
    while (depth) {
        size_t at = room->stack[--depth];
        kt_pattern_kind kind = (kt_pattern_kind)steps[at].kind;
        spend(m, 1);
        if (kind == KT_PATTERN_MATCH)
            return true;
        if (kind == KT_PATTERN_SET || kind == KT_PATTERN_NOT_SET) {
            room->next[(*count)++] = (uint32_t)at;
            continue;
        }
        if (kind == KT_PATTERN_SPLIT || kind == KT_PATTERN_JUMP)
            visit(m, &depth, (size_t)((ptrdiff_t)at + steps[at].to));
        if (kind == KT_PATTERN_SPLIT || (kind != KT_PATTERN_JUMP && holds(m, kind)))
            visit(m, &depth, at + 1);
    }
    return false;
}

static bool takes(const match *m, const kt_pattern_step *step, int32_t character) {
    const kt_pattern_range *range = m->pattern->ranges + step->to;
    bool is_in = false;
    spend(m, step->count);
    for (size_t i = 0; !is_in && i < step->count; i++)
        is_in = (uint32_t)character >= range[i].first && (uint32_t)character <= range[i].last;
    return is_in == (step->kind == KT_PATTERN_SET);
}

bool kt_pattern_matches(const kt_pattern *pattern, ki_str text, kt_pattern_room *room, uint64_t *left) {
    match m = { .pattern = pattern, .room = room, .left = left, .before = NO_CHARACTER };
    bool is_anchored = pattern->steps[0].kind == KT_PATTERN_BEGIN_TEXT;
    size_t count = 0;
    m.after = take_character(&text);
    room->position++;
    if (follow(&m, 0, &count))
        return true;
    while (*left && m.after != NO_CHARACTER && (count || !is_anchored)) {
        uint32_t *now = room->next;
        size_t waiting = count;
        room->next = room->now;
        room->now = now;
        room->position++;
        count = 0;
        m.before = m.after;
        m.after = take_character(&text);
        for (size_t i = 0; i < waiting; i++) {
            if (takes(&m, &pattern->steps[now[i]], m.before) && follow(&m, now[i] + 1, &count))
                return true;
        }
        if (follow(&m, 0, &count))
            return true;
    }
    return *left == 0;
}
