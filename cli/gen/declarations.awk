# declarations.awk: makes the table of cli/gen/ffi.c of the public headers, for C without a preprocessor. The build runs it:
#     awk -f declarations.awk INCLUDE HEADER...
# DECLARATION("text") is one declaration, without comments and attributes, after those that it needs. NAME("name", index) is a name that a
# declaration has: a function, a type, a struct, an enumerator, or a macro. What the script cannot read ends the build.
function fail(why) {
    print "declarations.awk: " file ": " why > "/dev/stderr"
    exit failed = 1
}
function quote(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    gsub(/\n/, "\\n\"\n        \"", text)
    return "\"" text "\""
}
function name_it(name, number) {
    if (name !~ /^ki_[a-z0-9_]+$|^KI_[A-Z0-9_]+$/)
        fail("no name of the library: " name)
    names = names "NAME(\"" name "\", " number ")\n"
    if (!(name in owner))
        owner[name] = number
}
function add(text) {
    texts[count] = text
    return count++
}

# Writes the enumerators of a body with their values, and names them.
function enumerate(body,    parts, i, n, name, value, next_value, text) {
    n = split(body, parts, ",")
    next_value = 0
    for (i = 1; i <= n; i++) {
        gsub(/^[ \n]+|[ \n]+$/, "", parts[i])
        if (parts[i] == "")
            continue
        name = value = parts[i]
        sub(/[ \n]*=.*/, "", name)
        if (!sub(/^[^=]*=[ \n]*/, "", value))
            value = next_value
        next_value = value ~ /^-?[0-9]+$/ ? value + 1 : name " + 1"
        name_it(name, count)
        text = text (text == "" ? "" : ",") "\n    " name " = " value
    }
    return text "\n"
}

# Takes one declaration of the header, with its semicolon.
function declare(text,    name, head, body) {
    gsub(/(^|[^A-Za-z_])KI_PRINTF\([^)]*\)/, "", text)
    gsub(/ ?KI_(API|MUST_CHECK|NOEXCEPT)/, "", text)
    gsub(/^[ \n]+|[ \n]+$/, "", text)
    if (text ~ /^(typedef )?enum/) {
        match(text, /\{[^}]*\}/)
        head = substr(text, 1, RSTART)
        body = substr(text, RSTART + 1, RLENGTH - 2)
        name = substr(text, RSTART + RLENGTH)
        gsub(/[ ;]/, "", name)
        if (name != "")
            name_it(name, count)
        body = enumerate(body)
        add(head body "}" (name == "" ? "" : " ") name ";")
    } else if (text ~ /^typedef struct [a-z0-9_]+ \{/ || text ~ /^struct /) {
        match(text, /struct [a-z0-9_]+/)
        name_it(substr(text, RSTART + 7, RLENGTH - 7), count)
        add(text)
    } else if (text ~ /^static inline /) {
        gsub(/[ \n]+/, " ", text)
        sub(/^static inline /, "", text)
        match(text, /ki_[a-z0-9_]+\(/)
        name_it(substr(text, RSTART, RLENGTH - 1), count)
        add("/* inline in C: " text " */")
    } else {
        gsub(/[ \n]+/, " ", text)
        if (match(text, /\(\*ki_[a-z0-9_]+\)/)) # the type of a function
            name_it(substr(text, RSTART + 2, RLENGTH - 3), count)
        else if (text ~ /^(typedef|extern) / && match(text, /ki_[a-z0-9_]+;$/))
            name_it(substr(text, RSTART, RLENGTH - 1), count)
        else if (match(text, /ki_[a-z0-9_]+\(/))
            name_it(substr(text, RSTART, RLENGTH - 1), count)
        else
            fail("no declaration: " text)
        add(text)
    }
}

# Takes a macro without parameters. A number becomes an enumerator, "(&object)" another name of the object, and a text or an initializer a comment.
function define(name, value,    object) {
    gsub(/[ \n]+/, " ", value)
    gsub(/^ | $/, "", value)
    if (value ~ /^\(&ki_[a-z0-9_]+\)$/) {
        object = substr(value, 3, length(value) - 3)
        if (!(object in owner))
            fail("no object of " name)
        names = names "NAME(\"" name "\", " owner[object] ")\n"
        texts[owner[object]] = texts[owner[object]] " /* " name " is its address */"
    } else if (value ~ /^\(?-?[0-9]+\)?$/) {
        gsub(/[()]/, "", value)
        name_it(name, count)
        add("enum {\n    " name " = " value "\n};")
    } else if (value ~ /^["{]/) {
        name_it(name, count)
        add("/* " name " is " value " */")
    }
}

# Reads a header after those that it includes.
function visit(path,    line, text, depth, inside, hidden, level, macro, rest, lines) {
    if (path in seen)
        return
    seen[path] = 1
    if (path ~ /(export|sized)\.h$/) # attributes and C++
        return
    while ((getline line < path) > 0) {
        lines++
        file = path
        while (line ~ /\\$/ && (getline rest < path) > 0)
            line = substr(line, 1, length(line) - 1) " " rest
        # comments
        if (inside) {
            if (!sub(/^.*\*\//, "", line))
                continue
            inside = 0
        }
        while (match(line, /\/\*/)) {
            rest = substr(line, RSTART + 2)
            line = substr(line, 1, RSTART - 1)
            if (match(rest, /\*\//))
                line = line substr(rest, RSTART + 2)
            else
                inside = 1
        }
        sub(/ +$/, "", line)
        # the preprocessor
        if (line ~ /^#if/) {
            level++
            if (line ~ /^#ifdef __cplusplus$/)
                hidden = level
            else if (line !~ /^#ifndef [A-Z_]+_H$/)
                fail("a condition: " line)
        } else if (line ~ /^#else/) {
            hidden = hidden == level ? 0 : hidden ? hidden : level
        } else if (line ~ /^#endif/) {
            if (hidden == level)
                hidden = 0
            level--
        } else if (hidden) {
            continue
        } else if (match(line, /^#include <kinformer[^>]*>/)) {
            visit(include "/" substr(line, 11, RLENGTH - 11))
        } else if (match(line, /^#define KI_[A-Z0-9_]+ /)) {
            macro = substr(line, 9, RLENGTH - 9)
            if (macro !~ /_$/)
                define(macro, substr(line, RLENGTH + 1))
        } else if (line ~ /^#/ || line == "" || line ~ /^KI_(BEGIN|END)_DECLS$/) {
            continue
        } else {
            text = text (text == "" ? "" : "\n") line
            depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
            if (depth == 0 && (line ~ /;$/ || (text ~ /^static inline/ && line ~ /\}$/))) {
                declare(text)
                text = ""
            }
        }
    }
    close(path)
    file = path
    if (!lines || text != "")
        fail(lines ? "unfinished: " text : "cannot be read")
}
BEGIN {
    count = 0
    include = ARGV[1]
    for (i = 2; i < ARGC; i++)
        visit(ARGV[i])
    for (i = 0; i < count; i++)
        print "DECLARATION(" quote(texts[i]) ")"
    printf "%s", names
    exit
}
END { exit failed }
