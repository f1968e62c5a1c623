// The library's sample controller compared with Kubernetes' sample controller: its writes in the situations of a table, which include the unit
// tests of Kubernetes', and both controllers through one script.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var sampleCases = []testCase{
	{name: "sample-controller-writes", run: sampleWrites},
	{name: "sample-controller-side-by-side", run: sampleSideBySide},
}

const fieldManager = "sample-controller"

// The writes of the sample controller.
const (
	createsDeployment = "create deployments"
	updatesDeployment = "update deployments"
	updatesStatus     = "update foos/status"
)

// situation is the Foo and the Deployment that exist in a namespace when the controller starts, and the expected result.
type situation struct {
	name           string
	deploymentName string // of the Foo
	replicas       int    // of the Foo; 0: not set
	// given makes the Deployment that exists before; nil: none.
	given        func(foo *unstructured.Unstructured) object
	writes       []string
	event        string // reason of an Event about the Foo; "": none
	replicasLeft int64  // replicas of the Deployment at the end; 0: no Deployment
}

func givenDeployment(replicas int, change func(metadata object)) func(*unstructured.Unstructured) object {
	return func(foo *unstructured.Unstructured) object {
		deployment := sampleDeployment(foo, "test-deployment", replicas)
		if change != nil {
			change(deployment["metadata"].(object))
		}
		return deployment
	}
}

func firstOwner(metadata object) object { return metadata["ownerReferences"].([]any)[0].(object) }

// The first four are the unit tests of Kubernetes' sample controller.
var situations = []situation{
	{"creates-deployment", "test-deployment", 1, nil, []string{createsDeployment, updatesStatus}, "Synced", 1},
	{"does-nothing", "test-deployment", 1, givenDeployment(1, nil), []string{updatesStatus}, "Synced", 1},
	{"updates-deployment", "test-deployment", 2, givenDeployment(1, nil), []string{updatesDeployment, updatesStatus}, "Synced", 2},
	{"not-controlled", "test-deployment", 2, givenDeployment(1, func(metadata object) { delete(metadata, "ownerReferences") }),
		nil, "ErrResourceExists", 1},
	{"controlled-by-an-earlier-foo", "test-deployment", 2, givenDeployment(1, func(metadata object) {
		firstOwner(metadata)["uid"] = "11111111-2222-3333-4444-555555555555"
	}), nil, "ErrResourceExists", 1},
	{"owned-but-not-controlled", "test-deployment", 2, givenDeployment(1, func(metadata object) {
		firstOwner(metadata)["controller"] = false
	}), nil, "ErrResourceExists", 1},
	{"replicas-not-set", "test-deployment", 0, givenDeployment(3, nil), []string{updatesStatus}, "Synced", 3},
	{"replicas-not-set-creates", "test-deployment", 0, nil, []string{createsDeployment, updatesStatus}, "Synced", 1},
	{"deployment-name-missing", "", 1, nil, nil, "", 0},
}

// sampleWrites runs on a server without other controllers, so that the sample controller makes each audited write.
func sampleWrites(ctx context.Context, h *harness) error {
	s, err := h.fooServer(ctx)
	if err != nil {
		return err
	}
	stages := make([]*stage, len(situations))
	made := make([]*unstructured.Unstructured, len(situations))
	for i, it := range situations {
		if stages[i], err = h.newStage(ctx, s, "writes-"+it.name); err != nil {
			return err
		}
		if made[i], err = stages[i].createFoo(ctx, "test", it.deploymentName, it.replicas); err != nil {
			return err
		}
		if it.given != nil {
			if _, err := stages[i].create(ctx, deployments, it.given(made[i])); err != nil {
				return err
			}
		}
	}
	last, err := h.newStage(ctx, s, "writes-last")
	if err != nil {
		return err
	}
	_, mark, err := s.audit(0)
	if err != nil {
		return err
	}
	controller, err := h.startLibraryController("sample-controller", s.file("kubeconfig-kinformer"))
	if err != nil {
		return err
	}
	for i, it := range situations {
		if it.event != "" {
			if err := stages[i].awaitEvent(ctx, "test", it.event); err != nil {
				return fmt.Errorf("%s: %w", it.name, err)
			}
		}
	}
	// The controller handles the last Foo after all others, also after those for which it writes nothing.
	if _, err := last.createFoo(ctx, "test", "test-deployment", 1); err != nil {
		return err
	}
	if err := last.awaitEvent(ctx, "test", "Synced"); err != nil {
		return err
	}
	if err := controller.stop(); err != nil {
		return err
	}
	entries, _, err := s.audit(mark)
	if err != nil {
		return err
	}
	var differences []string
	for i, it := range situations {
		if wrong, err := it.check(ctx, stages[i], made[i], entries); err != nil {
			return fmt.Errorf("%s: %w", it.name, err)
		} else if wrong != "" {
			differences = append(differences, it.name+": "+wrong)
		}
	}
	return report("what the controller wrote", differences)
}

