/* query.c: see query.h. */
#include "query.h"

#include "cli/lines/value.h"

#include <stdlib.h>
#include <string.h>

/* ---- parsing ---- */

static bool add_word(query *q, char *word, char message[FILTER_MESSAGE_MAX]) {
    bool is_not = *word == '!' && word[1];
    if (q->word_count == QUERY_WORDS_MAX) {
        snprintf(message, FILTER_MESSAGE_MAX, "at most %d words", QUERY_WORDS_MAX);
        return false;
    }
    q->words[q->word_count++] = (query_word){ .text = word + is_not, .is_not = is_not };
    return true;
}

static bool add_condition(query *q, char *word, const ki_columns *columns, char message[FILTER_MESSAGE_MAX]) {
    const char *sign = filter_find_operator(word);
    size_t name_size = (size_t)(sign - word), rest = strcspn(sign, "!<>=~") + strspn(sign, "!<>=~");
    if (name_size && !sign[rest]) {
        snprintf(message, FILTER_MESSAGE_MAX, "%.100s: a value is missing", word);
        return false;
    }
    if (!filter_add_condition(&q->filter, word, message))
        return false;
    const filter_condition *c = &q->filter.where[q->filter.where_count - 1];
    const ki_column *column = ki_columns_at(columns, column_named(columns, c->name));
    q->has_ages |= column && column_is_age(column) && c->is >= FILTER_IS_LESS;
    return true;
}

bool query_open(query *q, const char *text, const ki_columns *columns, char message[FILTER_MESSAGE_MAX]) {
    *q = (query){ .source = strdup(text), .text = strdup(text) };
    if (!q->source || !q->text) {
        snprintf(message, FILTER_MESSAGE_MAX, "out of memory");
        return false;
    }
    char *rest = q->text, *word;
    while ((word = strsep(&rest, " \t"))) {
        bool is_condition = filter_find_operator(word);
        if (*word && !(is_condition ? add_condition(q, word, columns, message) : add_word(q, word, message)))
            return false;
    }
    return filter_check(&q->filter, &columns, 1, message);
}

void query_close(query *q) {
    free(q->source);
    free(q->text);
    *q = (query){ .source = NULL };
}

bool query_is_empty(const query *q) {
    return !q->word_count && !q->filter.where_count;
}

/* ---- passing ---- */

static bool has_word(const filter_subject *s, const char *text) {
    if (strcasestr(ki_object_key(s->obj), text))
        return true;
    for (size_t i = 0; i < s->cells->count; i++) {
        if (!column_is_age(ki_columns_at(s->columns, i)) && strcasestr(row_cell(s->cells, i), text))
            return true;
    }
    return false;
}

ki_status query_passes(const query *q, const filter_subject *s, bool *ret_passes, ki_error *err) {
    for (size_t i = 0; i < q->word_count; i++) {
        if (has_word(s, q->words[i].text) == q->words[i].is_not) {
            *ret_passes = false;
            return KI_OK;
        }
    }
    return filter_matches(&q->filter, s, ret_passes, err);
}
