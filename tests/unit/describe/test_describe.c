/* Objects as kubectl describe shows them. The end-to-end cases compare with kubectl itself. */
#include "cli/describe/describe.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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

TEST(columns_beyond_the_64th_are_not_aligned) {
    char tabs[64], text[200], expected[400];
    memset(tabs, '\t', sizeof tabs);
    snprintf(text, sizeof text, "%.63sa\tx\naa%.63s\tx\n", tabs, tabs);
    snprintf(expected, sizeof expected, "%128sa  x\naa%129sx\n", "", "");
    assert_sheet(text, expected);
    snprintf(text, sizeof text, "%.64sa\tx\n%.64saa\tx\n", tabs, tabs);
    snprintf(expected, sizeof expected, "%128sa  x\n%128saa  x\n", "", "");
    assert_sheet(text, expected);
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

DESCRIBE_TEST(a_node_has_the_sums_of_its_pods) {
    yyjson_val *pods[] = {
        json("{'metadata':{'namespace':'n','name':'a','creationTimestamp':'2024-01-01T00:59:00Z'},'spec':{"
             "'initContainers':[{'name':'i','resources':{'requests':{'cpu':'2'}}},{'name':'s','restartPolicy':'Always',"
             "'resources':{'requests':{'cpu':'100m','memory':'1Mi'}}}],'containers':[{'name':'c','resources':{"
             "'requests':{'cpu':'500m','memory':'1Gi'},'limits':{'memory':'2Gi'}}}]}}"),
        json("{'metadata':{'namespace':'n','name':'b','creationTimestamp':'2024-01-01T00:00:00Z'},'spec':{'containers':"
             "[{'name':'c','resources':{'requests':{'cpu':'1','x/y':'2'}}}]},'status':{'containerStatuses':[{'name':"
             "'c','resources':{'requests':{'cpu':'1500m'}}}]}}"),
    };
    description d = { .object = json("{'apiVersion':'v1','kind':'Node','metadata':{'name':'a','labels':{"
                                     "'node-role.kubernetes.io/w':''}},'status':{'capacity':{'cpu':'4','memory':'8Gi',"
                                     "'x/y':'3'}}}"),
                      .now_ms = INT64_C(1704070800000), /* 2024-01-01T01:00:00Z */
                      .related = { pods, 2 },
                      .lease_failure = "why" };
    assert_described(
        &d, "Name:               a\n"
            "Roles:              w\n"
            "Labels:             node-role.kubernetes.io/w=\n"
            "Annotations:        <none>\n"
            "CreationTimestamp:  Mon, 01 Jan 0001 00:00:00 +0000\n"
            "Taints:             <none>\n"
            "Unschedulable:      false\n"
            "Lease:              Failed to get lease: why\n"
            "Addresses:\n"
            "Capacity:\n"
            "  cpu:     4\n"
            "  memory:  8Gi\n"
            "  x/y:     3\n"
            "System Info:\n"
            "  Machine ID:                 \n"
            "  System UUID:                \n"
            "  Boot ID:                    \n"
            "  Kernel Version:             \n"
            "  OS Image:                   \n"
            "  Operating System:           \n"
            "  Architecture:               \n"
            "  Container Runtime Version:  \n"
            "  Kubelet Version:            \n"
            "Non-terminated Pods:          (2 in total)\n"
            "  Namespace                   Name    CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age\n"
            "  ---------                   ----    ------------  ----------  ---------------  -------------  ---\n"
            "  n                           a       2 (50%)       0 (0%)      1025Mi (12%)     2Gi (25%)      60s\n"
            "  n                           b       1500m (37%)   0 (0%)      0 (0%)           0 (0%)         60m\n"
            "Allocated resources:\n"
            "  (Total limits may be over 100 percent, i.e., overcommitted.)\n"
            "  Resource           Requests      Limits\n"
            "  --------           --------      ------\n"
            "  cpu                3 (75%)       0 (0%)\n"
            "  memory             1025Mi (12%)  2Gi (25%)\n"
            "  ephemeral-storage  0 (0%)        0 (0%)\n"
            "  x/y                2             0\n");
}

#define REPLICA_SET(name, second, owner, image) \
    json("{'metadata':{'name':'" name "','creationTimestamp':'2024-01-01T00:00:0" second \
         "Z','ownerReferences':[{'uid':'" owner "','controller':true}]},'spec':{'replicas':2,'template':{'spec':{" \
         "'containers':[{'image':'" image "','name':'c'}]},'metadata':{'labels':{'pod-template-hash':'" name \
         "','a':'b'}}}},'status':{'replicas':1}}")

DESCRIBE_TEST(a_deployment_has_its_replica_sets) {
    yyjson_val *sets[] = { REPLICA_SET("d", "4", "u", "i"), REPLICA_SET("c", "3", "u", "i"),
                           REPLICA_SET("b", "2", "u", "old"), REPLICA_SET("a", "1", "other", "i") };
    description d = { .object =
                          json("{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'a','namespace':"
                               "'n','uid':'u'},'spec':{'replicas':2,'selector':{'matchExpressions':[{'key':'a',"
                               "'operator':'In','values':['c','b']}]},'strategy':{'type':'Recreate'},'template':{"
                               "'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}"
                               "}"),
                      .related = { sets, 4 } };
    assert_described(&d, "Name:               a\n"
                         "Namespace:          n\n"
                         "CreationTimestamp:  Mon, 01 Jan 0001 00:00:00 +0000\n"
                         "Labels:             <none>\n"
                         "Annotations:        <none>\n"
                         "Selector:           a in (b,c)\n"
                         "Replicas:           2 desired | 0 updated | 0 total | 0 available | 0 unavailable\n"
                         "StrategyType:       Recreate\n"
                         "MinReadySeconds:    0\n"
                         "Pod Template:\n"
                         "  Labels:  a=b\n"
                         "  Containers:\n"
                         "   c:\n"
                         "    Image:         i\n"
                         "    Port:          <none>\n"
                         "    Host Port:     <none>\n"
                         "    Environment:   <none>\n"
                         "    Mounts:        <none>\n"
                         "  Volumes:         <none>\n"
                         "  Node-Selectors:  <none>\n"
                         "  Tolerations:     <none>\n"
                         "OldReplicaSets:    b (1/2 replicas created), d (1/2 replicas created)\n"
                         "NewReplicaSet:     c (1/2 replicas created)\n");
}

DESCRIBE_TEST(a_replica_set_without_a_template_is_an_old_one) {
    yyjson_val *sets[] = { json("{'metadata':{'name':'s','ownerReferences':[{'uid':'u','controller':true}]}}") };
    description d = { .object = json("{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'uid':'u'},'spec':{"
                                     "'template':{'spec':{}}}}"),
                      .related = { sets, 1 } };
    assert_described(&d, "Name:               \n"
                         "Namespace:          \n"
                         "CreationTimestamp:  Mon, 01 Jan 0001 00:00:00 +0000\n"
                         "Labels:             <none>\n"
                         "Annotations:        <none>\n"
                         "Selector:           \n"
                         "Replicas:           0 desired | 0 updated | 0 total | 0 available | 0 unavailable\n"
                         "StrategyType:       \n"
                         "MinReadySeconds:    0\n"
                         "Pod Template:\n"
                         "  Labels:  <none>\n"
                         "  Containers: <none>\n"
                         "  Volumes:         <none>\n"
                         "  Node-Selectors:  <none>\n"
                         "  Tolerations:     <none>\n"
                         "OldReplicaSets:    s (0/0 replicas created)\n"
                         "NewReplicaSet:     <none>\n");
}

DESCRIBE_TEST(a_service_has_its_first_endpoints) {
    yyjson_val *slices[] = {
        json("{'ports':[{'name':'x','port':8080},{'name':'y','port':9}],'endpoints':[{'addresses':['10.0.0.1']},{"
             "'addresses':['10.0.0.2'],'conditions':{'ready':false}},{'addresses':['10.0.0.3']}]}"),
        json("{'ports':[{'name':'x','port':8080}],'endpoints':[{'addresses':['fd00::1']},{'addresses':['fd00::2']}]}"),
    };
    description d = { .object = json("{'apiVersion':'v1','kind':'Service','metadata':{'name':'a','namespace':'n'},"
                                     "'spec':{'type':'ClusterIP','ports':[{'name':'x','port':80,'protocol':'TCP',"
                                     "'targetPort':'http'}],'sessionAffinity':'None'}}"),
                      .related = { slices, 2 } };
    assert_described(&d, "Name:              a\n"
                         "Namespace:         n\n"
                         "Labels:            <none>\n"
                         "Annotations:       <none>\n"
                         "Selector:          <none>\n"
                         "Type:              ClusterIP\n"
                         "IP Families:       <none>\n"
                         "IP:                \n"
                         "IPs:               <none>\n"
                         "Port:              x  80/TCP\n"
                         "TargetPort:        http/TCP\n"
                         "Endpoints:         10.0.0.1:8080,10.0.0.3:8080,[fd00::1]:8080 + 1 more...\n"
                         "Session Affinity:  None\n");
}

DESCRIBE_TEST(a_secret_is_shown_without_its_values) {
    description d = { .object =
                          json("{'apiVersion':'v1','kind':'Secret','metadata':{'name':'a','namespace':'n'},'type':"
                               "'Opaque','data':{'b':'YWJj','a':''}}"),
                      .shows_events = true };
    assert_described(&d, "Name:         a\n"
                         "Namespace:    n\n"
                         "Labels:       <none>\n"
                         "Annotations:  <none>\n"
                         "\n"
                         "Type:  Opaque\n"
                         "\n"
                         "Data\n"
                         "====\n"
                         "a:  0 bytes\n"
                         "b:  3 bytes\n");
}

/* Returns the content of a file, to be freed. */
static char *read_file(const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *in = fopen(path, "re"), *out = open_memstream(&text, &size);
    assert_non_null(in);
    for (int c = getc(in); c != EOF; c = getc(in))
        putc(c, out);
    fclose(in);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* The files are a pod of a real server, and what kubectl 1.37 prints for it. */
DESCRIBE_TEST(a_pod_with_everything_is_shown_as_kubectl_shows_it) {
    char *object = read_file(KI_TEST_DATA_DIR "/describe/pod.json");
    char *expected = read_file(KI_TEST_DATA_DIR "/describe/pod.described");
    docs[doc_count] = yyjson_read(object, strlen(object), 0);
    assert_non_null(docs[doc_count]);
    description d = { .object = yyjson_doc_get_root(docs[doc_count++]) };
    setenv("TZ", "UTC", 1);
    tzset();
    assert_described(&d, expected);
    free(object);
    free(expected);
}
