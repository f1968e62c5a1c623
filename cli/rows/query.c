/* query.c: see query.h. */
#include "query.h"

#include "cli/lines/cell_value.h"

#include <stdlib.h>
#include <string.h>

/* ---- parsing ---- */

static bool fail(char message[FILTER_MESSAGE_MAX], const char *word, const char *why) {
    snprintf(message, FILTER_MESSAGE_MAX, "%.100s%s%s", word, *word ? ": " : "", why);
    return false;
}

static bool add_word(query *q, char *word, char message[FILTER_MESSAGE_MAX]) {
    bool is_not = *word == '!';
    if (q->word_count == QUERY_WORDS_MAX)
        return fail(message, "", "too many words");
    if (word[is_not])
        q->words[q->word_count++] = (query_word){ .text = word + is_not, .is_not = is_not };
    return true; /* "!" alone is still being typed */
}

static bool add_condition(query *q, char *word, const ki_columns *columns, char message[FILTER_MESSAGE_MAX]) {
    if (!filter_add_condition(&q->filter, word, message))
        return false;
    const filter_condition *c = &q->filter.where[q->filter.where_count - 1];
    const ki_column *column = ki_columns_at(columns, column_named(columns, c->name));
    q->has_ages |= column && column_is_age(column) && c->is >= FILTER_IS_LESS;
    return true;
}

/* Adds a word or a condition. */
static bool add(query *q, char *word, const ki_columns *columns, char message[FILTER_MESSAGE_MAX]) {
    static const char signs[] = "!<>=~";
    size_t name_size = strcspn(word, signs), signs_size = strspn(word + name_size, signs);
    if (name_size && signs_size && !word[name_size + signs_size])
        return fail(message, word, "a value is missing");
    return filter_find_operator(word) ? add_condition(q, word, columns, message) : add_word(q, word, message);
}

bool query_open(query *q, const char *text, const ki_columns *columns, char message[FILTER_MESSAGE_MAX]) {
    *q = (query){ .source = strdup(text), .text = strdup(text) };
    if (!q->source || !q->text)
        return fail(message, "", "out of memory");
    char *rest = q->text, *word;
    while ((word = strsep(&rest, " \t"))) {
        if (*word && !add(q, word, columns, message))
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
