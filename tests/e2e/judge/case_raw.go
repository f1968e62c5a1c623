// The same HTTP requests against the real server and against `kinformer serve`. Status, warnings and JSON of the responses must be the same
// except for uids, times and versions.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
