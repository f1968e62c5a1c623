// The same HTTP requests against the real server and against `kinformer serve`. Status, warnings and JSON of the responses must be the same
// except for uids, times and versions. Those of the tables in serve-requests have recorded responses: the real server still gives them, and
// `kinformer serve` the same.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// rawStep is one request. In path, body and as, NS stands for the namespace of the case, and GROUP for the API group of the case.
type rawStep struct {
	method, path   string
	contentType    string // "": application/json
	body           string
	as             string   // impersonated user; "": none
	groups         []string // groups of the impersonated user
	codeOnly       bool     // compare only the status code and the reason
	retryForbidden bool     // retry while the response is 403: servers apply changed roles after a moment
}

const (
	jsonPatch  = "application/json-patch+json"
	mergePatch = "application/merge-patch+json"
	strategic  = "application/strategic-merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
	yamlBody   = "application/yaml"
)

func rawCase(name string, steps []rawStep, flags ...string) testCase {
	return testCase{name: name, kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return sameRawResponses(ctx, h, steps, flags)
	}}
}

func sameRawResponses(ctx context.Context, h *harness, steps []rawStep, flags []string) error {
	real, restConfigs, err := h.bothConfigs(ctx, flags...)
	if err != nil {
		return err
	}
	namespace := fmt.Sprintf("e2e-%x", time.Now().UnixNano())
	create := rawStep{method: "POST", path: "/api/v1/namespaces", codeOnly: true,
		body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS"}}`}
	var differences []error
	for _, one := range append([]rawStep{create}, steps...) {
		want, err := one.run(ctx, restConfigs.real, namespace)
		if err != nil {
			return err
		}
		found, err := one.run(ctx, restConfigs.served, namespace)
		if err != nil {
			return err
		}
		if want != found {
			differences = append(differences, fmt.Errorf("%s %s %s\nreal:  %s\nserve: %s", one.method, one.path, one.body, want, found))
		}
	}
	// The real server is shared with the following cases, so the objects are deleted.
	_, err = h.kubectl(real).run(ctx, "delete", "namespace", namespace, "--wait=false")
	_, crdErr := h.kubectl(real).run(ctx, "delete", "crd", "--ignore-not-found", "--wait=false", "things."+namespace+".example.com")
	return errors.Join(append(differences, err, crdErr)...)
}

// run makes the request and returns the response as text, with the variable texts replaced. It retries while a new custom resource is not
// served yet.
func (s rawStep) run(ctx context.Context, config *rest.Config, namespace string) (string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	fill := strings.NewReplacer("NS", namespace, "GROUP", namespace+".example.com")
	for {
		request, err := http.NewRequestWithContext(ctx, s.method, config.Host+fill.Replace(s.path), strings.NewReader(fill.Replace(s.body)))
		if err != nil {
			return "", err
		}
		request.Header.Set("Accept", "application/json")
		if s.as != "" {
			request.Header.Set("Impersonate-User", fill.Replace(s.as))
			request.Header["Impersonate-Group"] = s.groups
		}
		if s.body != "" {
			request.Header.Set("Content-Type", cmp.Or(s.contentType, "application/json"))
		}
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return "", err
		}
		notYet := response.StatusCode == http.StatusNotFound && strings.Contains(string(text), "404 page not found") ||
			response.StatusCode == http.StatusTooManyRequests
		isForbidden := s.retryForbidden && response.StatusCode == http.StatusForbidden
		if notYet && strings.Contains(s.path, "GROUP") || isForbidden {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(50 * time.Millisecond):
				continue
			}
		}
		return s.describe(response, text, namespace), nil
	}
}

func (s rawStep) describe(response *http.Response, text []byte, namespace string) string {
	shown := strings.TrimSpace(string(text))
	var obj object
	if json.Unmarshal(text, &obj) == nil {
		if s.codeOnly {
			obj = object{"reason": obj["reason"]}
		}
		stripVariableFields(obj)
		if message, isText := obj["message"].(string); isText { // the order of Go's maps is random
			if head, list, found := strings.Cut(message, "errors:\n"); found {
				obj["message"] = head + "errors:\n" + strings.Join(slices.Sorted(strings.SplitSeq(list, "\n")), "\n")
			}
		}
		if written, err := json.Marshal(obj); err == nil {
			shown = string(written)
		}
	}
	shown = strings.ReplaceAll(shown, namespace, "NS")
	for _, one := range variableTexts {
		shown = one.expression.ReplaceAllString(shown, one.replacement)
	}
	warnings := response.Header.Values("Warning")
	return fmt.Sprintf("%d %q %s", response.StatusCode, warnings, shown)
}

