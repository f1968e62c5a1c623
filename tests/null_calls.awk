# null_calls.awk: reads public headers, and writes a call of each function that returns a ki_status, or frees, with NULL for every pointer and 0 for all
# else: CALL(name, (arguments)) or FREE(name). Used by tests/unit/public/test_null_arguments.c.
function argument(text) {
    gsub(/^ +| +$/, "", text)
    if (text == "...") return ""
    if (text ~ /format$/) return "\"nothing\""
    if (text ~ /\*|handler|condition|transform/) return "NULL"
    if (text ~ /^(ki_registration|ki_str) /) { split(text, words, " "); return "(" words[1] "){ 0 }" }
    return "0"
}
/^KI_API/ { text = ""; reading = 1 }
reading { text = text " " $0 }
reading && /;/ {
    reading = 0
    gsub(/\/\*[^*]*\*\//, "", text)
    sub(/;.*/, "", text)
    gsub(/KI_[A-Z_]+(\([^()]*\))?/, "", text)
    gsub(/[ \t]+/, " ", text)
    if (text ~ /^ void ki_[a-z_]*free\(/) {
        match(text, /ki_[a-z_]*\(/)
        print "FREE(" substr(text, RSTART, RLENGTH - 1) ")"
    } else if (text ~ /^ ki_status ki_/) {
        match(text, /ki_status ki_[a-z_0-9]*\(/)
        name = substr(text, RSTART + 10, RLENGTH - 11)
        rest = substr(text, RSTART + RLENGTH)
        sub(/\)[^)]*$/, "", rest)
        while (match(rest, /\([^()]*\)/)) # the parameters of functions that are parameters
            rest = substr(rest, 1, RSTART - 1) "*" substr(rest, RSTART + RLENGTH)
        count = split(rest, parameters, ",")
        list = ""
        for (i = 1; i <= count; i++) {
            one = argument(parameters[i])
            if (one != "") list = list (list == "" ? "" : ", ") one
        }
        print "CALL(" name ", (" list "))"
    }
}
