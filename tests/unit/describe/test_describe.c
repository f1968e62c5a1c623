/* Objects as kubectl describe shows them. The end-to-end cases compare with kubectl itself. */
#include "cli/describe/describe.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    DOCS_MAX = 8
};

static yyjson_doc *docs[DOCS_MAX];
static size_t doc_count;

static int free_docs(void **state) {
    (void)state;
    while (doc_count)
        yyjson_doc_free(docs[--doc_count]);
    return 0;
}
#define DESCRIBE_TEST(name) TEST_WITH(NULL, free_docs, name)

/* Parses JSON with ' in place of ". Lives until the end of the test. */
static yyjson_val *json(const char *text) {
    char *copy = strdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    docs[doc_count] = yyjson_read(copy, strlen(copy), 0);
    free(copy);
    assert_non_null(docs[doc_count]);
    return yyjson_doc_get_root(docs[doc_count++]);
}

static void assert_described(const description *d, const char *expected) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    sheet s;
    assert_non_null(out);
    sheet_open(&s);
    describe_object(d, &s);
    assert_true(sheet_close(&s, out));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_sheet(const char *text, const char *expected) {
    char *printed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&printed, &size);
    sheet s;
    assert_non_null(out);
    sheet_open(&s);
    sheet_write(&s, 0, "%s", text);
    assert_true(sheet_close(&s, out));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(printed, expected);
    free(printed);
}

TEST(columns_end_where_a_line_has_none) {
    assert_sheet("a:\tb\nlonger:\tc\nd\ne:\tf\n", "a:       b\nlonger:  c\nd\ne:  f\n");
    assert_sheet("a\tb\tc\naa\tbbbb\tc\na\tb\n", "a   b     c\naa  bbbb  c\na   b\n");
    assert_sheet("\tx\na:\ty\n\n", "    x\na:  y\n\n");
    assert_sheet("\303\274\tx\nab\ty\n", "\303\274   x\nab  y\n");
    assert_sheet("", "");
}

TEST(what_a_server_sends_does_not_drive_a_terminal) {
    assert_sheet("a\033[31m\tb\nc\rd\a\302\205\342\200\256e\tf\n", "a^[[31m      b\nc\\rd??????e  f\n");
}

DESCRIBE_TEST(an_object_of_another_kind_is_shown_by_its_fields) {
    description d = { .object = json("{'apiVersion':'example.com/v1','kind':'Chair','metadata':{'name':'a','namespace':"
                                     "'n','uid':'u','labels':{'y':'2','x':'1'},'managedFields':[{}]},'spec':{'podIPs':["
                                     "'b',1.5,[1,{'b':null,'a':true}]],'HTTPGet':{'someURL':'u'},'a.b':'c','list':[{'x'"
                                     ":1,'y':{}}],'my-name':''}}"),
                      .shows_events = true };
    assert_described(&d, "Name:         a\n"
                         "Namespace:    n\n"
                         "Labels:       x=1\n"
                         "              y=2\n"
                         "Annotations:  <none>\n"
                         "API Version:  example.com/v1\n"
                         "Kind:         Chair\n"
                         "Metadata:\n"
                         "  UID:  u\n"
                         "Spec:\n"
                         "  HTTPGet:\n"
                         "    Some URL:  u\n"
                         "  a.b:         c\n"
                         "  List:\n"
                         "    X:  1\n"
                         "    Y:\n"
                         "  My - Name:  \n"
                         "  Pod I Ps:\n"
                         "    b\n"
                         "    1.5\n"
                         "    [1 map[a:true b:<nil>]]\n"
                         "Events:  <none>\n");
}

DESCRIBE_TEST(events_are_in_the_order_of_their_last_times) {
    yyjson_val *events[] = {
        json("{'type':'Normal','reason':'B','message':' two\\n','count':3,'firstTimestamp':'2024-01-01T00:00:00Z',"
             "'lastTimestamp':'2024-01-01T00:59:00Z','source':{'component':'kubelet'},'involvedObject':{'fieldPath':"
             "'spec'}}"),
        json("{'type':'Warning','reason':'A','message':'one','reportingComponent':'r','eventTime':"
             "'2024-01-01T00:00:00.000000Z','lastTimestamp':null}"),
    };
    description d = { .object = json("{'apiVersion':'v1','kind':'Lease','metadata':{'name':'a'}}"),
                      .shows_events = true,
                      .now_ms = INT64_C(1704070800000), /* 2024-01-01T01:00:00Z */
                      .events = { events, 2 } };
    assert_described(&d, "Name:         a\n"
                         "Namespace:    \n"
                         "Labels:       <none>\n"
                         "Annotations:  <none>\n"
                         "API Version:  v1\n"
                         "Kind:         Lease\n"
                         "Metadata:\n"
                         "Events:\n"
                         "  Type     Reason  Age                From     Message\n"
                         "  ----     ------  ----               ----     -------\n"
                         "  Warning  A       60m                r        one\n"
                         "  Normal   B       60s (x3 over 60m)  kubelet  spec: two\n");
}

DESCRIBE_TEST(a_pod_without_anything_has_its_sections) {
    description d = { .object = json("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a','namespace':'n'},'spec':{"
                                     "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'},"
                                     "'limits':{'cpu':'1000m'}}}]},'status':{'phase':'Pending'}}") };
    assert_described(&d, "Name:         a\n"
                         "Namespace:    n\n"
                         "Node:         <none>\n"
                         "Labels:       <none>\n"
                         "Annotations:  <none>\n"
                         "Status:       Pending\n"
                         "IP:           \n"
                         "IPs:          <none>\n"
                         "Containers:\n"
                         "  c:\n"
                         "    Image:      i\n"
                         "    Port:       <none>\n"
                         "    Host Port:  <none>\n"
                         "    Limits:\n"
                         "      cpu:  1\n"
                         "    Requests:\n"
                         "      cpu:        1\n"
                         "    Environment:  <none>\n"
                         "    Mounts:       <none>\n"
                         "Volumes:          <none>\n"
                         "QoS Class:        Burstable\n"
                         "Node-Selectors:   <none>\n"
                         "Tolerations:      <none>\n");
}