// stripVariableFields removes uids, versions and times from the metadata of an object, or of the items of a list.
func stripVariableFields(obj object) {
	if metadata, isObject := obj["metadata"].(object); isObject {
		for _, name := range []string{"uid", "resourceVersion", "creationTimestamp"} {
			delete(metadata, name)
		}
		if entries, isList := metadata["managedFields"].([]any); isList {
			for _, entry := range entries {
				if entry, isObject := entry.(object); isObject {
					delete(entry, "time")
				}
			}
		}
	}
	if items, isList := obj["items"].([]any); isList {
		for _, item := range items {
			if item, isObject := item.(object); isObject {
				stripVariableFields(item)
			}
		}
	}
}

var rawCases = []testCase{
	rawCase("serve-raw-json-patch", jsonPatchSteps()),
	rawCase("serve-raw-secret", secretSteps),
	rawCase("serve-raw-yaml", yamlSteps),
	rawCase("serve-raw-apply", applySteps()),
	rawCase("serve-raw-custom", customSteps),
	rawCase("serve-raw-custom-apply", customApplySteps()),
	rawCase("serve-raw-rbac", rbacSteps(), "--tls", "--rbac"),
	{name: "serve-requests", kinformerOnly: true, run: compareTables},
}

const thingDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.GROUP"},
"spec":{"group":"GROUP","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
"spec":{"type":"object","properties":{"size":{"type":"integer"},"name":{"type":"string"},
"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"port":{"type":"integer"},"tier":{"type":"string"}}}},
"tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
"plain":{"type":"array","items":{"type":"string"}},
"whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
"inner":{"type":"object","properties":{"deep":{"type":"string"},"other":{"type":"string"}}}}}}}}}]}}`

const things = "/apis/GROUP/v1/namespaces/NS/things"

func defineThings() rawStep {
	return rawStep{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: thingDefinition, codeOnly: true}
}

func jsonPatchSteps() []rawStep {
	steps := []rawStep{
		defineThings(),
		{method: "POST", path: things, codeOnly: true, body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},
			"free":{"one":1,"list":[1,2],"text":"t","inner":{"x":1}}}`},
	}
	for _, patch := range []string{
		`[{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["example.com/a"]}]`,
		`[{"op":"test","path":"/metadata/finalizers","value":null}]`,
		`[{"op":"test","path":"/metadata/finalizers/0","value":"example.com/a"},{"op":"remove","path":"/metadata/finalizers/0"}]`,
		`[{"op":"test","path":"/metadata/finalizers"}]`,
		`[{"op":"test","path":"/free/one"}]`,
		`[{"op":"test","path":"/free/nothing/below","value":null}]`,
		`[{"op":"test","path":"/free/list/2","value":null}]`,
		`[{"op":"test","path":"/free/one","value":2}]`,
		`[{"op":"test","path":"/free/one","value":1.0}]`,
		`[{"op":"test","path":"/free/inner","value":{"x":1}}]`,
		`[{"op":"replace","path":"/free/new","value":3}]`,
		`[{"op":"replace","path":"/free/none/below","value":3}]`,
		`[{"op":"replace","path":"/free/one/below","value":3}]`,
		`[{"op":"replace","path":"/free/list/2","value":3}]`,
		`[{"op":"replace","path":"/free/list/-","value":3}]`,
		`[{"op":"replace","path":"/free/list/-1","value":3}]`,
		`[{"op":"add","path":"/free/list/-1","value":4}]`,
		`[{"op":"add","path":"/free/list/+1","value":5}]`,
		`[{"op":"add","path":"/free/list/00","value":6}]`,
		`[{"op":"add","path":"/free/list/x","value":6}]`,
		`[{"op":"add","path":"/free/list/-9","value":6}]`,
		`[{"op":"remove","path":"/free/list/-2"}]`,
		`[{"op":"remove","path":"/free/list/9"}]`,
		`[{"op":"remove","path":"/free/nothing"}]`,
		`[{"op":"copy","from":"/free/inner","path":"/free/copied"}]`,
		`[{"op":"copy","from":"/free/absent/below","path":"/free/copied"}]`,
		`[{"op":"move","from":"/free/copied","path":"/free/moved"}]`,
		`[{"op":"move","from":"/free/copied","path":"/free/moved"}]`,
		`[{"op":"add","path":"/free/a~2b","value":7}]`,
		`[{"op":"add","path":"/free/a~1b~0c","value":7}]`,
		`[{"op":"add","path":"free","value":{}}]`,
		`[{"op":"add","path":"x/free/odd","value":8}]`,
		`[{"op":"add","path":"","value":{}}]`,
		`[{"op":"remove","path":""}]`,
		`[{"op":"copy","from":"","path":"/free/all"}]`,
		`[{"op":"add","path":"/free/","value":9}]`,
		`[{"op":"what","path":"/free/one"}]`,
		`[{"path":"/free/one","value":1}]`,
		`[{"op":"add","value":1}]`,
		`[{"op":"move","path":"/free/one"}]`,
		`[]`,
		`[1]`,
		`{}`,
		`[{"op":"test","path":"/free/text","value":"t"},{"op":"replace","path":"/metadata/labels","value":{"a":"b"}}]`,
	} {
		steps = append(steps, rawStep{method: "PATCH", path: things + "/a?fieldManager=m", contentType: jsonPatch, body: patch, codeOnly: true},
			rawStep{method: "GET", path: things + "/a"})
	}
	return steps
}

