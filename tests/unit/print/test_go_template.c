/* Go templates: what kubectl prints for them, and errors. The rows are kubectl's output for the same object. */
#include "print/go_template.h"
#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

/* With ' in place of ". */
static const char chair[] =
    "{'apiVersion':'furniture.example.com/"
    "v1','kind':'Chair','metadata':{'name':'big'},'spec':{'legs':4,'height':0.75,'big':1e+21,'oak':true,'podIPs':['a','"
    "b'],'HTTPGet':{'apiVersion':'v1'},'drawers':{'b':[1,'x',null,[1,{'q':'r'}]],'a':{},'none':null,'list':[]},'my-"
    "field':1,'a.b':'2','someURL':'u','listOfObjects':[{'b':1,'a':{'c':2}},{'x':'y'}]},'status':{'conditions':[{'type':"
    "'Old','status':'False'}]}}";

typedef struct row {
    const char *template;
    const char *prints; /* or what the error says */
} row;

static const row rows[] = {
    { "{{.metadata.name}}", "big" },
    { "{{.spec.legs}} {{.spec.height}} {{.spec.big}} {{.spec.oak}}", "4 0.75 1e+21 true" },
    { "{{.spec.missing}} {{.missing.a.b}} {{.spec.drawers.none}}", "<no value> <no value> <no value>" },
    { "{{.spec}}", "map[HTTPGet:map[apiVersion:v1] a.b:2 big:1e+21 drawers:map[a:map[] b:[1 x <nil> [1 map[q:r]]] "
                   "list:[] none:<nil>] height:0.75 legs:4 listOfObjects:[map[a:map[c:2] b:1] map[x:y]] my-field:1 "
                   "oak:true podIPs:[a b] someURL:u]" },
    { "{{.spec.podIPs}} {{len .spec.podIPs}} {{len .spec}} {{len .metadata.name}}", "[a b] 2 11 3" },
    { "{{range .spec.podIPs}}<{{.}}>{{end}}", "<a><b>" },
    { "{{range $i, $x := .spec.podIPs}}{{$i}}={{$x}};{{end}}", "0=a;1=b;" },
    { "{{range $k, $v := .spec.drawers}}{{$k}}={{$v}};{{end}}",
      "a=map[];b=[1 x <nil> [1 map[q:r]]];list=[];none=<no value>;" },
    { "{{range .spec.list}}x{{else}}empty{{end}}", "empty" },
    { "{{range .nothing}}x{{else}}none{{end}}", "none" },
    { "{{if .spec.oak}}yes{{else}}no{{end}}{{if .spec.none}}yes{{else}}no{{end}}", "yesno" },
    { "{{if eq .metadata.name \"x\"}}a{{else if eq .metadata.name \"big\"}}b{{else}}c{{end}}", "b" },
    { "{{with .spec.HTTPGet}}{{.apiVersion}}{{end}}{{with .nothing}}x{{else}}-{{end}}", "v1-" },
    { "{{with $x := .spec.legs}}{{$x}}{{end}}", "4" },
    { "{{$x := .metadata.name}}{{$x}}{{$x = \"y\"}}{{$x}}", "bigy" },
    { "{{index .spec.podIPs 1}} {{index .spec \"a.b\"}} {{index .spec.listOfObjects 0 \"a\" \"c\"}}", "b 2 2" },
    { "{{index .spec \"nothing\"}}|{{(index .spec.podIPs 0)}}|{{(index .spec.listOfObjects 0).b}}", "<no value>|a|1" },
    { "{{printf \"%s-%d-%v-%q\" .metadata.name 3 .spec.legs \"a\\\"b\"}}", "big-3-4-\"a\\\"b\"" },
    { "{{printf \"%5d|%-5d|%05d|%+d|%x\" 42 42 42 42 255}}", "   42|42   |00042|+42|ff" },
    { "{{printf \"%.2f|%8.3f|%g|%e\" .spec.height .spec.height .spec.height .spec.height}}",
      "0.75|   0.750|0.75|7.500000e-01" },
    { "{{printf \"%08.2f|%+08.2f|%-8.2f|%06g|%05d|%+05d\" -3.14 3.14 -3.14 -2.5 -42 42}}",
      "-0003.14|+0003.14|-3.14   |-002.5|-0042|+0042" },
    { "{{printf \"%.3d|%6.3d|%-6.3d|%06.3d|%.0d|%.3x\" 7 7 -7 7 0 10}}", "007|   007|-007  |   007||00a" },
    { "{{printf \"%6x|%-6x|%.1x|%06x\" \"ab\" \"ab\" \"ab\" \"ab\"}}", "  6162|6162  |61|006162" },
    { "{{printf \"%+v %+v|%5d|%-5s|\" 1 1.5 \"ab\" 1}}", "1 1.5|%!d(string=   ab)|%!s(int=1    )|" },
    { "{{printf \"%s %d %t\" .spec.legs .spec.legs .spec.oak}}", "%!s(int64=4) 4 true" },
    { "{{printf \"%10s|%-10s|%.2s|%q\" \"abc\" \"abc\" \"abc\" \"a\\nb\"}}", "       abc|abc       |ab|\"a\\nb\"" },
    { "{{printf \"%d%%\" 50}} {{printf \"%s\"}} {{printf \"x\" 1 \"y\"}}",
      "50% %!s(MISSING) x%!(EXTRA int=1, string=y)" },
    { "{{printf \"%v %s\" .missing .missing}}", "<nil> %!s(<nil>)" },
    { "{{print \"a\" 1 2 \"b\" .spec.legs}} {{print 1 2}} {{println \"a\" 1}}", "a1 2b4 1 2 a 1\n" },
    { "{{\"YWJj\" | base64decode}} {{base64decode \"eHl6\"}}", "abc xyz" },
    { "{{.metadata.name | printf \"%s-%s\" \"x\"}} {{.spec.podIPs | len}} {{\"k\" | len | printf \"%d\"}}",
      "x-big 2 1" },
    { "{{eq 1 1}} {{ne 1 2}} {{lt 1 2}} {{le 2 2}} {{gt 1 2}} {{ge 1 2}} {{eq \"a\" \"b\" \"a\"}}",
      "true true true true false false true" },
    { "{{eq .missing \"a\"}} {{ne .missing \"a\"}} {{eq .missing nil}}", "false true true" },
    { "{{and 1 0}} {{and 1 \"x\"}} {{or 0 \"\" \"z\"}} {{or 0 \"\"}}| {{not 1}} {{not .missing}}",
      "0 x z | false true" },
    { "{{and .missing .missing.x.y}} {{or .metadata.name .spec.legs}}", "<no value> big" },
    { "a  {{- \" b \" -}}  c", "a b c" },
    { "a {{/* comment */}} b {{- /* trim */ -}} c", "a  bc" },
    { "{{`raw \\n \"x\"`}} {{\"tab\\tnew\\\\ \\u00fc \\x41 \\101\"}}", "raw \\n \"x\" tab\tnew\\ \303\274 A A" },
    { "{{\"\\n\"}}", "\n" },
    { "{{1}} {{-2}} {{3.5}} {{1e3}} {{0x1f}} {{true}} {{1_000}}", "1 -2 3.5 1000 31 true 1000" },
    { "{{range .spec.listOfObjects}}{{range $k, $v := .}}{{$k}}:{{$v}} {{end}}{{$.metadata.name}} {{end}}",
      "a:map[c:2] b:1 big x:y big " },
    { "{{range 3}}{{.}}{{end}}", "012" },
    { "{{ .metadata.name \n}}", "big" },
    { "{{(index .spec.podIPs 0) | printf \"%s!\"}}", "a!" },
    { "{{len \"\303\244\303\266\"}} {{printf \"%6s|\" \"\303\244\303\266\"}}", "4     \303\244\303\266|" },
    { "{{range $i, $e := .spec.podIPs}}{{if $i}},{{end}}{{$e}}{{end}}", "a,b" },
    { "{{with .spec}}{{with .HTTPGet}}{{$.metadata.name}}{{.apiVersion}}{{end}}{{end}}", "bigv1" },
    { "{{eq .spec.legs 4}}", "true" },
    { "x{{range $i,$x:=.spec.podIPs}}{{$i}}{{$x}}{{end}}", "x0a1b" },
    { "{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}{{if true}}{{$x = 3}}{{end}}{{$x}}", "213" },
    { "{{with .nothing}}{{else with .metadata}}{{.name}}{{end}}", "big" },
    { "{{printf \"%v|%v|%s\" .spec.podIPs .spec.drawers .spec.podIPs}}",
      "[a b]|map[a:map[] b:[1 x <nil> [1 map[q:r]]] list:[] none:<nil>]|[a b]" },
    { "{{printf \"%d\" .spec.podIPs}}", "[%!d(string=a) %!d(string=b)]" },
    { "{{print .spec.big .spec.oak nil}}", "1e+21 true <nil>" },
    { "{{-3}}|{{- 3}}|{{3 -}} |", "-3|3|3|" },
    { "{{.kind}}{{\"\\n\"}}", "Chair\n" },
    { "{{ $x := index .spec.podIPs 0 }}{{ $y := printf \"%s-%s\" $x \"z\" }}{{ $y }}", "a-z" },
};

