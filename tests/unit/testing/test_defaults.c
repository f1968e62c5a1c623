/* test_defaults.c: the default values of the server, as a real server sets them. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "src/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON "application/json"
#define CORE "/api/v1/namespaces/default/"
#define APPS "/apis/apps/v1/namespaces/default/"
#define POD(spec) "{\"metadata\":{\"name\":\"x\"},\"spec\":{" spec "}}"
#define CONTAINER(more) POD("\"containers\":[{\"name\":\"c\"," more "}]")
#define TEMPLATE \
    "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}" \
    "]}}"

REST_TEST(objects_get_what_a_real_server_fills_in) {
    static const struct {
        const char *target, *body;
        const char *parts[4];
    } rows[] = {
        { CORE "pods",
          CONTAINER("\"image\":\"nginx\""),
          { "\"imagePullPolicy\":\"Always\"", "\"terminationMessagePath\":\"/dev/termination-log\"", "\"resources\":{}",
            "\"qosClass\":\"BestEffort\"" } },
        { CORE "pods", CONTAINER("\"image\":\"nginx:1.2\""), { "\"imagePullPolicy\":\"IfNotPresent\"" } },
        { CORE "pods", CONTAINER("\"image\":\"nginx:latest\""), { "\"imagePullPolicy\":\"Always\"" } },
        { CORE "pods", CONTAINER("\"image\":\"reg:5000/nginx\""), { "\"imagePullPolicy\":\"Always\"" } },
        { CORE "pods", CONTAINER("\"image\":\"nginx@sha256:00\""), { "\"imagePullPolicy\":\"IfNotPresent\"" } },
        { CORE "pods",
          CONTAINER("\"image\":\"nginx\",\"imagePullPolicy\":\"Never\""),
          { "\"imagePullPolicy\":\"Never\"" } },
        { CORE "pods",
          CONTAINER("\"image\":\"i\",\"ports\":[{\"containerPort\":80},{\"containerPort\":53,\"protocol\":\"UDP\"}]"),
          { "{\"containerPort\":80,\"protocol\":\"TCP\"},{\"containerPort\":53,\"protocol\":\"UDP\"}" } },
        { CORE "pods",
          CONTAINER("\"image\":\"i\",\"livenessProbe\":{\"httpGet\":{\"port\":80}},\"readinessProbe\":{"
                    "\"periodSeconds\":3,\"grpc\":{"
                    "\"port\":1}}"),
          { "\"httpGet\":{\"port\":80,\"path\":\"/\",\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":10,"
            "\"successThreshold\":1,\"failureThreshold\":3",
            "\"grpc\":{\"port\":1,\"service\":\"\"}", "\"periodSeconds\":3" } },
        { CORE "pods",
          CONTAINER("\"image\":\"i\",\"env\":[{\"name\":\"A\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec."
                    "nodeName\"}}}],"
                    "\"lifecycle\":{"
                    "\"preStop\":{\"httpGet\":{\"port\":1}}}"),
          { "\"fieldRef\":{\"fieldPath\":\"spec.nodeName\",\"apiVersion\":\"v1\"}", "\"scheme\":\"HTTP\"" } },
        { CORE "pods",
          CONTAINER("\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}"),
          { "\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}", "\"qosClass\":\"Guaranteed\"" } },
        { CORE "pods",
          CONTAINER("\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"1\"},\"requests\":{\"cpu\":\"500m\"}}"),
          { "\"requests\":{\"cpu\":\"500m\"}", "\"qosClass\":\"Burstable\"" } },
        { CORE "pods",
          POD("\"volumes\":[{\"name\":\"a\"},{\"name\":\"b\",\"secret\":{\"secretName\":\"s\"}},{\"name\":\"c\","
              "\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"path\":\"t\"}}]}},{\"name\":\"d\",\"hostPath\":"
              "{\"path\":\"/\"}}],\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"),
          { "{\"name\":\"a\",\"emptyDir\":{}}", "\"secretName\":\"s\",\"defaultMode\":420",
            "{\"path\":\"t\",\"expirationSeconds\":3600}", "{\"path\":\"/\",\"type\":\"\"}" } },
        { APPS "deployments",
          POD("\"selector\":{\"matchLabels\":{\"a\":\"b\"}}," TEMPLATE),
          { "\"rollingUpdate\":{\"maxUnavailable\":\"25%\",\"maxSurge\":\"25%\"}",
            "\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\"",
            "\"schedulerName\":\"default-scheduler\"", "\"imagePullPolicy\":\"Always\"" } },
        { APPS "statefulsets",
          POD("\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"v\"},"
              "\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}]"
              "," TEMPLATE),
          { "\"rollingUpdate\":{\"partition\":0,\"maxUnavailable\":1}", "\"kind\":\"PersistentVolumeClaim\"",
            "\"volumeMode\":\"Filesystem\"" } },
        { APPS "daemonsets",
          POD("\"selector\":{\"matchLabels\":{\"a\":\"b\"}}," TEMPLATE),
          { "\"rollingUpdate\":{\"maxUnavailable\":1,\"maxSurge\":0}" } },
        { CORE "replicationcontrollers",
          POD(TEMPLATE),
          { "\"labels\":{\"a\":\"b\"}", "\"selector\":{\"a\":\"b\"}", "\"replicas\":1" } },
        { "/apis/batch/v1/namespaces/default/cronjobs",
          POD("\"schedule\":\"* * * * *\",\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"containers\":[{"
              "\"name\":\"c\",\"image\":\"i\"}],\"restartPolicy\":\"Never\"}}}}"),
          { "\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":30" } },
        { CORE "services",
          POD("\"ports\":[{\"name\":\"a\",\"port\":80},{\"name\":\"b\",\"port\":81,\"targetPort\":\"http\"}]"),
          { "\"port\":80,\"protocol\":\"TCP\",\"targetPort\":80", "\"internalTrafficPolicy\":\"Cluster\"",
            "\"clusterIP\":\"10.96.", "\"clusterIPs\":[\"10.96." } },
        { CORE "services",
          POD("\"clusterIP\":\"None\",\"ports\":[{\"port\":80}]"),
          { "\"clusterIP\":\"None\"", "\"clusterIPs\":[\"None\"]" } },
        { CORE "services",
          POD("\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80}]"),
          { "\"allocateLoadBalancerNodePorts\":true", "\"externalTrafficPolicy\":\"Cluster\"" } },
        { CORE "persistentvolumeclaims",
          POD("\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}"),
          { "\"volumeMode\":\"Filesystem\"", "\"phase\":\"Pending\"" } },
        { "/apis/storage.k8s.io/v1/storageclasses",
          "{\"metadata\":{\"name\":\"x\"},\"provisioner\":\"p\"}",
          { "\"reclaimPolicy\":\"Delete\"", "\"volumeBindingMode\":\"Immediate\"" } },
        { "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
          POD("\"podSelector\":{},\"ingress\":[{\"ports\":[{\"port\":80}]}]"),
          { "\"policyTypes\":[\"Ingress\"]", "\"port\":80,\"protocol\":\"TCP\"" } },
        { "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
          POD("\"scaleTargetRef\":{\"apiVersion\":\"apps/"
              "v1\",\"kind\":\"Deployment\",\"name\":\"d\"},\"maxReplicas\":3,\"behavior\":{"
              "\"scaleDown\":{}}"),
          { "\"minReplicas\":1", "\"averageUtilization\":80", "\"selectPolicy\":\"Max\"",
            "{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15}" } },
        { "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
          "{\"metadata\":{\"name\":\"x\"},\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"},\"subjects\":[{\"kind\":"
          "\"User\",\"name\":\"u\"},{\"kind\":\"ServiceAccount\",\"name\":\"s\"}]}",
          { "{\"kind\":\"User\",\"name\":\"u\",\"apiGroup\":\"rbac.authorization.k8s.io\"}",
            "{\"kind\":\"ServiceAccount\",\"name\":\"s\"}" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char one[256];
        if (rest_post(&server, rows[i].target, rows[i].body) != 201)
            fail_msg("%s: %s", rows[i].body, server.text.data);
        for (size_t k = 0; k < 4 && rows[i].parts[k]; k++)
            assert_true(rest_has(&server, rows[i].parts[k]));
        snprintf(one, sizeof one, "%s/x", rows[i].target);
        assert_int_equal(rest_send(&server, "DELETE", one, NULL, NULL), 200);
    }
}

REST_TEST(an_external_name_needs_no_address) {
    assert_int_equal(rest_post(&server, CORE "services", POD("\"type\":\"ExternalName\",\"externalName\":\"x.y\"")),
                     201);
    assert_null(strstr(server.text.data, "clusterIP"));
    assert_null(strstr(server.text.data, "internalTrafficPolicy"));
}

REST_TEST(a_service_that_is_put_keeps_its_address) {
    char address[64];
    assert_int_equal(rest_post(&server, CORE "services", POD("\"ports\":[{\"port\":80}]")), 201);
    const char *at = strstr(server.text.data, "\"clusterIP\":");
    assert_non_null(at);
    snprintf(address, sizeof address, "%.*s", (int)strcspn(at, ","), at);
    assert_int_equal(rest_send(&server, "PUT", CORE "services/x", "application/json", POD("\"ports\":[{\"port\":81}]")),
                     200);
    assert_true(rest_has(&server, address));
    assert_int_equal(
        rest_post(&server, CORE "services", "{\"metadata\":{\"name\":\"y\"},\"spec\":{\"ports\":[{\"port\":80}]}}"),
        201);
    assert_null(strstr(server.text.data, address));
}

REST_TEST(what_was_filled_in_is_no_change_the_next_time) {
    static const char body[] = POD("\"selector\":{\"matchLabels\":{\"a\":\"b\"}}," TEMPLATE);
    assert_int_equal(rest_post(&server, APPS "deployments", body), 201);
    uint64_t revision = kt_cluster_revision(server.cluster);
    assert_int_equal(rest_send(&server, "PUT", APPS "deployments/x", "application/json", body), 200);
    assert_int_equal(kt_cluster_revision(server.cluster), revision);
    static const char applied[] = "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"},\"spec\":{"
                                  "\"ports\":[{\"port\":80}]}}";
    static const char target[] = CORE "services/s?fieldManager=a";
    assert_int_equal(rest_send(&server, "PATCH", target, "application/apply-patch+yaml", applied), 201);
    revision = kt_cluster_revision(server.cluster);
    assert_int_equal(rest_send(&server, "PATCH", target, "application/apply-patch+yaml", applied), 200);
    assert_int_equal(kt_cluster_revision(server.cluster), revision);
}

REST_TEST(the_defaults_of_very_many_elements_are_rejected_in_time) {
    ki_buffer body;
    ki_buffer_init(&body, &ki_allocator_default, 0);
    ki_buffer_append_string(
        &body, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}");
    for (size_t i = 0; i < 60 * 1000; i++)
        ki_buffer_printf(&body, ",{\"name\":\"c%zu\",\"image\":\"i\"}", i);
    ki_buffer_append_string(&body, "]}}");
    assert_int_equal(body.failed, KI_OK);
    assert_int_equal(rest_post(&server, CORE "pods", body.data), 413);
    ki_buffer_free(&body);
}

TEST(lack_of_memory_at_any_point_leaks_nothing) {
    static const rest_call calls[] = {
        { "POST", CORE "pods", JSON,
          CONTAINER("\"image\":\"i\",\"livenessProbe\":{\"httpGet\":{\"port\":80}},\"resources\":{"
                    "\"limits\":{\"cpu\":\"1\"}}") },
        { "POST", CORE "services", JSON, POD("\"ports\":[{\"port\":80}]") },
        { "POST", APPS "deployments", JSON, POD("\"selector\":{\"matchLabels\":{\"a\":\"b\"}}," TEMPLATE) },
    };
    rest_run_short_of_memory(calls, sizeof calls / sizeof *calls);
}