const secrets = "/api/v1/namespaces/NS/secrets"

var secretSteps = []rawStep{
	{method: "POST", path: secrets + "?fieldManager=m", body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"one":"1","two":"zwei ü"},"data":{"one":"AAAA","three":"Mw=="}}`},
	{method: "GET", path: secrets + "/a"},
	{method: "PUT", path: secrets + "/a?fieldManager=m", body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"one":""}}`},
	{method: "PATCH", path: secrets + "/a?fieldManager=n", contentType: mergePatch, body: `{"stringData":{"merged":"m"}}`},
	{method: "PATCH", path: secrets + "/a?fieldManager=n", contentType: strategic, body: `{"stringData":{"merged":"n","more":"x"}}`},
	{method: "PATCH", path: secrets + "/a?fieldManager=n", contentType: jsonPatch, body: `[{"op":"add","path":"/stringData","value":{"patched":"p"}}]`},
	{method: "PATCH", path: secrets + "/a?fieldManager=n", contentType: mergePatch, body: `{"stringData":null}`},
	{method: "PATCH", path: secrets + "/a?fieldManager=applier", contentType: applyPatch, body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"applied":"a","other":"o"}}`},
	{method: "PATCH", path: secrets + "/a?fieldManager=applier", contentType: applyPatch, body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"applied":"b"}}`},
	{method: "PATCH", path: secrets + "/b?fieldManager=applier", contentType: applyPatch, body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"},"type":"example.com/t","stringData":{"applied":"a"}}`},
	{method: "POST", path: secrets, body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"c"},"stringData":{"one":1}}`},
	{method: "POST", path: secrets + "?dryRun=All&fieldManager=m", body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"c"},"stringData":{}}`},
	{method: "GET", path: secrets},
}

