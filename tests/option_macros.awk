# option_macros.awk: reads public headers, and writes a file for tests/unit/public/test_option_macros.cc. With OPTION_MACRO defined the file has a
# line for each macro that makes a struct from designated initializers: OPTION_MACRO(KI_FACTORY_OPTIONS, ki_factory_options, engine), with the
# struct's second member; without it, the headers of these macros. A macro that is not made with KI_SIZED_ has no struct:
# OPTION_MACRO(KI_NEW_OPTIONS, not_made_with_KI_SIZED_, size) does not compile.
function without_comments(text) {
    gsub(/\/\*[^*]*\*\//, "", text)
    if (in_comment) { if (!sub(/^.*\*\//, "", text)) return ""; in_comment = 0 }
    if (sub(/\/\*.*$/, "", text)) in_comment = 1
    return text
}
FNR == 1 { in_comment = 0; type = "" }
{ line = without_comments($0) }
line ~ /^#define KI_[A-Z_]+\(\.\.\.\)/ {
    match(line, /KI_[A-Z_]+/)
    name = substr(line, RSTART, RLENGTH)
    if (line ~ /\\$/) { getline rest; line = line rest }
    made = "not_made_with_KI_SIZED_"
    if (match(line, /KI_SIZED_\([a-z0-9_]+/)) made = substr(line, RSTART + 10, RLENGTH - 10)
    macros = macros "OPTION_MACRO(" name ", " made ", " (made in second ? second[made] : "size") ")\n"
    header = FILENAME
    sub(/^(.*\/)?include\//, "", header)
    if (header != last) headers = headers "#include <" header ">\n"
    last = header
}
line ~ /^typedef struct [a-z0-9_]+ \{/ { type = $3; members = 0 }
type != "" && line ~ /;/ && line !~ /^\}/ {
    members++
    sub(/;.*/, "", line)
    if (match(line, /\(\*[a-z0-9_]+\)/)) member = substr(line, RSTART + 2, RLENGTH - 3)
    else { sub(/\[.*/, "", line); match(line, /[a-z0-9_]+$/); member = substr(line, RSTART, RLENGTH) }
    if (members == 2) second[type] = member
}
line ~ /^\}/ { type = "" }
END { printf "#ifndef OPTION_MACRO\n%s#else\n%s#endif\n", headers, macros }