static const row errors[] = {
    { "{{lt \"a\" \"b\"}} {{eq .spec.legs 4.0}} {{gt .spec.legs 3.5}} {{eq .spec.oak true}}",
      "eq: incompatible types for comparison" },
    { "{{if and (eq .spec.legs 4.0) (not .missing)}}ok{{end}}", "eq: incompatible types for comparison" },
    { "{{define \"x\"}}{{end}}", "\"define\" is not supported" },
    { "{{template \"x\"}}", "\"template\" is not supported" },
    { "{{html \"a\"}}", "\"html\" is not supported" },
    { "{{.a | js}}", "\"js\" is not supported" },
    { "{{slice \"abc\" 1}}", "\"slice\" is not supported" },
    { "{{break}}", "\"break\" is not supported" },
    { "{{foo}}", "\"foo\" is not supported" },
    { "{{.a", "unclosed action at position 5" },
    { "{{if .a}}", "no {{end}} for the block at position 5" },
    { "{{end}}", "an {{end}} without a block at position 8" },
    { "{{else}}", "an {{else}} without a block at position 7" },
    { "{{$y}}", "undefined variable \"$y\" at position 3" },
    { "{{.metadata.name.x}}", "can't evaluate field x in type string" },
    { "{{range .metadata.name}}{{end}}", "range can't iterate over a value of type string" },
    { "{{index .spec.podIPs 5}}", "index: the index is out of range" },
    { "{{index .spec.podIPs \"a\"}}", "index: the index is a value of type string" },
    { "{{len .spec.legs}}", "len: no length of type int64" },
    { "{{eq .spec .spec}}", "eq: cannot compare a value of type map[string]interface {}" },
    { "{{lt .missing 1}}", "lt: incompatible types for comparison" },
    { "{{.metadata.labels.x}}{{.spec.drawers.none.x}}", "can't evaluate field x in type <nil>" },
    { "{{base64decode .missing}}", "base64decode: expected a string, not a value of type <nil>" },
    { "{{base64decode \"%%%\"}}", "base64decode: base64 decode failed" },
    { "{{printf 1}}", "printf: the format is a value of type int" },
    { "{{\"a\" \"b\"}}", "what gets arguments is no function at position 3" },
    { "{{.a .b}}", "what gets arguments is no function at position 3" },
    { "{{1 | .a}}", "what gets arguments is no function at position 6" },
    { "{{not}}", "not: wrong number of arguments" },
    { "{{nil}}", "\"nil\" is not supported" },
    { "{{range $a, $b, $c := .x}}{{end}}", "undefined variable \"$a\" at position 9" },
    { "{{\"unclosed}}", "unterminated string at position 3" },
    { "{{(.a}}", "unclosed parenthesis at position 3" },
    { "{{ }}", "a value is missing at position 4" },
    { "{{if}}{{end}}", "a value is missing at position 5" },
    { "{{.spec.podIPs.x}}", "can't evaluate field x in type []interface {}" },
    { "{{if false}}{{else with .metadata}}{{.name}}{{else}}n{{end}}", "unexpected text in an action at position 20" },
    { "{{printf \"%[1]s\" \"a\"}}", "printf: %[ is not supported" },
    { "{{printf \"%*d\" 5 3}}", "printf: %* is not supported" },
    { "{{printf \"%c|%U|%T\" 65 65 \"a\"}}", "printf: %c is not supported" },
    { "{{range .spec.podIPs}}{{if eq . \"a\"}}{{continue}}{{end}}{{.}}{{end}}", "\"continue\" is not supported" },
};

