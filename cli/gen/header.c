/* header.c: see header.h. No line of a C header is longer than 120 columns, whatever the schema's names and texts are.
 * The same schema gives the same bytes. */
#include "header.h"

#include "fields.h"

#include "src/base/string_view.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 120,
    COMMENT_MIN = 24,    /* shorter comments are left out */
    PIECE_MAX = 96,      /* bytes of a piece of a string */
    INDENT_MAX = 40,     /* deeper structs are not indented further: the longest member still fits */
    NAME_TWICE_MAX = 17, /* bytes of a struct's name that a line has twice */
    NAME_CAST_MAX = 58,  /* of one in the line with the cast */
    TITLE_PART_MAX = 60  /* bytes of the resource's plural, version and group in the first comment */
};

/* ---- comments ---- */

/* Copies the first sentence of a text as part of a comment: no controls, one blank between words, and nothing that ends
 * or begins a comment. Returns its size. */
static size_t copy_sentence(const char *text, char *out, size_t max) {
    size_t used = 0;
    bool gap = false;
    for (const unsigned char *c = (const unsigned char *)text; *c && used + 5 < max;) {
        size_t control = ki_str_control_size((const char *)c);
        if (control || *c == ' ') {
            if (*c == '\n' && c[1] == '\n' && used)
                break;
            gap = used > 0;
            c += control ? control : 1;
            continue;
        }
        bool ends_sentence = gap && used > 1 && out[used - 1] == '.' && out[used - 2] != '.';
        bool is_short = ends_sentence && used > 3 &&
                        (strncmp(out + used - 4, "e.g.", 4) == 0 || strncmp(out + used - 4, "i.e.", 4) == 0);
        if (ends_sentence && !is_short)
            break;
        if (gap)
            out[used++] = ' ';
        gap = false;
        if (used && ((out[used - 1] == '*' && *c == '/') || (out[used - 1] == '/' && *c == '*')))
            out[used++] = ' ';
        out[used++] = (char)*c++;
        while ((*c & 0xc0) == 0x80 && used + 5 < max)
            out[used++] = (char)*c++;
    }
    out[used] = '\0';
    return used;
}

/* Cuts a text to `max` bytes, at a blank if there is one, and marks the cut. */
static void cut(char *text, size_t size, size_t max) {
    if (size <= max)
        return;
    size_t end = max - 3;
    while (end > 0 && text[end] != ' ')
        end--;
    if (end < max / 2) {
        end = max - 3;
        while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
            end--;
    }
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == ','))
        end--;
    strcpy(text + end, "...");
}

/* Writes a comment that ends in the last column at most, behind `column` columns. `what` comes before the description;
 * both may be empty. Writes nothing if there is no text or no room. */
static void write_comment(FILE *out, size_t column, const char *what, const char *description) {
    char text[COLUMNS_MAX * 2 + GEN_STRUCT_NAME_MAX];
    size_t size = 0, max = column + COMMENT_MIN < COLUMNS_MAX ? COLUMNS_MAX - column - 7 : 0;
    if (what[0])
        size = (size_t)snprintf(text, sizeof text, "%s", what);
    if (description && description[0]) {
        size_t before = size;
        size += what[0] ? (size_t)snprintf(text + size, sizeof text - size, ": ") : 0;
        size_t added = copy_sentence(description, text + size, sizeof text - size);
        size = added ? size + added : before;
        text[size] = '\0';
    }
    if (!size || !max)
        return;
    cut(text, size, max);
    fprintf(out, " /* %s */", text);
}

/* ---- lines that wrap ---- */

typedef struct wrapped {
    FILE *out;
    size_t column;
} wrapped;

/* Writes a piece that is not divided, behind a blank if `gap`; in a new line if it does not fit. */
static void put_piece(wrapped *w, const char *piece, bool gap) {
    size_t size = strlen(piece);
    if (w->column > 8 && w->column + gap + size > COLUMNS_MAX) {
        fprintf(w->out, "\n        ");
        w->column = 8;
        gap = false;
    }
    fprintf(w->out, "%s%s", gap ? " " : "", piece);
    w->column += gap + size;
}

static void put_member(wrapped *w, const gen_node *node, const char *end) {
    char piece[GEN_NAME_MAX + 2];
    if (node->parent->form == GEN_NESTED)
        put_member(w, node->parent, ".");
    snprintf(piece, sizeof piece, "%s%s", node->name, end);
    put_piece(w, piece, node->parent->form != GEN_NESTED);
}

