// The real kubectl against `kinformer serve`: a script of commands with the expected output of each. The same script runs against the real
// server, which proves that the expectations are right.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var kubectlCases = []testCase{
	{name: "kubectl-real", run: func(ctx context.Context, h *harness) error {
		s, err := h.realServer(ctx)
		if err != nil {
			return err
		}
		return kubectlScript(ctx, h.kubectl(s))
	}},
	{name: "serve-kubectl", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		s, err := h.serve(ctx, "--pods", "20", "--nodes", "3")
		if err != nil {
			return err
		}
		all, err := s.kubectl.list(ctx, "pods")
		if err != nil {
			return err
		}
		if len(all) != 20 {
			return fmt.Errorf("kubectl lists %d pods, wanted 20", len(all))
		}
		return kubectlScript(ctx, s.kubectl)
	}},
}

// served is a running `kinformer serve`.
type served struct {
	process *process
	url     string
	kubectl kubectl
}

func (h *harness) serve(ctx context.Context, arguments ...string) (*served, error) {
	out := newLines()
	dir := filepath.Join(h.caseDir, fmt.Sprintf("serve-%d", len(h.processes))) // a case can have several servers
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	argv := append([]string{h.kinformer, "serve", "--write-kubeconfig", kubeconfig}, arguments...)
	p, err := h.start("serve", out.addLine, argv...)
	if err != nil {
		return nil, err
	}
	line, err := out.await(ctx, p, "serving ")
	if err != nil {
		return nil, err
	}
	return &served{p, strings.TrimPrefix(line, "serving "), kubectl{h, kubeconfig}}, nil
}

const kubectlNamespace = "e2e-kubectl"

func podNamed(name string) object {
	pod := newPod(name).Object
	pod["metadata"].(object)["namespace"] = kubectlNamespace
	return pod
}

func deploymentNamed(name string) object {
	return object{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   object{"name": name, "namespace": kubectlNamespace},
		"spec": object{
			"selector": object{"matchLabels": object{"app": name}},
			"template": object{
				"metadata": object{"labels": object{"app": name}},
				"spec":     object{"containers": []any{object{"name": "c", "image": "example.com/c:1"}}},
			},
		},
	}
}

// expectation is one kubectl command, and what its output must equal or contain, or its error contain. The judge adds -n.
type expectation struct{ command, equals, contains, errorContains string }

func kubectlScript(ctx context.Context, k kubectl) error {
	namespace := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": kubectlNamespace}}
	if err := k.create(ctx, namespace); err != nil {
		return err
	}
	table := newLines()
	watch, err := k.h.start("kubectl-watch", table.addLine,
		k.argv("get", "pods", "-n", kubectlNamespace, "--watch", "--output-watch-events", "--no-headers")...)
	if err != nil {
		return err
	}
	for _, obj := range []object{podNamed("a"), podNamed("b"), deploymentNamed("web")} {
		if err := k.create(ctx, obj); err != nil {
			return err
		}
	}
	for _, prefix := range []string{"ADDED a ", "ADDED b "} {
		if _, err := table.await(ctx, watch, prefix); err != nil {
			return err
		}
	}
	if err := checkExpectations(ctx, k, expectationsBeforeDelete); err != nil {
		return err
	}
	if err := k.create(ctx, podNamed("a")); err == nil || !strings.Contains(err.Error(), `(AlreadyExists): error when creating`) ||
		!strings.Contains(err.Error(), `pods "a" already exists`) {
		return fmt.Errorf("create of a pod that exists: %v, wanted AlreadyExists", err)
	}
	if err := staleReplace(ctx, k); err != nil {
		return err
	}
	if err := checkExpectations(ctx, k, expectationsOfDelete); err != nil {
		return err
	}
	if _, err := table.await(ctx, watch, "DELETED b "); err != nil {
		return err
	}
	return errors.Join(checkWatchTable(table), endedBySignal(watch))
}

var expectationsBeforeDelete = []expectation{
	{command: "get pods -o name", equals: "pod/a\npod/b"},
	{command: "get po --no-headers", contains: "a "},
	{command: "get deploy,pods -o name", equals: "deployment.apps/web\npod/a\npod/b"},
	{command: "label pod a tier=front", equals: "pod/a labeled"},
	{command: "label pod a tier=back --overwrite", equals: "pod/a labeled"},
	{command: "label pod a extra=1", equals: "pod/a labeled"},
	{command: "label pod a extra-", equals: "pod/a unlabeled"},
	{command: "label pod b tier=front", equals: "pod/b labeled"},
	{command: "get pods -l tier=back -o name", equals: "pod/a"},
	{command: "get pods -l tier!=back -o name", equals: "pod/b"},
	{command: "get pods -l tier in(back,front) -o name", equals: "pod/a\npod/b"},
	{command: "get pods --field-selector metadata.name=b -o name", equals: "pod/b"},
	{command: "get pods -L tier --no-headers", contains: "back"},
	{command: "annotate pod a note=one", equals: "pod/a annotated"},
	{command: "get pod a -o jsonpath={.metadata.annotations.note}", equals: "one"},
	{command: `patch pod a --type=merge -p {"metadata":{"labels":{"app":null}}}`, equals: "pod/a patched"},
	{command: "get pod a -o jsonpath={.metadata.labels}", equals: `{"tier":"back"}`},
	{command: `patch deployment web --type=json -p [{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"example.com/c:2"}]`,
		equals: "deployment.apps/web patched"},
	{command: "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}", equals: "example.com/c:2"},
	{command: "get deployment web -o jsonpath={.metadata.generation}", equals: "2"},
	{command: "get pods --chunk-size=1 -o name", equals: "pod/a\npod/b"},
	{command: "get pod nothing", errorContains: `Error from server (NotFound): pods "nothing" not found`},
	{command: "get nonsense", errorContains: `the server doesn't have a resource type "nonsense"`},
	{command: "get --raw /api/v1/namespaces/" + kubectlNamespace + "/pods/a", contains: `"kind":"Pod"`},
	{command: "get --raw /api/v1/namespaces/" + kubectlNamespace + "/pods?limit=1", contains: `"remainingItemCount":1`},
	{command: "get --raw /healthz", equals: "ok"},
	{command: "get --raw /version", contains: `"gitVersion"`},
	{command: "get --raw /apis/apps/v1", contains: `"kind":"Deployment"`},
	{command: "api-resources -o name", contains: "deployments.apps"},
	{command: "version", contains: "Server Version: v1."},
}

