// A group whose server is away (metrics.k8s.io without a metrics-server): `kinformer get` and `kinformer watch` of a resource that it can have say
// so, and the other groups are served.
package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

var groupDownCases = []testCase{{name: "group-down", kinformerOnly: true, run: groupDown}}

var absentBackend = map[string]any{
	"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
	"spec": map[string]any{"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
		"insecureSkipTLSVerify": true, "service": map[string]any{"name": "metrics-server", "namespace": "default"}},
}

func groupDown(ctx context.Context, h *harness) error {
	s, k, err := h.preparedServer(ctx, "create service clusterip metrics-server -n default --tcp=443", "create configmap there -n default")
	if err != nil {
		return err
	}
	if err := k.create(ctx, absentBackend); err != nil {
		return err
	}
	config, err := s.restConfig()
	if err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	if err := poll(ctx, "metrics.k8s.io that client-go cannot discover", func() (bool, error) {
		_, _, failed, err := client.GroupsAndMaybeResources()
		return failed[schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}] != nil, err
	}); err != nil {
		return err
	}
	const unread = "could not read the resources of metrics.k8s.io/v1beta1, which can have "
	const remedy = ": HTTP 503: service unavailable; kubectl get apiservice v1beta1.metrics.k8s.io shows why"
	var differences []string
	for _, row := range []struct {
		words  []string
		status int
		says   string // in its output
	}{
		{[]string{"get", "podmetrics"}, 1, "kinformer get: " + unread + `"podmetrics"` + remedy + "\n"},
		{[]string{"watch", "podmetrics"}, 1, "kinformer watch: " + unread + `"podmetrics"` + remedy + "\n"},
		{[]string{"get", "pods.metrics.k8s.io"}, 1, "kinformer get: " + unread + `"pods.metrics.k8s.io"` + remedy + "\n"},
		{[]string{"get", "apiservicez"}, 1, "kinformer get: " + unread + `"apiservicez"` + remedy + "; did you mean apiservices?\n"},
		{[]string{"get", "apiservicez.apiregistration.k8s.io"}, 2, `the resource "apiservicez.apiregistration.k8s.io" is not known`},
		{[]string{"get", "configmaps", "there", "-n", "default", "-o", "name"}, 0, "configmap/there\n"},
		{[]string{"get", "apiservices", "v1beta1.metrics.k8s.io", "-o", "name"}, 0, "apiservice.apiregistration.k8s.io/v1beta1.metrics.k8s.io\n"},
	} {
		out, err := h.run(ctx, "", append(append([]string{h.kinformer}, row.words...), "--kubeconfig", s.file("kubeconfig-kinformer"))...)
		status := 0
		if err != nil {
			out += err.Error() + "\n"
		}
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			status = exit.ExitCode()
		}
		if status != row.status || !strings.Contains(out, row.says) {
			differences = append(differences, fmt.Sprintf("%s: status %d, %s", strings.Join(row.words, " "), status, strings.TrimSpace(out)))
		}
	}
	// What the message names shows the cause.
	if cause, err := k.run(ctx, "get", "apiservice", "v1beta1.metrics.k8s.io"); err != nil || !strings.Contains(cause, "False (") {
		differences = append(differences, fmt.Sprintf("kubectl get apiservice: %s %v", cause, err))
	}
	return report("a group without a server", differences)
}