/* Writes one byte of a C string. Octal escapes have three digits, so that no digit after them belongs to them. A "/"
 * after a "*" would end a comment. */
static size_t escape(unsigned char c, unsigned char before, char text[5]) {
    if (c == '"' || c == '\\' || c == '?') /* "?" for trigraphs */
        return (size_t)snprintf(text, 5, "\\%c", c);
    bool is_plain = c >= 0x20 && c < 0x7f && !(before == '*' && c == '/');
    return (size_t)snprintf(text, 5, is_plain ? "%c" : "\\%03o", c);
}

/* Writes a string in pieces, each a literal of its own, if it is long. */
static void put_string(wrapped *w, const char *string, const char *end) {
    char piece[PIECE_MAX + 8];
    unsigned char before = '\0';
    size_t used;
    do {
        used = 0;
        piece[used++] = '"';
        for (; *string && used + 4 < PIECE_MAX; before = (unsigned char)*string++)
            used += escape((unsigned char)*string, before, piece + used);
        piece[used++] = '"';
        snprintf(piece + used, sizeof piece - used, "%s", *string ? "" : end);
        put_piece(w, piece, true);
    } while (*string);
}

/* ---- structs and tables ---- */

static const char *type_text(const gen_node *node) {
    switch (node->type) {
    case KI_FIELD_TYPE_STRING:
    case KI_FIELD_TYPE_TEXT:
        return "const char *";
    case KI_FIELD_TYPE_BOOL:
    case KI_FIELD_TYPE_PRESENT:
        return "bool ";
    case KI_FIELD_TYPE_INT32:
        return "int32_t ";
    case KI_FIELD_TYPE_DOUBLE:
        return "double ";
    case KI_FIELD_TYPE_STRING_LIST:
        return "ki_string_list ";
    case KI_FIELD_TYPE_STRING_MAP:
        return "ki_string_map ";
    default:
        return "int64_t ";
    }
}

static const char *macro_of(const gen_node *node) {
    if (node->form == GEN_ITEMS)
        return "KI_FIELD_LIST(struct";
    switch (node->type) {
    case KI_FIELD_TYPE_TEXT:
        return "KI_FIELD_TEXT(struct";
    case KI_FIELD_TYPE_PRESENT:
        return "KI_FIELD_PRESENT(struct";
    case KI_FIELD_TYPE_TIME:
        return "KI_FIELD_TIME(struct";
    case KI_FIELD_TYPE_QUANTITY:
        return "KI_FIELD_QUANTITY(struct";
    case KI_FIELD_TYPE_MILLI:
        return "KI_FIELD_MILLI(struct";
    default:
        return "KI_FIELD(struct";
    }
}

/* Writes what a comment says of a member's type. */
static const char *about(const gen_node *node, char text[GEN_STRUCT_NAME_MAX + 16]) {
    text[0] = '\0';
    if (node->form == GEN_ITEMS)
        snprintf(text, GEN_STRUCT_NAME_MAX + 16, "struct %s", node->struct_name);
    else if (node->type == KI_FIELD_TYPE_TIME)
        strcpy(text, "milliseconds since 1970");
    else if (node->type == KI_FIELD_TYPE_MILLI)
        strcpy(text, "thousandths");
    else if (node->type == KI_FIELD_TYPE_TEXT)
        strcpy(text, "integer or string");
    return text;
}

static void write_absent(FILE *out, const gen_node *node, size_t indent) {
    char text[GEN_NAME_MAX + 96];
    snprintf(text, sizeof text, "%s: left out: %s", node->name, node->why);
    cut(text, strlen(text), COLUMNS_MAX - indent - sizeof "/*  */" + 1);
    fprintf(out, "%*s/* %s */\n", (int)indent, "", text);
}

static void write_members(FILE *out, const gen_node *node, size_t indent) {
    char what[GEN_STRUCT_NAME_MAX + 16];
    for (const gen_node *child = node->first; child; child = child->next) {
        if (child->form == GEN_ABSENT) {
            write_absent(out, child, indent);
        } else if (child->form == GEN_NESTED && gen_node_has_members(child)) {
            fprintf(out, "%*sstruct {\n", (int)indent, "");
            write_members(out, child, indent < INDENT_MAX ? indent + 4 : indent);
            fprintf(out, "%*s} %s;\n", (int)indent, "", child->name);
        } else if (child->form == GEN_NESTED) {
            write_members(out, child, indent); /* comments only */
        } else {
            const char *type = child->form == GEN_ITEMS ? "ki_list " : type_text(child);
            fprintf(out, "%*s%s%s;", (int)indent, "", type, child->name);
            write_comment(out, indent + strlen(type) + strlen(child->name) + 1, about(child, what),
                          child->form == GEN_MEMBER && child->type == KI_FIELD_TYPE_PRESENT ? NULL
                                                                                            : child->description);
            fputc('\n', out);
        }
    }
}

