/* texts.c: see texts.h. */
#include "testing/faults/texts.h"

const char *kt_fault_garbage(size_t which) {
    static const char *const texts[] = {
        "<html>a proxy's page</html>",
        "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"rows\":[]}",
        "[]",
        "{\"type\":\"ADDED\"}\n",
        "{\"items\":[{\"metadata\":{\"name\":\"cm-1\"",
        "\xff\xfe\n\n\n",
    };
    return texts[which % (sizeof texts / sizeof *texts)];
}

const char *kt_fault_bad_event(size_t which) {
    static const char *const texts[] = {
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{}}}\n",
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}}\n",
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"cm-1\","
        "\"namespace\":\"ns0\",\"uid\":\"x\",\"resourceVersion\":\"1\"}}}\n",
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"cm-"
        "1\",\"namespace\":\"ns0\",\"uid\":7,\"resourceVersion\":\"12\",]}}\n",
    };
    return texts[which % (sizeof texts / sizeof *texts)];
}
