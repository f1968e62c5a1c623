/* test_accept.c: Accept and Accept-Encoding. */
#include "status/http/accept.h"
#include "tests/support/test.h"

TEST(gzip_is_accepted_by_name_with_a_weight) {
    static const struct {
        const char *header;
        bool accepted;
    } rows[] = {
        { NULL, false },           { "", false },          { "gzip", true },           { "br, gzip", true },
        { "gzip;q=0", false },     { "gzip;q=0.5", true }, { "GZIP", true },           { "gzip;q=0.000", false },
        { "gzip; q=0.001", true }, { "*", false },         { "xgzip,deflate", false }, { "identity", false },
        { "gzip;q=x", false },     { "gzip;q=", false },   { "gzip;q=1.0", true }
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(ki_http_accepts_gzip(rows[i].header), rows[i].accepted);
}

TEST(a_name_has_its_largest_weight) {
    static const char prometheus[] =
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;"
        "version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/"
        "*;q=0.2";
    static const struct {
        const char *header, *name;
        int weight;
    } rows[] = {
        { prometheus, "application/openmetrics-text", 600 },
        { prometheus, "text/plain", 400 },
        { prometheus, "text/html", 0 },
        { "text/plain ; q=0.25 , text/plain", "text/plain", 1000 },
        { "text/plain;q=7", "text/plain", 1000 },
        { "text/plain;q=0.12345", "text/plain", 123 },
        { "text/plain;version=0.0.4", "text/plain", 1000 },
        { ",,;q=1,", "text/plain", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(ki_http_weight(rows[i].header, rows[i].name), rows[i].weight);
}