var expectationsOfDelete = []expectation{
	{command: "delete deployment web", contains: `deployment.apps "web" deleted`},
	{command: "delete pod a", contains: `pod "a" deleted`},
	{command: "get pods -o name", equals: "pod/b"},
	{command: "get pod a", errorContains: `Error from server (NotFound): pods "a" not found`},
	{command: "delete pod a", errorContains: `Error from server (NotFound): pods "a" not found`},
	{command: "delete pod a --ignore-not-found", equals: ""},
	{command: "delete pods -l tier=front", contains: `pod "b" deleted`},
	{command: "get pods,deployments -o name", equals: ""},
}

func checkExpectations(ctx context.Context, k kubectl, responses []expectation) error {
	var differences []string
	for _, a := range responses {
		words := strings.Fields(a.command)
		if strings.Contains(a.command, " in(") { // the only command with a blank in an argument
			words = []string{"get", "pods", "-l", "tier in (back,front)", "-o", "name"}
		}
		raw := slices.Contains(words, "--raw")
		if !raw && words[0] != "version" && words[0] != "api-resources" {
			words = append(words, "-n", kubectlNamespace)
		}
		out, err := k.run(ctx, words...)
		out = strings.TrimSpace(out)
		switch {
		case a.errorContains != "":
			if err == nil || !strings.Contains(err.Error(), a.errorContains) {
				differences = append(differences, fmt.Sprintf("%s: error %v, wanted %q", a.command, err, a.errorContains))
			}
		case err != nil:
			differences = append(differences, err.Error())
		case a.contains != "" && !strings.Contains(withoutBlanks(out, raw), a.contains):
			differences = append(differences, fmt.Sprintf("%s: output %.200q, wanted %q in it", a.command, out, a.contains))
		case a.contains == "" && out != a.equals:
			differences = append(differences, fmt.Sprintf("%s: %.200q, wanted %q", a.command, out, a.equals))
		}
	}
	return report("output of kubectl", differences)
}

// withoutBlanks removes the indentation from raw JSON; other text is unchanged.
func withoutBlanks(text string, raw bool) string {
	if !raw {
		return text
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(text, `": `, `":`)), " ")
}

// staleReplace replaces an object with an outdated resource version, which must fail with a conflict, and with the current one.
func staleReplace(ctx context.Context, k kubectl) error {
	stale, err := k.run(ctx, "get", "pod", "b", "-n", kubectlNamespace, "-o", "json")
	if err != nil {
		return err
	}
	if err := k.runAll(ctx, "annotate pod b note=two -n "+kubectlNamespace); err != nil {
		return err
	}
	_, err = k.runInput(ctx, stale, "replace", "--validate=false", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "(Conflict)") || !strings.Contains(err.Error(), "the object has been modified") {
		return fmt.Errorf("replace with an outdated resource version: %v, wanted a conflict", err)
	}
	current, err := k.run(ctx, "get", "pod", "b", "-n", kubectlNamespace, "-o", "json")
	if err != nil {
		return err
	}
	_, err = k.runInput(ctx, strings.Replace(current, `"note": "two"`, `"note": "three"`, 1), "replace", "--validate=false", "-f", "-")
	return err
}

// checkWatchTable checks the output of `get --watch`: each pod is added once, modified at least three times, and deleted once.
func checkWatchTable(table *lines) error {
	var differences []string
	for _, name := range []string{"a", "b"} {
		added, modified, deleted := table.withPrefix("ADDED "+name+" "), table.withPrefix("MODIFIED "+name+" "), table.withPrefix("DELETED "+name+" ")
		if len(added) != 1 || len(deleted) != 1 || len(modified) < 3 {
			differences = append(differences, fmt.Sprintf("pod %s: %d added, %d modified, %d deleted, wanted 1, at least 3 and 1", name, len(added),
				len(modified), len(deleted)))
		}
	}
	return report("kubectl get --watch", differences)
}

// endedBySignal kills kubectl: `kubectl get --watch` ends only by a signal. It fails if kubectl has exited before.
func endedBySignal(p *process) error {
	if !p.running() {
		return fmt.Errorf("%s exited by itself: %w", p.name, p.err)
	}
	p.kill()
	return nil
}