var customSteps = []rawStep{
	defineThings(),
	{method: "POST", path: things + "?fieldManager=m", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1}}`},
	{method: "POST", path: things + "?fieldManager=m", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"b"}}`},
	{method: "GET", path: things},
	{method: "GET", path: things + "?limit=1&fieldSelector=metadata.name%3Da"},
	{method: "POST", path: things, body: `{"metadata":{"name":"c"}}`},
	{method: "POST", path: things, body: `{"kind":"Thing","metadata":{"name":"c"}}`},
	{method: "POST", path: things, body: `{"apiVersion":"GROUP/v1","metadata":{"name":"c"}}`},
	{method: "POST", path: things, body: `{"apiVersion":"GROUP/v2","kind":"Thing","metadata":{"name":"c"}}`},
	{method: "POST", path: things, body: `{"apiVersion":"other.example.com/v1","kind":"Thing","metadata":{"name":"c"}}`},
	{method: "POST", path: things, body: `{"apiVersion":"GROUP/v1","kind":"Things","metadata":{"name":"c"}}`},
	{method: "PUT", path: things + "/a", body: `{"metadata":{"name":"a"},"spec":{"size":2}}`},
	{method: "PUT", path: things + "/a", body: `{"kind":"Thing","metadata":{"name":"a"},"spec":{"size":2}}`},
	{method: "PATCH", path: things + "/a", contentType: mergePatch, body: `{"kind":null}`, codeOnly: true},
	{method: "PATCH", path: things + "/a", contentType: mergePatch, body: `{"kind":"Other"}`},
	{method: "PATCH", path: things + "/a", contentType: strategic, body: `{"spec":{"size":3}}`},
	{method: "POST", path: things + "?fieldManager=m", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"w"},"spec":{"size":1,"unknown":1,"inner":{"x":{"y":1}},"ports":[{"name":"p","odd":1}]},"top":1}`},
	{method: "POST", path: things + "?fieldManager=m&fieldValidation=Warn", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"w2","oddMeta":1},"spec":{"size":1,"unknown":1}}`},
	{method: "POST", path: things + "?fieldManager=m&fieldValidation=Ignore", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"w3"},"spec":{"size":1,"unknown":1}}`},
	{method: "POST", path: things + "?fieldManager=m&fieldValidation=Strict", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"s"},"spec":{"size":1,"unknown":1},"top":{"a":1}}`},
	{method: "POST", path: things + "?fieldManager=m&fieldValidation=Strict", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"s","oddMeta":1},"spec":{"size":1}}`},
	{method: "POST", path: things + "?fieldManager=m&fieldValidation=Strict", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"s"},"spec":{"size":1},"spec":{"size":2}}`},
	{method: "POST", path: things + "?fieldManager=m&fieldValidation=Warn", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"dup"},"spec":{"size":1,"size":2}}`},
	{method: "POST", path: things + "?fieldManager=m&fieldValidation=Odd", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"s"}}`},
	{method: "POST", path: things + "?fieldManager=m&fieldValidation=Strict", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"s"},"free":{"any":1}}`},
	{method: "PUT", path: things + "/a?fieldManager=m&fieldValidation=Strict", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"unknown":1}}`},
	{method: "PUT", path: things + "/a?fieldManager=m&fieldValidation=Warn", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"unknown":1}}`},
	{method: "PATCH", path: things + "/a?fieldManager=m&fieldValidation=Strict", contentType: mergePatch, body: `{"spec":{"unknown":1}}`, codeOnly: true},
	{method: "PATCH", path: things + "/a?fieldManager=m", contentType: mergePatch, body: `{"spec":{"unknown":1}}`},
	{method: "PATCH", path: things + "/a?fieldManager=m&fieldValidation=Strict", contentType: jsonPatch, body: `[{"op":"add","path":"/spec/unknown","value":1}]`, codeOnly: true},
	{method: "POST", path: things + "?fieldManager=m", body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"f","finalizers":["plain"]}}`},
	{method: "PATCH", path: things + "/f?fieldManager=m", contentType: mergePatch, body: `{"metadata":{"finalizers":["plain","with.dot","x.y/z"]}}`},
	{method: "PATCH", path: things + "/f?fieldManager=m", contentType: mergePatch, body: `{"metadata":{"finalizers":null}}`},
	{method: "PATCH", path: things + "/a?fieldManager=applier&fieldValidation=Strict", contentType: applyPatch, body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"unknown":1}}`},
	{method: "PATCH", path: things + "/a?fieldManager=applier", contentType: applyPatch, body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"unknown":1}}`},
	{method: "GET", path: things + "/a"},
}