// check compares the writes, the Deployment and the Events in a namespace with the situation. It returns the first difference, or "".
func (it situation) check(ctx context.Context, st *stage, foo *unstructured.Unstructured, entries []auditEntry) (string, error) {
	wrote, wrong := writesIn(entries, st.namespace)
	if wrong != "" || !slices.Equal(wrote, it.writes) {
		return fmt.Sprintf("%swrites %q, wanted %q", wrong, wrote, it.writes), nil
	}
	deployment, err := st.get(ctx, deployments, "test-deployment")
	if err != nil {
		return "", err
	}
	if (deployment != nil) != (it.replicasLeft > 0) || deployment != nil && number(deployment, "spec", "replicas") != it.replicasLeft {
		return fmt.Sprintf("the Deployment is %v, wanted %d replicas", deployment, it.replicasLeft), nil
	}
	if slices.Contains(wrote, createsDeployment) || slices.Contains(wrote, updatesDeployment) {
		have, err := plainObject(deployment)
		if err != nil {
			return "", err
		}
		want, err := plainObject(&unstructured.Unstructured{Object: sampleDeployment(foo, "test-deployment", int(it.replicasLeft))})
		if err != nil {
			return "", err
		}
		if path := missingField("", want, have); path != "" {
			return "the Deployment differs at " + path, nil
		}
	}
	about, err := st.list(ctx, events)
	if err != nil {
		return "", err
	}
	for i := range about {
		kind, reason := field(about[i].Object, "type"), field(about[i].Object, "reason")
		if reason != it.event || (kind == "Warning") != (reason == "ErrResourceExists") {
			return fmt.Sprintf("Event %s %s, wanted %q", kind, reason, it.event), nil
		}
	}
	return "", nil
}

// missingField returns the first path at which have lacks a field of want or has another value, or "".
func missingField(path string, want, have any) string {
	switch want := want.(type) {
	case object:
		haveObject, _ := have.(object)
		for key, value := range want {
			if found := missingField(path+"."+key, value, haveObject[key]); found != "" {
				return found
			}
		}
		return ""
	case []any:
		haveList, _ := have.([]any)
		if len(haveList) != len(want) {
			return fmt.Sprintf("%s: %d parts, wanted %d", path, len(haveList), len(want))
		}
		for i := range want {
			if found := missingField(fmt.Sprintf("%s[%d]", path, i), want[i], haveList[i]); found != "" {
				return found
			}
		}
		return ""
	}
	return difference(path, have, want)
}

// writesIn returns the successful audited writes in a namespace, in order. It skips a write that equals the one before, and Events, since a
// separate thread writes them. wrong describes writes with another field manager or an unexpected error.
func writesIn(entries []auditEntry, namespace string) (writes []string, wrong string) {
	for _, entry := range entries {
		resource := entry.resource()
		if entry.ObjectRef.Namespace != namespace || entry.Stage != "ResponseComplete" || resource == "events" ||
			slices.Contains([]string{"get", "list", "watch"}, entry.Verb) {
			continue
		}
		what := entry.Verb + " " + resource
		query, err := entry.query()
		if err != nil || query.Get("fieldManager") != fieldManager {
			wrong += fmt.Sprintf("%s by the field manager %q; ", what, query.Get("fieldManager"))
		}
		switch code := entry.ResponseStatus.Code; {
		case code < 400 && (len(writes) == 0 || writes[len(writes)-1] != what):
			writes = append(writes, what)
		case code >= 400 && !isStaleCacheStatus(code):
			wrong += fmt.Sprintf("%s: HTTP %d; ", what, code)
		}
	}
	return writes, wrong
}

// isStaleCacheStatus returns true for the errors of a write that was based on a cache a moment behind the server: the object has another
// version (409) or is deleted (404).
func isStaleCacheStatus(code int) bool { return code == 409 || code == 404 }

