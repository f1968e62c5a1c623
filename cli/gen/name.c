/* name.c: see name.h. */
#include "name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Words that are no names in C99 to C23 or C++17 to C++23, or that common headers and compilers define as macros; and
 * the types of a generated header. */
static const char *const words[] = { "alignas",
                                     "alignof",
                                     "and",
                                     "and_eq",
                                     "asm",
                                     "assert",
                                     "auto",
                                     "bitand",
                                     "bitor",
                                     "bool",
                                     "break",
                                     "case",
                                     "catch",
                                     "char",
                                     "char16_t",
                                     "char32_t",
                                     "char8_t",
                                     "class",
                                     "co_await",
                                     "co_return",
                                     "co_yield",
                                     "compl",
                                     "complex",
                                     "concept",
                                     "const",
                                     "const_cast",
                                     "consteval",
                                     "constexpr",
                                     "constinit",
                                     "continue",
                                     "decltype",
                                     "default",
                                     "delete",
                                     "do",
                                     "double",
                                     "dynamic_cast",
                                     "else",
                                     "enum",
                                     "errno",
                                     "explicit",
                                     "export",
                                     "extern",
                                     "false",
                                     "float",
                                     "for",
                                     "friend",
                                     "goto",
                                     "i386",
                                     "if",
                                     "imaginary",
                                     "inline",
                                     "int",
                                     "int32_t",
                                     "int64_t",
                                     "ki_field",
                                     "ki_list",
                                     "ki_string_list",
                                     "ki_string_map",
                                     "linux",
                                     "long",
                                     "major",
                                     "makedev",
                                     "minor",
                                     "mutable",
                                     "namespace",
                                     "new",
                                     "noexcept",
                                     "noreturn",
                                     "not",
                                     "not_eq",
                                     "null",
                                     "nullptr",
                                     "offsetof",
                                     "operator",
                                     "or",
                                     "or_eq",
                                     "private",
                                     "protected",
                                     "public",
                                     "register",
                                     "reinterpret_cast",
                                     "requires",
                                     "restrict",
                                     "return",
                                     "setjmp",
                                     "short",
                                     "signed",
                                     "size_t",
                                     "sizeof",
                                     "static",
                                     "static_assert",
                                     "static_cast",
                                     "stderr",
                                     "stdin",
                                     "stdout",
                                     "struct",
                                     "switch",
                                     "template",
                                     "this",
                                     "thread_local",
                                     "throw",
                                     "true",
                                     "try",
                                     "typedef",
                                     "typeid",
                                     "typename",
                                     "typeof",
                                     "typeof_unqual",
                                     "union",
                                     "unix",
                                     "unsigned",
                                     "using",
                                     "virtual",
                                     "void",
                                     "volatile",
                                     "wchar_t",
                                     "while",
                                     "xor",
                                     "xor_eq" };

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Returns true if a word begins at `text[i]`, an upper-case letter: after a small letter or digit, or as the last one
 * of several before a small letter ("HTTPGet"). The "s" of "hostIPs" begins no word. */
static bool begins_word(const char *text, size_t size, size_t i) {
    if (i == 0)
        return false;
    if (!is_upper(text[i - 1]))
        return true;
    if (i + 1 >= size || !is_lower(text[i + 1]))
        return false;
    bool is_plural = text[i + 1] == 's' && (i + 2 >= size || !is_lower(text[i + 2]));
    return !is_plural;
}

void gen_snake(const char *text, size_t size, char name[GEN_NAME_MAX]) {
    size_t used = 0;
    bool gap = false;
    for (size_t i = 0; i < size && used + 3 < GEN_NAME_MAX; i++) {
        char c = text[i];
        if (!is_upper(c) && !is_lower(c) && !is_digit(c)) {
            gap = true;
            continue;
        }
        gap |= is_upper(c) && begins_word(text, size, i);
        if (gap && used)
            name[used++] = '_';
        gap = false;
        name[used++] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
    }
    name[used] = '\0';
    if (!used)
        strcpy(name, "field");
}

void gen_member(char name[GEN_NAME_MAX]) {
    size_t size = strlen(name);
    bool is_word = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && !is_word; i++)
        is_word = strcmp(words[i], name) == 0;
    if (is_word) {
        strcpy(name + size, "_");
    } else if (is_digit(name[0])) {
        memmove(name + 1, name, size + 1);
        name[0] = '_';
    }
}

void gen_struct(char name[GEN_NAME_MAX]) {
    static const char prefix[] = "the_";
    size_t size = strlen(name), room = sizeof prefix - 1;
    gen_member(name);
    /* "kinformer" would have the include guard of <kinformer/view.h>. */
    if (strcmp(name, "ki") != 0 && strncmp(name, "ki_", 3) != 0 && strcmp(name, "kinformer") != 0)
        return;
    if (size + room >= GEN_NAME_MAX)
        size = GEN_NAME_MAX - 1 - room;
    memmove(name + room, name, size);
    memcpy(name, prefix, room);
    name[room + size] = '\0';
}

static bool ends_with(const char *name, const char *end) {
    size_t size = strlen(name), end_size = strlen(end);
    return size > end_size && strcmp(name + size - end_size, end) == 0;
}

void gen_singular(char name[GEN_NAME_MAX]) {
    static const char *const es[] = { "sses", "shes", "ches", "xes", "tuses", "iases" };
    static const char *const no_plurals[] = { "ss", "us", "is", "tls", "dns" };
    size_t size = strlen(name);
    if (ends_with(name, "ies")) {
        strcpy(name + size - 3, "y");
        return;
    }
    for (size_t i = 0; i < sizeof es / sizeof es[0]; i++) {
        if (!ends_with(name, es[i]))
            continue;
        name[size - 2] = '\0';
        return;
    }
    bool is_plural = size > 1 && name[size - 1] == 's';
    for (size_t i = 0; i < sizeof no_plurals / sizeof no_plurals[0]; i++)
        is_plural &= !ends_with(name, no_plurals[i]) && strcmp(name, no_plurals[i]) != 0;
    if (is_plural)
        name[size - 1] = '\0';
    else if (size + strlen("_item") < GEN_NAME_MAX)
        strcpy(name + size, "_item");
}