// customApplySteps applies configurations of a custom resource with several field managers. Lists and maps merge as the schema defines.
func customApplySteps() []rawStep {
	steps := []rawStep{defineThings()}
	for _, one := range []struct{ manager, body string }{
		{"one", `{"spec":{"size":1,"ports":[{"name":"a","port":1},{"name":"b","port":2}],"tags":["x","y"],"plain":["p"],"whole":{"k":"v"},"inner":{"deep":"d"}}}`},
		{"two", `{"spec":{"ports":[{"name":"c","port":3},{"name":"a","tier":"t"}],"tags":["z"],"inner":{"other":"o"}}}`},
		{"two", `{"spec":{"plain":["q"]}}`},
		{"two", `{"spec":{"whole":{"k":"w"}}}`},
		{"two", `{"spec":{"ports":[{"name":"a","port":9}]}}`},
		{"one", `{"spec":{"size":1,"ports":[{"name":"b","port":2}],"tags":["y"],"plain":["p"],"whole":{"k":"v"}}}`},
		{"two", `{"metadata":{"labels":{"l":"1"}}}`},
		{"three", `{"spec":{"ports":[{"port":1}]}}`},
		{"three", `{"spec":{"ports":[{"name":"d"},{"name":"d"}]}}`},
		{"three", `{"spec":{"tags":["t","t"]}}`},
		{"three", `{"spec":{"ports":{"name":"d"}}}`},
		{"three", `{"spec":{"size":"x"}}`},
		{"three", `{"spec":{"inner":1}}`},
		{"three", `{"spec":{"inner":{"nothing":1}}}`},
		{"three", `{"free":{"any":{"thing":[1,{"a":1}]}}}`},
		{"three", `{"free":{"any":{"other":1}}}`},
	} {
		body := `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},` + one.body[1:]
		if one.body[2] == 'm' {
			body = `{"apiVersion":"GROUP/v1","kind":"Thing",` + one.body[1:]
		}
		steps = append(steps, rawStep{method: "PATCH", path: things + "/a?fieldManager=" + one.manager, contentType: applyPatch, body: body})
	}
	return append(steps,
		rawStep{method: "PATCH", path: things + "/a?fieldManager=patcher", contentType: mergePatch, body: `{"spec":{"ports":[{"name":"e","port":5}],"tags":["u"]}}`},
		rawStep{method: "PATCH", path: things + "/a?fieldManager=two&force=true", contentType: applyPatch,
			body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"ports":[{"name":"e","port":6}]}}`},
		rawStep{method: "GET", path: things + "/a"})
}

// applySteps applies objects of built-in types that do not fit their types. The real server reports one unknown field of each object, in
// random order: no object here has two.
func applySteps() []rawStep {
	var steps []rawStep
	for _, one := range []struct{ path, fields string }{
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","lables":{}},"data":{"k":1}`},
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":[1]`},
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":1,"l":true,"m":{"a":[1,"x",null,1.5]}}`},
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"immutable":"x"`},
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["x.y/z","x.y/z"]}`},
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["x.y/z",1]}`},
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["x.y/z",{"a":1}]}`},
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["x.y/z",["a"]]}`},
		{"/api/v1/namespaces/NS/configmaps/a", `"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["x.y/z",null]}`},
		{"/api/v1/nodes/NS", `"apiVersion":"v1","kind":"Node","metadata":{"name":"NS","x":1},"spec":{"y":1}`},
		{"/apis/apps/v1/namespaces/NS/deployments/a", `"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":"x","paused":"x","selector":{"matchLabels":{"a":1}},"template":5}`},
		{"/apis/apps/v1/namespaces/NS/deployments/a", `"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":{"a":1},"paused":{"b":[1.5,"x"],"a":null},"minReadySeconds":[1],"revisionHistoryLimit":true}`},
		{"/apis/apps/v1/namespaces/NS/deployments/a", `"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"name":"c","x":1},{"name":"d"},{"name":"d","y":2}]}}}`},
		{"/apis/apps/v1/namespaces/NS/deployments/a", `"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":["x"]}}}`},
		{"/apis/apps/v1/namespaces/NS/deployments/a", `"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[null]}}}`},
		{"/apis/apps/v1/namespaces/NS/deployments/a", `"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":{"a":1}}}}`},
		{"/api/v1/namespaces/NS/services/a", `"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80,"protocol":"TCP","x":1},{"port":81,"protocol":"TCP","y":1},{"port":81,"protocol":"TCP"}]}`},
		{"/api/v1/namespaces/NS/services/a", `"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":"x"`},
	} {
		steps = append(steps, rawStep{method: "PATCH", path: one.path + "?fieldManager=m", contentType: applyPatch, body: "{" + one.fields + "}"})
	}
	return steps
}

const rawMaps = "/api/v1/namespaces/NS/configmaps"