static char json[sizeof chair];

static const char *document(void) {
    for (size_t i = 0; i < sizeof chair; i++)
        json[i] = chair[i] == '\'' ? '"' : chair[i];
    return json;
}

static ki_status print(const char *template, const ki_jsonpath_options *options, char *ret_text, size_t size,
                       ki_error *err) {
    ki_go_template *parsed = NULL;
    ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
    ki_status status = ki_go_template_new(template, options, &parsed, err);
    if (!status)
        status = ki_go_template_print(parsed, document(), sizeof json - 1, &text, err);
    if (!status)
        snprintf(ret_text, size, "%s", text.data);
    ki_jsonpath_text_clear(&text);
    ki_go_template_free(parsed);
    return status;
}

TEST(templates_print_what_kubectl_prints) {
    const ki_jsonpath_options options = { .size = sizeof options, .allow_missing_keys = true };
    char text[4096];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_error err = KI_ERROR_INIT;
        if (print(rows[i].template, &options, text, sizeof text, &err))
            fail_msg("%s: %s", rows[i].template, ki_error_message(&err));
        if (strcmp(text, rows[i].prints) != 0)
            fail_msg("%s: printed %s", rows[i].template, text);
    }
}

TEST(what_is_wrong_or_not_supported_is_named) {
    const ki_jsonpath_options options = { .size = sizeof options, .allow_missing_keys = true };
    char text[4096];
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        ki_error err = KI_ERROR_INIT;
        if (!print(errors[i].template, &options, text, sizeof text, &err))
            fail_msg("%s: printed %s", errors[i].template, text);
        if (!strstr(ki_error_message(&err), errors[i].prints))
            fail_msg("%s: %s", errors[i].template, ki_error_message(&err));
    }
}