static void write_entries(FILE *out, const gen_node *node, const char *struct_name) {
    char path[GEN_PATH_MAX + 1], piece[GEN_STRUCT_NAME_MAX + 16];
    for (const gen_node *child = node->first; child; child = child->next) {
        if (child->form == GEN_NESTED)
            write_entries(out, child, struct_name);
        if ((child->form != GEN_MEMBER && child->form != GEN_ITEMS) || !gen_node_path(child, path))
            continue;
        wrapped w = { out, 4 };
        fprintf(out, "    ");
        put_piece(&w, macro_of(child), false);
        snprintf(piece, sizeof piece, "%s,", struct_name);
        put_piece(&w, piece, true);
        put_member(&w, child, ",");
        if (child->form == GEN_ITEMS) {
            snprintf(piece, sizeof piece, "%s_fields,", child->struct_name);
            put_piece(&w, piece, true);
        }
        put_string(&w, path, "),");
        fputc('\n', out);
    }
}

/* ---- rows for an FFI ---- */

typedef struct layout {
    size_t size, alignment;
} layout;

static layout layout_of_member(const gen_node *node) {
    struct aligned_int64 {
        char before;
        int64_t value;
    };
    struct aligned_double {
        char before;
        double value;
    };
    if (node->form == GEN_ITEMS)
        return (layout){ sizeof(ki_list), sizeof(void *) };
    switch (node->type) {
    case KI_FIELD_TYPE_STRING:
    case KI_FIELD_TYPE_TEXT:
        return (layout){ sizeof(char *), sizeof(char *) };
    case KI_FIELD_TYPE_BOOL:
    case KI_FIELD_TYPE_PRESENT:
        return (layout){ sizeof(bool), sizeof(bool) };
    case KI_FIELD_TYPE_INT32:
        return (layout){ sizeof(int32_t), sizeof(int32_t) };
    case KI_FIELD_TYPE_DOUBLE:
        return (layout){ sizeof(double), offsetof(struct aligned_double, value) };
    case KI_FIELD_TYPE_STRING_LIST:
        return (layout){ sizeof(ki_string_list), sizeof(void *) };
    case KI_FIELD_TYPE_STRING_MAP:
        return (layout){ sizeof(ki_string_map), sizeof(void *) };
    default:
        return (layout){ sizeof(int64_t), offsetof(struct aligned_int64, value) };
    }
}

static const char *type_name(const gen_node *node) {
    static const char *const names[] = { "END",         "STRING",     "BOOL", "INT32",    "INT64", "UINT32",
                                         "UINT64",      "DOUBLE",     "TIME", "QUANTITY", "MILLI", "PRESENT",
                                         "STRING_LIST", "STRING_MAP", "LIST", "TEXT" };
    return names[node->form == GEN_ITEMS ? KI_FIELD_TYPE_LIST : node->type];
}

static void write_row(FILE *out, const gen_node *node, size_t offset, size_t struct_size) {
    char path[GEN_PATH_MAX + 1], piece[GEN_STRUCT_NAME_MAX + 64];
    if (!gen_node_path(node, path))
        return;
    wrapped w = { out, 8 };
    fprintf(out, " *     {");
    put_string(&w, path, ",");
    snprintf(piece, sizeof piece, "%zu, %zu, KI_FIELD_TYPE_%s, %s%s },", offset, struct_size, type_name(node),
             node->form == GEN_ITEMS ? node->struct_name : "NULL", node->form == GEN_ITEMS ? "_fields" : "");
    put_piece(&w, piece, true);
    fputc('\n', out);
}