// sampleSideBySide runs the script with Kubernetes' own controller, then with the library's.
func sampleSideBySide(ctx context.Context, h *harness) error {
	s, err := h.fooServer(ctx)
	if err != nil {
		return err
	}
	if err := h.startControllerManager(s); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	makePodsReady(ctx, client)
	want, err := h.runSampleScript(ctx, s, "gos", func(kubeconfig string) (*process, error) { return h.startKubernetesController("gos", kubeconfig) })
	if err != nil {
		return fmt.Errorf("Kubernetes' controller: %w", err)
	}
	got, err := h.runSampleScript(ctx, s, "ours", func(kubeconfig string) (*process, error) { return h.startLibraryController("ours", kubeconfig) })
	if err != nil {
		return fmt.Errorf("the library's controller: %w", err)
	}
	var differences []string
	for i := range want.seen {
		if path := difference("", got.seen[i].what, want.seen[i].what); path != "" {
			differences = append(differences, fmt.Sprintf("after step %d, %s: %s", i+1, want.seen[i].step, path))
		}
	}
	for part, pair := range map[string][2][]string{"events": {got.events, want.events}, "requests": {got.requests, want.requests},
		"descriptions": {got.described, want.described}} {
		for _, line := range pair[0] {
			if !slices.Contains(pair[1], line) {
				differences = append(differences, fmt.Sprintf("%s: only the library's controller: %s", part, line))
			}
		}
		for _, line := range pair[1] {
			if !slices.Contains(pair[0], line) {
				differences = append(differences, fmt.Sprintf("%s: only Kubernetes' controller: %s", part, line))
			}
		}
	}
	if got.writes > maxWriteRatio*want.writes {
		differences = append(differences, fmt.Sprintf("the library's controller wrote %d times, Kubernetes' %d times, wanted at most %d times as many", got.writes,
			want.writes, maxWriteRatio))
	}
	return report("the two controllers", differences)
}

// maxWriteRatio limits the writes relative to Kubernetes' controller. The number of writes varies, since one reconcile can cover several events.
const maxWriteRatio = 3

// scriptResult is the result of the script with one controller.
type scriptResult struct {
	seen                        []afterStep
	events, requests, described []string
	writes                      int
}

type afterStep struct {
	step string
	what any // the Foos and Deployments, without variable fields
}

func (h *harness) runSampleScript(ctx context.Context, s *server, name string, start func(string) (*process, error)) (scriptResult, error) {
	var result scriptResult
	st, err := h.newStage(ctx, s, "sample-"+name)
	if err != nil {
		return result, err
	}
	_, mark, err := s.audit(0)
	if err != nil {
		return result, err
	}
	controller, err := start(s.file("kubeconfig-kinformer"))
	if err != nil {
		return result, err
	}
	for _, step := range sampleScript {
		if err := step.run(ctx, st); err != nil {
			return result, fmt.Errorf("%s: %w", step.name, err)
		}
		what, err := st.readState(ctx)
		if err != nil {
			return result, err
		}
		result.seen = append(result.seen, afterStep{step.name, what})
	}
	if result.described, err = st.describe(ctx); err != nil {
		return result, err
	}
	if result.events, err = st.eventTexts(ctx); err != nil {
		return result, err
	}
	if err := controller.stop(); err != nil {
		return result, err
	}
	entries, _, err := s.audit(mark)
	if err != nil {
		return result, err
	}
	var wrong string
	for _, entry := range entries {
		if entry.Stage != "ResponseComplete" || slices.Contains([]string{"get", "list", "watch"}, entry.Verb) {
			continue
		}
		query, err := entry.query()
		if err != nil {
			return result, err
		}
		result.writes++
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s", entry.Verb, entry.resource(), query.Get("fieldManager")))
		if code := entry.ResponseStatus.Code; code >= 400 && !isStaleCacheStatus(code) {
			wrong += fmt.Sprintf("%s: HTTP %d; ", line, code)
		}
		if !slices.Contains(result.requests, line) {
			result.requests = append(result.requests, line)
		}
	}
	if wrong != "" {
		return result, fmt.Errorf("failed requests: %s", wrong)
	}
	// The next controller must find no Foos.
	return result, st.k.runAll(ctx, "delete namespace "+st.namespace+" --wait=true --timeout=60s")
}