TEST(a_missing_key_can_be_an_error) {
    const ki_jsonpath_options options = { .size = sizeof options };
    ki_error err = KI_ERROR_INIT;
    char text[64];
    assert_int_equal(print("{{.spec.nothing}}", &options, text, sizeof text, &err), KI_ERR_NOT_FOUND);
    assert_non_null(strstr(ki_error_message(&err), "map has no entry for key \"nothing\""));
    assert_int_equal(print("{{.spec.legs}}", &options, text, sizeof text, &err), KI_OK);
}

TEST(depth_length_and_output_have_limits) {
    const ki_jsonpath_options options = { .size = sizeof options, .allow_missing_keys = true, .max_output = 100 };
    ki_error err = KI_ERROR_INIT;
    char text[128], deep[1024] = "", *at = deep;
    for (int i = 0; i < 40; i++)
        at += sprintf(at, "{{if 1}}");
    assert_int_equal(print(deep, &options, text, sizeof text, &err), KI_ERR_LIMIT);
    at = deep + sprintf(deep, "{{");
    memset(at, '(', 50);
    assert_int_equal(print(deep, &options, text, sizeof text, &err), KI_ERR_LIMIT);
    assert_int_equal(print("{{range 30}}12345{{end}}", &options, text, sizeof text, &err), KI_ERR_LIMIT);
    assert_int_equal(print("{{printf \"%1000d\" 1}}", &options, text, sizeof text, &err), KI_ERR_LIMIT);
    assert_int_equal(print("{{range 999999999}}{{end}}", &options, text, sizeof text, &err), KI_ERR_LIMIT);
}

TEST(lack_of_memory_is_an_error_and_nothing_leaks) {
    static const char template[] = "{{$x := printf \"%q\" .metadata.name}}{{range $k, $v := .spec}}{{$k}}={{$v}}{{end}}"
                                   "{{\"YWJj\" | base64decode}}{{$x}}";
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        const ki_jsonpath_options options = { .size = sizeof options,
                                              .allocator = &memory.allocator,
                                              .allow_missing_keys = true };
        ki_error err = KI_ERROR_INIT;
        char text[2048];
        ki_status status = print(template, &options, text, sizeof text, &err);
        if (status != (scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK))
            fail_msg("allocation %zu: %s", memory.fail_at, ki_error_message(&err));
    }
}
