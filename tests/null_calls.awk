# null_calls.awk: reads public headers, and writes a call of each function that returns a ki_status, or frees, for tests/unit/public/test_null_arguments.c:
# CALL(name, (arguments), "what can be NULL") or FREE(name). An argument is POINTER(index, "type", "name"), where index counts what can be NULL;
# RESOURCE(index), for a ki_resource and its strings; SIZE, the size of a text; or 0.
function pointer(name) {
    names = names (names == "" ? "" : " ") name
    return places++
}
function argument(text,    type, name, index_) {
    gsub(/^ +| +$/, "", text)
    gsub(/const /, "", text)
    name = type = text
    sub(/.*[ *]/, "", name)
    sub(/ *[^ *]*$/, "", type)
    if (text == "...") return ""
    if (name == "format" && type ~ /char/) return "\"nothing\""
    if (name == "size") return "SIZE"
    if (type ~ /^(ki_registration|ki_str)$/) return "(" type "){ 0 }"
    if (type == "ki_resource *") {
        index_ = pointer(name)
        pointer("group"); pointer("version"); pointer("plural"); pointer("kind")
        return "RESOURCE(" index_ ")"
    }
    if (type ~ /\*|handler$|condition$|transform$|function$|visitor$|^ki_process$/) return "POINTER(" pointer(name) ", \"" type "\", \"" name "\")"
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
        gsub(/\(\*/, "ki_function ", rest) # a parameter that is a function: "bool (*visit)(…)" becomes "bool ki_function visit"
        while (match(rest, /\) *\([^()]*\)/))
            rest = substr(rest, 1, RSTART - 1) substr(rest, RSTART + RLENGTH)
        count = split(rest, parameters, ",")
        list = names = ""
        places = 0
        for (i = 1; i <= count; i++) {
            one = argument(parameters[i])
            if (one != "") list = list (list == "" ? "" : ", ") one
        }
        print "CALL(" name ", (" list "), \"" names "\")"
    }
}
