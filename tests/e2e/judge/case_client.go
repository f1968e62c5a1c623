// The library's client against the real server. client-real tests every verb, and checks the result with kubectl. discovery compares how
// resource names resolve with kubectl. Both use the test program tests/programs/client_script.c.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

var clientCases = []testCase{
	{name: "client-real", kinformerOnly: true, run: clientReal},
	{name: "discovery", kinformerOnly: true, run: discoveryReal},
}

type clientResponse struct {
	OK        bool     `json:"ok"`
	HTTP      int      `json:"http"`
	Reason    string   `json:"reason"`
	Message   string   `json:"message"`
	Fields    []string `json:"fields"`
	Conflict  int      `json:"conflict"`
	NotFound  int      `json:"notFound"`
	Exists    int      `json:"exists"`
	Invalid   int      `json:"invalid"`
	Forbidden int      `json:"forbidden"`
	Continue  string   `json:"continue"`
	Items     []object `json:"items"`
	Object    object   `json:"object"`
	Body      string   `json:"body"`
}

func (h *harness) script(ctx context.Context, kubeconfig, input string) ([]string, error) {
	program := filepath.Join(filepath.Dir(h.kinformer), "..", "tests", "programs", "client_script")
	out, err := h.run(ctx, input, program, kubeconfig)
	return strings.Split(strings.TrimSpace(out), "\n"), err
}

// clientStep is one request, and the check of its response.
type clientStep struct {
	request string // | stands for a tab
	check   func(a clientResponse) bool
}

func succeeded(a clientResponse) bool { return a.OK }

func hasData(key, want string) func(clientResponse) bool {
	return func(a clientResponse) bool { return a.OK && field(a.Object, "data", key) == want }
}

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s","labels":{"set":"client"}},"data":{"k":"%s"}}`

func clientReal(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := k.runAll(ctx, "create namespace client", "create serviceaccount me -n client"); err != nil {
		return err
	}
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"example.com/c:1"}]}}`
	deployment := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},` +
		`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"example.com/c:1"}]}}}}`
	steps := []clientStep{
		{"create|cm|client||||" + fmt.Sprintf(configMap, "a", "1"), hasData("k", "1")},
		{"create|cm|client||||" + fmt.Sprintf(configMap, "a", "1"), func(a clientResponse) bool { return a.Exists == 1 && a.HTTP == 409 }},
		{"create|cm|client|||dry-run|" + fmt.Sprintf(configMap, "never", "1"), hasData("k", "1")},
		{"get|cm|client|never|||", func(a clientResponse) bool { return a.NotFound == 1 }},
		{"get|configmaps|client|a|||", hasData("k", "1")},
		{"update|cm|client|a|||" + fmt.Sprintf(configMap, "a", "2"), hasData("k", "2")},
		{"update|cm|client|a|||" + strings.Replace(fmt.Sprintf(configMap, "a", "3"), `"name"`, `"resourceVersion":"1","name"`, 1),
			func(a clientResponse) bool { return a.Conflict == 1 && a.Reason == "Conflict" }},
		{`patch|cm|client|a||patch=merge|{"data":{"m":"1"}}`, hasData("m", "1")},
		{`patch|cm|client|a||patch=json|[{"op":"add","path":"/data/j","value":"1"}]`, hasData("j", "1")},
		{`patch|cm|client|a||patch=strategic|{"data":{"s":"1"}}`, hasData("s", "1")},
		{`patch|cm|client|a||patch=apply manager=judge|{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1"}}`, hasData("x", "1")},
		{`patch|cm|client|a||patch=apply manager=other|{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"2"}}`,
			func(a clientResponse) bool { return a.Conflict == 1 && len(a.Fields) == 1 && a.Fields[0] == ".data.x" }},
		{`patch|cm|client|a||patch=apply manager=other force|{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"2"}}`, hasData("x", "2")},
		{"create|cm|client||||" + fmt.Sprintf(configMap, "A_B", "1"), func(a clientResponse) bool {
			return a.Invalid == 1 && a.HTTP == 422 && len(a.Fields) == 1 && a.Fields[0] == "metadata.name"
		}},
		{"create|pods|client||||" + pod, succeeded},
		{`patch|pods|client|p|status|patch=merge|{"status":{"phase":"Running"}}`, func(a clientResponse) bool {
			return field(a.Object, "status", "phase") == "Running"
		}},
		{`create|pods|client|p|binding||{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}`, succeeded},
		{`create|pods|client|p|eviction|dry-run|{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"client"}}`, succeeded},
		{"create|deployments.apps|client||||" + deployment, succeeded},
		{"get|deploy|client|d|scale||", func(a clientResponse) bool { return field(a.Object, "kind") == "Scale" }},
		{`patch|deploy|client|d|scale|patch=merge|{"spec":{"replicas":3}}`, succeeded},
		{`create|sa|client|me|token||{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":600}}`,
			func(a clientResponse) bool {
				return a.OK && field(a.Object, "status", "token") != "" || strings.Contains(a.Body, `"token":`)
			}},
		{`create|selfsubjectreviews|||||{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`,
			func(a clientResponse) bool { return a.OK && strings.Contains(a.Body, `"username":`) }},
		{"create|cm|client||||" + fmt.Sprintf(configMap, "b", "1"), succeeded},
		{"create|cm|client||||" + fmt.Sprintf(configMap, "c", "1"), succeeded},
		{"list|cm|client|||selector=set=client|", func(a clientResponse) bool { return len(a.Items) == 3 }},
		{"list|cm|client|||selector=set=client limit=2|", func(a clientResponse) bool { return len(a.Items) == 2 && a.Continue != "" }},
		{"delete|cm|client|b||uid=not-this|", func(a clientResponse) bool { return a.Conflict == 1 }},
		{"delete|cm|client|b||propagation=background|", succeeded},
		{"deletecollection|cm|client|||selector=set=client|", succeeded},
		{"list|cm|client|||selector=set=client|", func(a clientResponse) bool { return a.OK && len(a.Items) == 0 }},
		{"delete|pods|client|p||now|", succeeded},
		{"GET|/readyz|||||", func(a clientResponse) bool { return a.Body == "ok" }},
		{"GET|/nowhere|||||", func(a clientResponse) bool { return a.NotFound == 1 }},
	}
	var input strings.Builder
	for _, step := range steps {
		parts := strings.SplitN(step.request, "|", 7)
		input.WriteString(strings.Join(parts, "\t") + "\n")
	}
	lines, err := h.script(ctx, s.file("kubeconfig-admin"), input.String())
	if err != nil {
		return err
	}
	if len(lines) != len(steps) {
		return fmt.Errorf("%d responses to %d requests: %.300q", len(lines), len(steps), lines)
	}
	var errs []error
	for i, step := range steps {
		var response clientResponse
		if err := decode([]byte(lines[i]), &response); err != nil {
			errs = append(errs, fmt.Errorf("%.60s: %w: %.200s", step.request, err, lines[i]))
		} else if !step.check(response) {
			errs = append(errs, fmt.Errorf("%.60s: unexpected response %.400s", step.request, lines[i]))
		}
	}
	replicas, err := k.run(ctx, "get", "deployment", "d", "-n", "client", "-o", "jsonpath={.spec.replicas}")
	if err != nil || replicas != "3" {
		errs = append(errs, fmt.Errorf("kubectl gets %q replicas, wanted 3: %v", replicas, err))
	}
	left, err := k.run(ctx, "get", "configmaps,pods", "-n", "client", "-o", "name")
	if err != nil || strings.TrimSpace(left) != "configmap/kube-root-ca.crt" && strings.TrimSpace(left) != "" {
		errs = append(errs, fmt.Errorf("kubectl still lists %q: %v", left, err))
	}
	return errors.Join(errs...)
}

