/* test_go_messages.c: schedules and JSON are checked with the messages of the libraries of a real server. The rows are
 * the output of robfig/cron v3.0.1 and of Go 1.26's encoding/json. */
#include "testing/values/cron.h"
#include "testing/values/go_json.h"
#include "tests/support/test.h"

#include "src/base/memory.h"

#include <string.h>

typedef struct row {
    const char *text;
    const char *problem; /* "": none */
} row;

static void check(const row *rows, size_t count, ki_status (*check_text)(ki_str text, ki_buffer *ret_problem)) {
    for (size_t i = 0; i < count; i++) {
        ki_buffer problem;
        ki_buffer_init(&problem, &ki_allocator_default, 0);
        assert_int_equal(check_text(ki_str_of(rows[i].text), &problem), KI_OK);
        ki_buffer_append(&problem, "", 0);
        if (strcmp(problem.data, rows[i].problem) != 0)
            fail_msg("'%s': '%s', not '%s'", rows[i].text, problem.data, rows[i].problem);
        ki_buffer_free(&problem);
    }
}

TEST(a_wrong_schedule_has_the_parser_s_message) {
    static const row rows[] = {
        { "* * * * *", "" },
        { "x", "expected exactly 5 fields, found 1: [x]" },
        { "  ", "expected exactly 5 fields, found 0: []" },
        { "a b c d e", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax" },
        { "60 * * * *", "end of range (60) above maximum (59): 60" },
        { "* 24 * * *", "end of range (24) above maximum (23): 24" },
        { "* * 0 * *", "beginning of range (0) below minimum (1): 0" },
        { "* * * 13 *", "end of range (13) above maximum (12): 13" },
        { "* * * * 7", "end of range (7) above maximum (6): 7" },
        { "* * * * sun", "" },
        { "* * * * SAT", "" },
        { "* * * JaN-dec *", "" },
        { "5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1" },
        { "1-2-3 * * * *", "too many hyphens: 1-2-3" },
        { "1/2/3 * * * *", "too many slashes: 1/2/3" },
        { "*/0 * * * *", "step of range should be a positive number: */0" },
        { "*/x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax" },
        { "*-5 * * * *", "" },
        { "?/5 * * * *", "" },
        { "1- * * * *", "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax" },
        { "-1 * * * *", "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax" },
        { "+5 * * * *", "" },
        { "99999999999999999999 * * * *", "failed to parse int from 99999999999999999999: strconv.Atoi: parsing "
                                          "\"99999999999999999999\": value out of range" },
        { ", * * * *", "" },
        { "1,,2 * * * *", "" },
        { "1,x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax" },
        { "*/70 * * * *", "" },
        { "10/5 * * * *", "" },
        { "@daily", "" },
        { "@midnight", "" },
        { "@foo", "unrecognized descriptor: @foo" },
        { "@every 1h30m", "" },
        { "@every x", "failed to parse duration @every x: time: invalid duration \"x\"" },
        { "@every 5", "failed to parse duration @every 5: time: missing unit in duration \"5\"" },
        { "@every 5y", "failed to parse duration @every 5y: time: unknown unit \"y\" in duration \"5y\"" },
        { "@every 1.5h", "" },
        { "@every -1s", "" },
        { "@every", "unrecognized descriptor: @every" },
        { "@every 0", "" },
        { "TZ=UTC * * * * *", "" },
        { "CRON_TZ=UTC x", "expected exactly 5 fields, found 1: [x]" },
        { "TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]" },
        { "* * * *", "expected exactly 5 fields, found 4: [* * * *]" },
        { "* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]" },
        { "\t1 2\n3 4 5", "" },
        { "*/5 * * * mon-wed,fri", "" },
        { "1/ * * * *", "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax" },
        { "* * * foo *", "failed to parse int from foo: strconv.Atoi: parsing \"foo\": invalid syntax" },
        { "5-60 * * * *", "end of range (60) above maximum (59): 5-60" },
        { "0-0 * * * *", "" },
        { "@every 1h x", "failed to parse duration @every 1h x: time: unknown unit \"h x\" in duration \"1h x\"" },
    };
    check(rows, sizeof rows / sizeof rows[0], kt_cron_check);
}

TEST(wrong_json_has_the_decoder_s_message) {
    static const row rows[] = {
        { "", "unexpected end of JSON input" },
        { "{}", "" },
        { " {\"a\":1} ", "" },
        { "null", "" },
        { "[]", "json: cannot unmarshal array into Go value of type map[string]interface {}" },
        { "\"x\"", "json: cannot unmarshal string into Go value of type map[string]interface {}" },
        { "1", "json: cannot unmarshal number into Go value of type map[string]interface {}" },
        { "true", "json: cannot unmarshal bool into Go value of type map[string]interface {}" },
        { "not json", "invalid character 'o' in literal null (expecting 'u')" },
        { "{", "unexpected end of JSON input" },
        { "{\"a\"", "unexpected end of JSON input" },
        { "{\"a\":", "unexpected end of JSON input" },
        { "{\"a\":1", "unexpected end of JSON input" },
        { "{\"a\":1,", "unexpected end of JSON input" },
        { "{a:1}", "invalid character 'a' looking for beginning of object key string" },
        { "{\"a\" 1}", "invalid character '1' after object key" },
        { "{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair" },
        { "{\"a\":[1 2]}", "invalid character '2' after array element" },
        { "{\"a\":[1,]}", "invalid character ']' looking for beginning of value" },
        { "{} x", "invalid character 'x' after top-level value" },
        { "{\"a\":\"\001\"}", "invalid character '\\x01' in string literal" },
        { "{\"a\":\"\\x\"}", "invalid character 'x' in string escape code" },
        { "{\"a\":\"\\u12x4\"}", "invalid character 'x' in \\u hexadecimal character escape" },
        { "{\"a\":-}", "invalid character '}' in numeric literal" },
        { "{\"a\":1.}", "invalid character '}' after decimal point in numeric literal" },
        { "{\"a\":1e}", "invalid character '}' in exponent of numeric literal" },
        { "{\"a\":01}", "invalid character '1' after object key:value pair" },
        { "{\"a\":tru}", "invalid character '}' in literal true (expecting 'e')" },
        { "{\"a\":nul", "invalid character ' ' in literal null (expecting 'l')" },
        { "{\"a\":\"b", "unexpected end of JSON input" },
        { "'a'", "invalid character '\\'' looking for beginning of value" },
        { "{\"a\":\n}", "invalid character '}' looking for beginning of value" },
        { "\"\\", "invalid character ' ' in string escape code" },
        { "{\"a\":[]}", "" },
        { "{\"a\":{\"b\":[1,2,{\"c\":null}]}}", "" },
        { "}", "invalid character '}' looking for beginning of value" },
        { "]", "invalid character ']' looking for beginning of value" },
        { "{]", "invalid character ']' looking for beginning of object key string" },
        { "[}", "invalid character '}' looking for beginning of value" },
        { "\303\251", "invalid character '\303\203' looking for beginning of value" },
        { "{\"a\":.5}", "invalid character '.' looking for beginning of value" },
        { "{\"a\":+1}", "invalid character '+' looking for beginning of value" },
        { "{\"a\":-1.5E+10}", "" },
        { "{\"a\":\177}", "invalid character '\\x7f' looking for beginning of value" },
        { "{,}", "invalid character ',' looking for beginning of object key string" },
        { "tx", "invalid character 'x' in literal true (expecting 'r')" },
        { "-", "invalid character ' ' in numeric literal" },
        { "-1", "json: cannot unmarshal number into Go value of type map[string]interface {}" },
        { "\\", "invalid character '\\\\' looking for beginning of value" },
        { "{\"a\":\"\\u00e9\"}", "" },
    };
    check(rows, sizeof rows / sizeof rows[0], kt_go_json_check_map);
}