var yamlSteps = []rawStep{
	defineThings(),
	{method: "POST", path: rawMaps + "?fieldManager=m", contentType: yamlBody,
		body: "# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {x: 'y'}\ndata:\n  text: |\n    two\n    lines\n  yes: 'no'\n"},
	{method: "PUT", path: rawMaps + "/a?fieldManager=m", contentType: yamlBody, body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: &d {k: v}\n"},
	{method: "POST", path: rawMaps + "?fieldManager=m", contentType: yamlBody, body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"json"}}`},
	{method: "POST", path: rawMaps, contentType: yamlBody, body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: 1}\n", codeOnly: true},
	{method: "POST", path: rawMaps, contentType: yamlBody, body: "a: [1\n", codeOnly: true},
	{method: "POST", path: rawMaps, contentType: "text/plain", body: "x"},
	{method: "POST", path: things, contentType: "text/plain", body: "x"},
	{method: "PATCH", path: rawMaps + "/a?fieldManager=applier", contentType: applyPatch,
		body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    note: &n 'text'\ndata:\n  applied: *n\n"},
	{method: "PATCH", path: rawMaps + "/c?fieldManager=applier", contentType: applyPatch, body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {applied: 'true'}\n"},
	{method: "PATCH", path: rawMaps + "/c?fieldManager=applier", contentType: applyPatch, body: "a: [1\n", codeOnly: true},
	{method: "POST", path: things + "?fieldManager=m", contentType: yamlBody,
		body: "apiVersion: GROUP/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  size: 017\n  name: 'on'\nfree: {a: yes, b: 0x10, c: 1.50, e: 2001-01-01}\n"},
	{method: "PATCH", path: things + "/a?fieldManager=applier", contentType: applyPatch,
		body: "apiVersion: GROUP/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  ports:\n  - name: a\n    port: 80\n"},
	{method: "GET", path: things},
}

// rbacSteps makes requests as users that have one verb each. The server must authorize the verb that it then executes.
func rbacSteps() []rawStep {
	var steps []rawStep
	roles := "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles"
	for _, verb := range []string{"watch", "list", "patch"} {
		steps = append(steps,
			rawStep{method: "POST", path: roles, codeOnly: true, body: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"` + verb +
				`"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["` + verb + `"]}]}`},
			rawStep{method: "POST", path: strings.Replace(roles, "roles", "rolebindings", 1), codeOnly: true,
				body: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"` + verb + `"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"` +
					verb + `"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"` + verb + `-NS"}]}`})
	}
	steps = append(steps,
		rawStep{method: "GET", path: rawMaps + "?limit=1", as: "list-NS", retryForbidden: true, codeOnly: true},
		rawStep{method: "GET", path: rawMaps + "?watch=1&timeoutSeconds=1", as: "watch-NS", retryForbidden: true, codeOnly: true},
		rawStep{method: "PATCH", path: rawMaps + "/none", contentType: mergePatch, body: "{}", as: "patch-NS", retryForbidden: true, codeOnly: true})
	for _, query := range []string{"", "watch=False", "watch=fALSE", "watch=0", "watch=false&watch=true", "watch=1&timeoutSeconds=1", "watch&timeoutSeconds=1",
		"watch=true&watch=false&timeoutSeconds=1"} {
		steps = append(steps,
			rawStep{method: "GET", path: rawMaps + "?" + query, as: "watch-NS", codeOnly: true},
			rawStep{method: "GET", path: rawMaps + "?" + query, as: "list-NS", codeOnly: true})
	}
	apply := rawStep{method: "PATCH", path: rawMaps + "/a?fieldManager=m", contentType: applyPatch, body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`}
	applyAs := apply
	applyAs.as = "patch-NS"
	many := []string{}
	for i := range 60 {
		many = append(many, fmt.Sprintf("group-%d", i))
	}
	return append(steps, applyAs, apply, applyAs,
		rawStep{method: "GET", path: rawMaps + "/a", as: "jane", groups: many},
		rawStep{method: "GET", path: rawMaps + "/a", as: "jane", groups: append(many, "system:masters")})
}

func compareTables(ctx context.Context, h *harness) error {
	own, err := h.ownServer(ctx) // other cases leave default classes on the shared one
	if err != nil {
		return err
	}
	c, err := h.configsBeside(ctx, own)
	if err != nil {
		return err
	}
	return errors.Join(h.compareRequests(ctx, c.real, "-real"), h.compareRequests(ctx, c.served))
}

// compareRequests sends the requests of all tables to a server.
func (h *harness) compareRequests(ctx context.Context, config *rest.Config, flags ...string) error {
	tables, err := filepath.Glob(filepath.Join(h.clients, "../e2e/serve-requests/*.txt"))
	if err != nil {
		return err
	}
	arguments := append(flags, "-url", config.Host, "-token", config.BearerToken, "-compare",
		filepath.Join(h.clients, "../data/real_responses.jsonl"))
	out, err := exec.CommandContext(ctx, filepath.Join(h.bin, "serve-requests"), append(arguments, tables...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %q: %w\n%s", config.Host, flags, err, out)
	}
	return nil
}
