/* test_validate_object.c: what the embedded server refuses of built-in kinds, in the real server's words. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "src/base/memory.h"

#include <stdio.h>
#include <string.h>

#define CORE "/api/v1/namespaces/default/"
#define APPS "/apis/apps/v1/namespaces/default/"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define CRON_JOBS "/apis/batch/v1/namespaces/default/cronjobs"
#define INGRESSES "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"

#define OBJECT(spec) "{\"metadata\":{\"name\":\"x\"},\"spec\":{" spec "}}"
#define CONTAINER "{\"name\":\"c\",\"image\":\"i\"}"
#define POD(more) OBJECT("\"containers\":[" CONTAINER "]" more)
#define SELECTOR "\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
#define TEMPLATE "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[" CONTAINER "]}}"
#define RUNS_ONCE \
    "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":" \
    "[" CONTAINER "]}}"

#define CRON(schedule) OBJECT("\"schedule\":\"" schedule "\",\"jobTemplate\":{\"spec\":{" RUNS_ONCE "}}")
#define RULE(path) OBJECT("\"rules\":[{\"http\":{\"paths\":[{" path "}]}}]")
#define BACKEND "\"backend\":{\"service\":{\"name\":\"s\",\"port\":{\"number\":80}}}"
#define CLAIM(modes, more) OBJECT("\"accessModes\":[" modes "],\"resources\":{\"requests\":{" more "}}")
#define CLAIMS CORE "persistentvolumeclaims"
#define CLAIM_CHANGED "spec: Forbidden: spec is immutable after creation except resources.requests and "
#define RESOURCES(text) OBJECT("\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{" text "}}]")
#define DOCKER(value) \
    "{\"metadata\":{\"name\":\"x\"},\"type\":\"kubernetes.io/" \
    "dockerconfigjson\",\"data\":{\".dockerconfigjson\":\"" value "\"}}"
#define REDACTED "data[.dockerconfigjson]: Invalid value: \\\"<secret contents redacted>\\\": "

/* Schedules, routes, claims, amounts and credentials: each message is a real server's. */
REST_TEST(objects_that_no_controller_could_use_are_rejected) {
    static const struct {
        const char *target, *body, *part;
    } cases[] = {
        { CRON_JOBS, CRON("x"),
          "CronJob.batch \\\"x\\\" is invalid: spec.schedule: Invalid value: \\\"x\\\": expected exactly 5 fields, "
          "found 1: [x]\"" },
        { CRON_JOBS, CRON("* * * * mon-abc"),
          "failed to parse int from abc: strconv.Atoi: parsing \\\"abc\\\": invalid" },
        { CRON_JOBS, CRON("TZ=UTC * * * * *"), "cannot use TZ or CRON_TZ in schedule, use timeZone field instead" },
        { CRON_JOBS, OBJECT("\"jobTemplate\":{\"spec\":{" RUNS_ONCE "}}"), "spec.schedule: Required value\"" },
        { CRON_JOBS, OBJECT("\"schedule\":\"@daily\",\"jobTemplate\":{\"spec\":{" TEMPLATE "}}"),
          "spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: \\\"OnFailure\\\", "
          "\\\"Never\\\"" },
        { CRON_JOBS,
          OBJECT("\"schedule\":\"@daily\",\"concurrencyPolicy\":\"x\",\"jobTemplate\":{\"spec\":{" RUNS_ONCE "}}"),
          "spec.concurrencyPolicy: Unsupported value: \\\"x\\\": supported values: \\\"Allow\\\", \\\"Forbid\\\", "
          "\\\"Replace\\\"" },
        { INGRESSES, OBJECT(""),
          "Ingress.networking.k8s.io \\\"x\\\" is invalid: spec: Invalid value: null: either `defaultBackend` or "
          "`rules` must be specified\"" },
        { INGRESSES, OBJECT("\"rules\":[]"), "spec: Invalid value: []: either `defaultBackend` or `rules`" },
        { INGRESSES, OBJECT("\"rules\":[{\"http\":{\"paths\":[]}}]"), "spec.rules[0].http.paths: Required value\"" },
        { INGRESSES, OBJECT("\"defaultBackend\":{}"),
          "spec.defaultBackend: Invalid value: \\\"\\\": resource or service backend is required" },
        { INGRESSES, OBJECT("\"rules\":[{\"host\":\"*.Bad\"}]"),
          "spec.rules[0].host: Invalid value: \\\"*.Bad\\\": a wildcard DNS-1123 subdomain must start with '*.'" },
        { INGRESSES, RULE("\"path\":\"/\"," BACKEND),
          "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified" },
        { INGRESSES, RULE("\"path\":\"x//y\",\"pathType\":\"Prefix\"," BACKEND),
          "[spec.rules[0].http.paths[0].path: Invalid value: \\\"x//y\\\": must be an absolute path, "
          "spec.rules[0].http.paths[0].path: Invalid value: \\\"x//y\\\": must not contain '//']" },
        { INGRESSES, RULE("\"path\":\"/\",\"pathType\":\"Exact\",\"backend\":{\"service\":{\"port\":{}}}"),
          "[spec.rules[0].http.paths[0].backend.service.name: Required value, spec.rules[0].http.paths[0].backend: "
          "Required value: port name or number is required]" },
        { CORE "persistentvolumeclaims", OBJECT(""),
          "PersistentVolumeClaim \\\"x\\\" is invalid: [spec.accessModes: Required value: at least 1 access mode is "
          "required, spec.resources[storage]: Required value]" },
        { CORE "persistentvolumeclaims", CLAIM("\"RWX\"", "\"storage\":\"0\""),
          "[spec.accessModes: Unsupported value: \\\"RWX\\\": supported values: \\\"ReadOnlyMany\\\", "
          "\\\"ReadWriteMany\\\", \\\"ReadWriteOnce\\\", \\\"ReadWriteOncePod\\\", spec.resources[storage]: Invalid "
          "value: \\\"0\\\": must be greater than zero]" },
        { CORE "persistentvolumeclaims", CLAIM("\"ReadWriteOnce\",\"ReadWriteOncePod\"", "\"storage\":\"1Gi\""),
          "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes" },
        { CORE "pods", RESOURCES("\"limits\":{\"cpu\":\"500m\"},\"requests\":{\"cpu\":2}"),
          "Pod \\\"x\\\" is invalid: spec.containers[0].resources.requests: Invalid value: \\\"2\\\": must be less "
          "than "
          "or equal to cpu limit of 500m\"" },
        { CORE "pods", RESOURCES("\"limits\":{\"memory\":\"1G\"},\"requests\":{\"memory\":\"1024Mi\"}"),
          "Invalid value: \\\"1Gi\\\": must be less than or equal to memory limit of 1G" },
        { CORE "pods", RESOURCES("\"limits\":{\"a.b/gpu\":\"2\"},\"requests\":{\"a.b/gpu\":\"1\"}"),
          "Invalid value: \\\"1\\\": must be equal to a.b/gpu limit of 2" },
        { CORE "pods", RESOURCES("\"requests\":{\"a.b/gpu\":\"1\"}"),
          "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources" },
        { CORE "pods", RESOURCES("\"limits\":{\"cpu\":\"-1\",\"cpus\":\"1\"}"),
          "[spec.containers[0].resources.limits[cpu]: Invalid value: \\\"-1\\\": must be greater than or equal to 0, "
          "spec.containers[0].resources.limits[cpus]: Invalid value: \\\"cpus\\\": must be a standard resource type or "
          "fully qualified, spec.containers[0].resources.limits[cpus]: Invalid value: \\\"cpus\\\": must be a standard "
          "resource for containers, spec.containers[0].resources.requests[cpu]: Invalid value: \\\"-1\\\"" },
        { CORE "secrets", DOCKER("bm90IGpzb24="), REDACTED "invalid character 'o' in literal null (expecting 'u')\"" },
        { CORE "secrets", DOCKER(""), REDACTED "unexpected end of JSON input" },
        { CORE "secrets", DOCKER("W10="),
          REDACTED "json: cannot unmarshal array into Go value of type map[string]interface {}" },
        { CORE "secrets",
          "{\"metadata\":{\"name\":\"x\"},\"type\":\"kubernetes.io/"
          "dockerconfigjson\",\"stringData\":{\".dockerconfigjson\":"
          "\"{\"}}",
          REDACTED "unexpected end of JSON input" },
        { CORE "secrets", "{\"metadata\":{\"name\":\"x\"},\"type\":\"kubernetes.io/dockercfg\"}",
          "data[.dockercfg]: Required value" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = rest_post(&server, cases[i].target, cases[i].body);
        if (status != 422 || !strstr(server.text.data, cases[i].part))
            fail_msg("%s: %d\n%s", cases[i].body, status, server.text.data);
    }
}

REST_TEST(what_is_required_or_wrong_is_rejected) {
    static const struct {
        const char *target, *body, *part;
    } cases[] = {
        { CORE "pods", "{\"metadata\":{\"name\":\"x\"}}",
          "Pod \\\"x\\\" is invalid: spec.containers: Required value\"" },
        { CORE "pods", OBJECT("\"containers\":[{\"image\":\"i\"}]"), "spec.containers[0].name: Required value\"" },
        { CORE "pods", OBJECT("\"containers\":[{\"name\":\"c\"}]"), "spec.containers[0].image: Required value\"" },
        { CORE "pods", OBJECT("\"containers\":[{\"name\":\"C_x\",\"image\":\"i\"}]"),
          "spec.containers[0].name: Invalid value: \\\"C_x\\\": a lowercase RFC 1123 label must consist of" },
        { CORE "pods", OBJECT("\"containers\":[" CONTAINER "," CONTAINER "]"),
          "spec.containers[1].name: Duplicate value: \\\"c\\\"\"" },
        { CORE "pods", POD(",\"initContainers\":[" CONTAINER "]"),
          "spec.initContainers[0].name: Duplicate value: \\\"c\\\"\"" },
        { CORE "pods",
          OBJECT("\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/"
                 "x\"}]}]"),
          "spec.containers[0].volumeMounts[0].name: Not found: \\\"v\\\"\"" },
        { CORE "pods",
          OBJECT("\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":0},{\"containerPort\":"
                 "70000,"
                 "\"protocol\":\"X\"}]}]"),
          "[spec.containers[0].ports[0].containerPort: Required value, spec.containers[0].ports[1].containerPort: "
          "Invalid "
          "value: 70000: must be between 1 and 65535, inclusive, spec.containers[0].ports[1].protocol: Unsupported "
          "value: \\\"X\\\": supported values: \\\"SCTP\\\", \\\"TCP\\\", \\\"UDP\\\"]" },
        { CORE "pods",
          OBJECT("\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"env\":[{\"value\":\"x\"},{\"name\":\"a=b\"}]}]"),
          "[spec.containers[0].env[0].name: Required value, spec.containers[0].env[1].name: Invalid value: "
          "\\\"a=b\\\": a "
          "valid environment variable name" },
        { CORE "pods", POD(",\"restartPolicy\":\"Bad\""),
          "spec.restartPolicy: Unsupported value: \\\"Bad\\\": supported values: \\\"Always\\\", \\\"OnFailure\\\", "
          "\\\"Never\\\"" },
        { CORE "pods", POD(",\"volumes\":[{\"name\":\"v\"},{\"name\":\"v\"}]"),
          "spec.volumes[1].name: Duplicate value: \\\"v\\\"" },
        { APPS "deployments", "{\"metadata\":{\"name\":\"x\"}}",
          "Deployment.apps \\\"x\\\" is invalid: [spec.selector: Required value, spec.template.metadata.labels: "
          "Invalid "
          "value: null: `selector` does not match template `labels`, spec.template.spec.containers: Required value]" },
        { APPS "deployments", OBJECT("\"selector\":{}," TEMPLATE),
          "spec.selector: Invalid value: {}: empty selector is invalid for deployment" },
        { APPS "deployments", OBJECT("\"selector\":{\"matchLabels\":{\"x\":\"y\"}}," TEMPLATE),
          "spec.template.metadata.labels: Invalid value: {\\\"a\\\":\\\"b\\\"}: `selector` does not match template "
          "`labels`" },
        { APPS "deployments",
          OBJECT("\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"b\"]}]}"
                 "," TEMPLATE),
          "`selector` does not match template `labels`" },
        { APPS "deployments", OBJECT("\"replicas\":-1," SELECTOR TEMPLATE),
          "spec.replicas: Invalid value: -1: must be greater than or equal to 0" },
        { APPS "deployments", OBJECT(SELECTOR RUNS_ONCE),
          "spec.template.spec.restartPolicy: Unsupported value: \\\"Never\\\": supported values: \\\"Always\\\"" },
        { APPS "deployments", OBJECT(SELECTOR TEMPLATE ",\"strategy\":{\"type\":\"Recreate\",\"rollingUpdate\":{}}"),
          "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'" },
        { APPS "daemonsets", OBJECT(TEMPLATE), "DaemonSet.apps \\\"x\\\" is invalid: spec.template.metadata.labels" },
        { APPS "replicasets", OBJECT(TEMPLATE), "[spec.selector: Required value, spec.template.metadata.labels" },
        { APPS "statefulsets", OBJECT(SELECTOR "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
          "spec.template.spec.containers: Required value" },
        { JOBS, OBJECT(TEMPLATE),
          "spec.template.spec.restartPolicy: Required value: valid values: \\\"OnFailure\\\", \\\"Never\\\"" },
        { CORE "services", OBJECT(""), "Service \\\"x\\\" is invalid: spec.ports: Required value\"" },
        { CORE "services", OBJECT("\"ports\":[{\"port\":1},{\"port\":2}]"),
          "[spec.ports[0].name: Required value, spec.ports[1].name: Required value]" },
        { CORE "services", OBJECT("\"type\":\"Bad\",\"ports\":[{\"port\":1}]"),
          "spec.type: Unsupported value: \\\"Bad\\\"" },
        { CORE "services", OBJECT("\"type\":\"ExternalName\""), "spec.externalName: Required value\"" },
        { CORE "configmaps", "{\"metadata\":{\"name\":\"x\"},\"data\":{\"a b\":\"\",\"..\":\"\"}}",
          "[data[a b]: Invalid value: \\\"a b\\\": a valid config key must consist of" },
        { CORE "secrets", "{\"metadata\":{\"name\":\"x\"},\"type\":\"kubernetes.io/tls\"}",
          "[data[tls.crt]: Required value, data[tls.key]: Required value]" },
        { "/apis/coordination.k8s.io/v1/namespaces/default/leases",
          OBJECT("\"leaseDurationSeconds\":0,\"leaseTransitions\":-1"),
          "[spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: Invalid value: "
          "-1: must be greater than or equal to 0]" },
        { "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", "{\"metadata\":{\"name\":\"x\"}}",
          "[roleRef.kind: Unsupported value: \\\"\\\": supported values: \\\"Role\\\", \\\"ClusterRole\\\", "
          "roleRef.name: "
          "Required value]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = rest_post(&server, cases[i].target, cases[i].body);
        if (status != 422)
            print_error("%s: %d\n%s\n", cases[i].body, status, server.text.data);
        assert_int_equal(status, 422);
        assert_true(rest_has(&server, cases[i].part));
    }
}

REST_TEST(what_is_right_is_taken) {
    static const char *const cases[][2] = {
        { APPS "deployments",
          OBJECT("\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\"]},{"
                 "\"key\":\"z\",\"operator\":\"DoesNotExist\"}]}," TEMPLATE) },
        { APPS "statefulsets",
          OBJECT(
              SELECTOR
              "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"v\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
              "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}],\"template\":{\"metadata\":{"
              "\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"volumeMounts\":[{"
              "\"name\":\"v\",\"mountPath\":\"/x\"}]}]}}") },
        { JOBS, OBJECT(RUNS_ONCE) },
        { CRON_JOBS, CRON("*/5 0-6/2 ? jan,feb MON-FRI") },
        { INGRESSES, RULE("\"path\":\"/a\",\"pathType\":\"Prefix\"," BACKEND) },
        { CORE "persistentvolumeclaims", CLAIM("\"ReadWriteOnce\"", "\"storage\":\"1Gi\"") },
        { CORE "pods?dryRun=All",
          RESOURCES("\"limits\":{\"cpu\":\"1\",\"a.b/gpu\":1},\"requests\":{\"cpu\":\"1000m\",\"a.b/gpu\":1}") },
        { CORE "secrets", DOCKER("e30=") },
        { CORE "services", OBJECT("\"clusterIP\":\"None\"") },
        { CORE "pods", POD(",\"volumes\":[{\"name\":\"v\"}],\"restartPolicy\":\"OnFailure\"") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (rest_post(&server, cases[i][0], cases[i][1]) != 201)
            fail_msg("%s: %s", cases[i][1], server.text.data);
    }
}

REST_TEST(what_may_not_change_stays) {
    static const char *const objects[][2] = {
        { CORE "pods", POD("") },
        { APPS "deployments", OBJECT(SELECTOR TEMPLATE) },
        { APPS "statefulsets", OBJECT(SELECTOR TEMPLATE) },
        { JOBS, OBJECT("\"completions\":1," RUNS_ONCE) },
        { CORE "services", OBJECT("\"ports\":[{\"port\":80}]") },
        { CORE "configmaps", "{\"metadata\":{\"name\":\"x\"},\"immutable\":true,\"data\":{\"a\":\"1\"}}" },
        { CORE "secrets", "{\"metadata\":{\"name\":\"x\"},\"immutable\":true,\"data\":{\"a\":\"YQ==\"}}" },
        { "/apis/scheduling.k8s.io/v1/priorityclasses", "{\"metadata\":{\"name\":\"x\"},\"value\":1}" },
        { CLAIMS, CLAIM("\"ReadWriteOnce\"", "\"storage\":\"1Gi\"") },
        { "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
          "{\"metadata\":{\"name\":\"x\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\","
          "\"name\":\"r\"}}" },
    };
    static const struct {
        const char *target, *type, *patch;
        const char *part; /* NULL: it is taken */
    } cases[] = {
        { CORE "pods/x", STRATEGIC, "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"j\"}]}}", NULL },
        { CORE "pods/x", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL },
        { CORE "pods/x", MERGE, "{\"spec\":{\"activeDeadlineSeconds\":5}}", NULL },
        { CORE "pods/x", MERGE, "{\"spec\":{\"tolerations\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}}", NULL },
        { CORE "pods/x", MERGE, "{\"spec\":{\"nodeName\":\"n\"}}",
          "Pod \\\"x\\\" is invalid: spec: Forbidden: pod updates may not change fields other than "
          "`spec.containers[*].image`" },
        { CORE "pods/x", STRATEGIC, "{\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"A\"}]}]}}",
          "pod updates may not change fields" },
        { CORE "pods/x", STRATEGIC, "{\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":\"j\"}]}}",
          "spec.containers: Forbidden: pod updates may not add or remove containers" },
        { CORE "pods/x/status", MERGE, "{\"status\":{\"phase\":\"Running\"}}", NULL },
        { APPS "deployments/x", MERGE, "{\"spec\":{\"replicas\":3}}", NULL },
        { APPS "deployments/x", MERGE,
          "{\"spec\":{\"selector\":{\"matchLabels\":{\"z\":\"z\"}},\"template\":{\"metadata\":{\"labels\":{\"z\":\"z\"}"
          "}}}}",
          "spec.selector: Invalid value: {\\\"matchLabels\\\":{\\\"a\\\":\\\"b\\\",\\\"z\\\":\\\"z\\\"}}: field is "
          "immutable" },
        { APPS "statefulsets/x", MERGE, "{\"spec\":{\"replicas\":3}}", NULL },
        { APPS "statefulsets/x", MERGE, "{\"spec\":{\"serviceName\":\"s\"}}",
          "StatefulSet.apps \\\"x\\\" is invalid: spec.serviceName: Invalid value: \\\"s\\\": field is immutable" },
        { APPS "statefulsets/x", MERGE, "{\"spec\":{\"podManagementPolicy\":\"Parallel\"}}",
          "spec.podManagementPolicy: Invalid value: \\\"Parallel\\\": field is immutable" },
        { JOBS "/x", MERGE, "{\"spec\":{\"completions\":5}}",
          "spec.completions: Invalid value: 5: field is immutable" },
        { JOBS "/x", MERGE, "{\"spec\":{\"suspend\":true}}", NULL },
        { CORE "services/x", MERGE, "{\"spec\":{\"clusterIP\":\"10.0.0.99\"}}",
          "spec.clusterIPs[0]: Invalid value: [\\\"10.0.0.99\\\"]: may not change once set" },
        { CORE "services/x", MERGE, "{\"spec\":{\"clusterIP\":null,\"clusterIPs\":null}}", NULL },
        { CORE "configmaps/x", MERGE, "{\"data\":{\"a\":\"2\"}}",
          "ConfigMap \\\"x\\\" is invalid: data: Forbidden: field is immutable when `immutable` is set" },
        { CORE "configmaps/x", MERGE, "{\"immutable\":null,\"data\":{\"a\":\"2\"}}",
          "[immutable: Forbidden: field is immutable when `immutable` is set, data: Forbidden" },
        { CORE "configmaps/x", MERGE, "{\"binaryData\":{\"z\":\"YQ==\"}}",
          "binaryData: Forbidden: field is immutable" },
        { CORE "configmaps/x", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL },
        { CORE "secrets/x", MERGE, "{\"data\":{\"b\":\"YQ==\"}}", "data: Forbidden: field is immutable when" },
        { CORE "secrets/x", MERGE, "{\"type\":\"x\"}", "type: Invalid value: \\\"x\\\": field is immutable" },
        { CLAIMS "/x", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL },
        { CLAIMS "/x", MERGE, "{\"spec\":{\"accessModes\":[\"ReadOnlyMany\"]}}", CLAIM_CHANGED },
        { CLAIMS "/x", MERGE, "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}", CLAIM_CHANGED },
        { CLAIMS "/x", MERGE, "{\"spec\":{\"volumeName\":\"v\",\"storageClassName\":\"fast\"}}", NULL },
        { CLAIMS "/x", MERGE, "{\"spec\":{\"volumeName\":\"w\"}}", CLAIM_CHANGED },
        { CLAIMS "/x", MERGE, "{\"spec\":{\"storageClassName\":null}}", CLAIM_CHANGED },
        { CLAIMS "/x/status", MERGE, "{\"status\":{\"phase\":\"Bound\"}}", NULL },
        { CLAIMS "/x", MERGE, "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}", NULL },
        { CLAIMS "/x", MERGE, "{\"spec\":{\"resources\":{\"limits\":{\"storage\":\"2Gi\"}}}}", CLAIM_CHANGED },
        { CLAIMS "/x", MERGE, "{\"spec\":{\"volumeMode\":\"Block\"}}", CLAIM_CHANGED },
        { "/apis/scheduling.k8s.io/v1/priorityclasses/x", MERGE, "{\"value\":2}",
          "value: Forbidden: may not be changed in an update." },
        { "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/x", MERGE,
          "{\"roleRef\":{\"name\":\"s\"}}",
          "roleRef: Invalid value: "
          "{\\\"APIGroup\\\":\\\"rbac.authorization.k8s.io\\\",\\\"Kind\\\":\\\"Role\\\",\\\"Name\\\":"
          "\\\"s\\\"}: field is immutable" },
    };
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        if (rest_post(&server, objects[i][0], objects[i][1]) != 201)
            fail_msg("%s: %s", objects[i][1], server.text.data);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = rest_send(&server, "PATCH", cases[i].target, cases[i].type, cases[i].patch);
        if (status != (cases[i].part ? 422 : 200))
            fail_msg("%s %s: %d %s", cases[i].target, cases[i].patch, status, server.text.data);
        if (cases[i].part)
            assert_true(rest_has(&server, cases[i].part));
    }
}

REST_TEST(an_object_that_came_without_a_request_may_be_changed_as_it_is) {
    static const char json[] =
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\"},\"spec\":{\"nodeName\":\"n\"}}";
    static const char whole[] =
        "{\"metadata\":{\"name\":\"q\",\"namespace\":\"default\"},\"spec\":{\"containers\":[" CONTAINER "]}}";
    assert_int_equal(kt_cluster_put_json(server.cluster, KI_PODS, ki_str_of(json), server.now_ms, NULL, NULL), KI_OK);
    assert_int_equal(kt_cluster_put_json(server.cluster, KI_PODS, ki_str_of(whole), server.now_ms, NULL, NULL), KI_OK);
    assert_int_equal(rest_send(&server, "PATCH", CORE "pods/p", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                     200);
    assert_int_equal(rest_send(&server, "PATCH", CORE "pods/q", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                     200);
    assert_int_equal(rest_send(&server, "PATCH", CORE "pods/q", MERGE, "{\"spec\":{\"nodeName\":\"n\"}}"), 422);
}

REST_TEST(very_many_wrong_containers_are_rejected_in_time) {
    ki_buffer body;
    ki_buffer_init(&body, &ki_allocator_default, 0);
    ki_buffer_append_string(&body, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{}");
    for (size_t i = 0; i < 200 * 1000; i++)
        ki_buffer_append_string(&body, ",{\"name\":\"c\"}");
    ki_buffer_append_string(&body, "]}}");
    assert_int_equal(rest_post(&server, CORE "pods", body.data), 422);
    assert_true(server.text.size < 64 * 1024);
    ki_buffer_free(&body);
}