// discoveryReal resolves each resource of the server by its full name, group, kind and short names, and compares the result with the table of
// `kubectl api-resources`.
func discoveryReal(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	// The columns are NAME SHORTNAMES APIVERSION NAMESPACED KIND VERBS CATEGORIES. Each column starts where its heading does.
	table, err := h.kubectl(s).run(ctx, "api-resources", "-o", "wide")
	if err != nil {
		return err
	}
	rows := strings.Split(strings.TrimSpace(table), "\n")
	cut := func(row, heading, next string) string {
		from, to := strings.Index(rows[0], heading), strings.Index(rows[0], next)
		return strings.TrimSpace(row[from:to])
	}
	type wanted struct{ name, line string }
	var wants []wanted
	for _, row := range rows[1:] {
		plural, apiVersion := cut(row, "NAME ", "SHORTNAMES"), cut(row, "APIVERSION", "NAMESPACED")
		kind := cut(row, "KIND", "VERBS")
		scope := "cluster"
		if cut(row, "NAMESPACED", "KIND") == "true" {
			scope = "namespaced"
		}
		group, version, found := strings.Cut(apiVersion, "/")
		if !found {
			group, version = "", apiVersion
		}
		full := plural + "." + version + "." + group
		line := fmt.Sprintf("%s %s %s", full, kind, scope)
		names := []string{full, plural + "." + group, kind + "." + version + "." + group}
		for _, short := range strings.Split(cut(row, "SHORTNAMES", "APIVERSION"), ",") {
			if short != "" {
				names = append(names, short+"."+group)
			}
		}
		for _, name := range names {
			wants = append(wants, wanted{strings.TrimSuffix(name, "."), line})
		}
	}
	if len(wants) < 150 {
		return fmt.Errorf("kubectl api-resources has only %d resource names, wanted at least 150: %.300s", len(wants), table)
	}
	names := make([]string, len(wants))
	for i, want := range wants {
		names[i] = want.name
	}
	lines, err := h.script(ctx, s.file("kubeconfig-admin"), "resources\t"+strings.Join(names, " ")+"\n")
	if err != nil {
		return err
	}
	var errs []error
	for i, want := range wants {
		if i >= len(lines) || lines[i] != want.name+" "+want.line {
			got := "no line"
			if i < len(lines) {
				got = lines[i]
			}
			errs = append(errs, fmt.Errorf("%s: resolved to %q, wanted %q", want.name, got, want.line))
		}
	}
	return errors.Join(errs...)
}