static size_t align(size_t offset, size_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

/* Returns the layout of a struct of which the first byte is at `begin`, as the C compiler of this machine lays it out.
 * Writes the rows of its members if `struct_size` is not 0. */
static layout lay_out(FILE *out, const gen_node *node, size_t begin, size_t struct_size) {
    layout whole = { 0, 1 };
    for (const gen_node *child = node->first; child; child = child->next) {
        layout one;
        if (child->form == GEN_ABSENT || (child->form == GEN_NESTED && !gen_node_has_members(child)))
            continue;
        one = child->form == GEN_NESTED ? lay_out(out, child, 0, 0) : layout_of_member(child);
        whole.size = align(whole.size, one.alignment);
        if (struct_size && child->form == GEN_NESTED)
            (void)lay_out(out, child, begin + whole.size, struct_size);
        else if (struct_size)
            write_row(out, child, begin + whole.size, struct_size);
        whole.size += one.size;
        whole.alignment = whole.alignment > one.alignment ? whole.alignment : one.alignment;
    }
    whole.size = align(whole.size, whole.alignment);
    return whole;
}

/* Writes a struct, and the rows of its table as a comment: an FFI has no tables. */
static void write_struct_for_ffi(FILE *out, const gen_node *node) {
    size_t size = lay_out(out, node, 0, 0).size;
    fprintf(out, "struct %s {\n", node->struct_name);
    write_members(out, node, 4);
    fprintf(out, "};\n/* %s_fields, an array of ki_field: path, offset, struct_size, type, elements\n",
            node->struct_name);
    (void)lay_out(out, node, 0, size);
    fprintf(out, " *     { NULL, 0, 0, KI_FIELD_TYPE_END, NULL }\n */\n\n");
}

/* ---- structs ---- */

/* Writes a struct and its table. */
static void write_struct(FILE *out, const gen_node *node) {
    fprintf(out, "struct %s {\n", node->struct_name);
    write_members(out, node, 4);
    fprintf(out, "};\n\nstatic const ki_field %s_fields[] = {\n", node->struct_name);
    write_entries(out, node, node->struct_name);
    fprintf(out, "    KI_FIELD_END\n};\n\n");
}

/* Writes the structs of the lists in a struct, then the struct. */
static void write_structs(FILE *out, const gen_node *node, void (*write_one)(FILE *out, const gen_node *node)) {
    for (const gen_node *child = node->first; child; child = child->next) {
        if (child->form == GEN_NESTED || child->form == GEN_ITEMS)
            write_structs(out, child, write_one);
    }
    if (node->form == GEN_ITEMS)
        write_one(out, node);
}

/* ---- the header ---- */

/* Writes text of the first comment, broken at blanks and after commas. The first line begins with `begin`, each further
 * one with `next`. What is not printable ASCII becomes "?", and nothing in the text ends or begins a comment. */
static void write_text(FILE *out, const char *begin, const char *next, const char *text) {
    char piece[2 * PIECE_MAX], last = ' ';
    size_t column = strlen(begin);
    fprintf(out, "%s", begin);
    while (*text) {
        size_t size = strcspn(text, " ,"), used = 0;
        size += text[size] != '\0';
        size = size < PIECE_MAX ? size : PIECE_MAX;
        for (size_t i = 0; i < size; i++) {
            unsigned char c = (unsigned char)text[i];
            if ((last == '*' && c == '/') || (last == '/' && c == '*'))
                piece[used++] = ' ';
            last = (char)(c < 0x20 || c >= 0x7f ? '?' : c);
            piece[used++] = last;
        }
        if (column > strlen(begin) && column + used > COLUMNS_MAX) {
            fprintf(out, "\n%s", next);
            column = strlen(next);
        }
        fprintf(out, "%.*s", (int)used, piece);
        column += used;
        text += size;
    }
}

/* Writes the begin of the first comment: what the fields are, and the command that makes them. */
static void write_title(FILE *out, const gen_schema *schema, const gen_request *request, const char *name) {
    const char *plural = schema->plural[0] ? schema->plural : request->resource;
    char title[sizeof "Fields of .. as struct . Made by:" + 3 * TITLE_PART_MAX + GEN_NAME_MAX];
    snprintf(title, sizeof title, "Fields of %.*s.%.*s%s%.*s as struct %s. Made by:", TITLE_PART_MAX, plural,
             TITLE_PART_MAX, schema->version, schema->group[0] ? "." : "", TITLE_PART_MAX, schema->group, name);
    write_text(out, "/* ", " * ", title);
    fprintf(out, "\n");
    write_text(out, " *     ", " *         ", request->command);
}

static void write_header(FILE *out, const gen_schema *schema, const gen_request *request, const gen_tree *tree) {
    const char *name = tree->root->struct_name;
    char guard[GEN_NAME_MAX];
    bool is_long = strlen(name) > NAME_TWICE_MAX;
    size_t used = 0;
    for (; name[used] && used + 1 < sizeof guard; used++)
        guard[used] = (char)(name[used] >= 'a' && name[used] <= 'z' ? name[used] - 'a' + 'A' : name[used]);
    guard[used] = '\0';
    fprintf(out, "/* clang-format off */\n");
    write_title(out, schema, request, name);
    fprintf(out,
            "\n *\n"
            " * Give %s_fields to the informer as its view.%s%s_view returns the struct of an object. */\n"
            "#ifndef %s_VIEW_H\n#define %s_VIEW_H\n\n#include <kinformer/object.h>\n#include <kinformer/view.h>\n\n",
            name, is_long ? "\n * " : " ", name, guard, guard);
    write_structs(out, tree->root, write_struct);
    fprintf(out,
            "/* Returns the fields of an object; NULL if its informer has no view. Borrowed from the object. */\n"
            "static inline const struct %s *%s%s_view(const ki_object *obj) {\n"
            "#ifdef __cplusplus\n"
            "    return static_cast<const struct %s *>(%ski_object_view(obj));\n"
            "#else\n"
            "    return ki_object_view(obj);\n"
            "#endif\n}\n\n#endif\n",
            name, is_long ? "\n" : "", name, name, strlen(name) > NAME_CAST_MAX ? "\n        " : "");
}

static void write_for_ffi(FILE *out, const gen_schema *schema, const gen_request *request, const gen_tree *tree) {
    const char *name = tree->root->struct_name;
    write_title(out, schema, request, name);
    fprintf(out,
            "\n *\n"
            " * For an FFI that has the declarations of `kinformer gen --ffi`. Sizes and offsets are those of this\n"
            " * machine's C. Make an array of the rows of %s_fields, and give it to the informer as its view. */\n",
            name);
    write_structs(out, tree->root, write_struct_for_ffi);
}

/* Makes the struct's name. */
static ki_status name_struct(const gen_schema *schema, const gen_request *request, char name[GEN_NAME_MAX],
                             ki_error *err) {
    const char *given = request->struct_name;
    char member[GEN_NAME_MAX];
    if (!given) {
        gen_snake(schema->kind, strlen(schema->kind), name);
        gen_struct(name);
        return KI_OK;
    }
    bool is_name = given[0] && !(given[0] >= '0' && given[0] <= '9') && strlen(given) < GEN_NAME_MAX / 2;
    for (const char *c = given; *c && is_name; c++)
        is_name = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
    if (!is_name)
        return gen_fail(err, KI_ERR_INVALID, "--name %.100s: a C identifier of at most %d characters is expected",
                        given, GEN_NAME_MAX / 2 - 1);
    snprintf(name, GEN_NAME_MAX, "%s", given);
    memcpy(member, name, GEN_NAME_MAX);
    gen_struct(member);
    return strcmp(member, name) == 0
               ? KI_OK
               : gen_fail(err, KI_ERR_INVALID,
                          "--name %s: this word has a meaning in C, C++, their headers or kinformer's", given);
}

/* Makes the tree. Where structs have too many fields, all fields of objects are taken less deep. */
static ki_status make_tree(const gen_schema *schema, const gen_request *request, const char *name, gen_tree *ret_tree,
                           ki_error *err) {
    gen_type type = gen_schema_type(schema, schema->root);
    for (size_t steps_max = GEN_STEPS_MAX;; steps_max--) {
        gen_tree tree;
        ki_status status = gen_tree_new(name, &type, &tree, err);
        if (status)
            return status;
        tree.steps_max = steps_max;
        if (!request->field_count)
            status = gen_tree_fill(&tree, schema, err);
        for (size_t i = 0; i < request->field_count && !status; i++)
            status = gen_fields_add(&tree, schema, request->fields[i], err);
        if (!status)
            status = gen_tree_check(&tree, err);
        if (!status) {
            *ret_tree = tree;
            return KI_OK;
        }
        gen_tree_free(&tree);
        if (status != KI_ERR_LIMIT || steps_max == 2)
            return status;
    }
}

ki_status gen_header_write(const gen_schema *schema, const gen_request *request, FILE *out, ki_error *err) {
    char name[GEN_NAME_MAX];
    gen_tree tree;
    ki_status status = name_struct(schema, request, name, err);
    if (!status)
        status = make_tree(schema, request, name, &tree, err);
    if (status)
        return status;
    if (request->is_for_ffi)
        write_for_ffi(out, schema, request, &tree);
    else
        write_header(out, schema, request, &tree);
    gen_tree_free(&tree);
    return KI_OK;
}
