// The script of changes that both sample controllers react to, and the parts of the state that are compared after each step.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type sampleStep struct {
	name string
	run  func(ctx context.Context, st *stage) error
}

// sampleScript has steps that wait for a final state, so that the states after each step can be compared. The status of a Foo must not reach the
// final number of replicas earlier: otherwise the state could still change after the wait.
var sampleScript = []sampleStep{
	{"a Foo without the name of a Deployment", func(ctx context.Context, st *stage) error {
		_, err := st.createFoo(ctx, "nameless", "", 2)
		return err // the controller does nothing: otherwise the states after the next steps would differ
	}},
	{"a Foo", func(ctx context.Context, st *stage) error {
		if _, err := st.createFoo(ctx, "one", "one", 1); err != nil {
			return err
		}
		return st.awaitFoo(ctx, "one", "one", 1)
	}},
	{"another Foo", func(ctx context.Context, st *stage) error {
		if _, err := st.createFoo(ctx, "two", "two", 3); err != nil {
			return err
		}
		return st.awaitFoo(ctx, "two", "two", 3)
	}},
	{"scaled up", scaleFoo("one", 4)},
	{"scaled down", scaleFoo("one", 2)},
	{"the Deployment scaled by hand", func(ctx context.Context, st *stage) error {
		before, err := st.get(ctx, deployments, "two")
		if err != nil {
			return err
		}
		if err := st.scale(ctx, deployments, "two", 5); err != nil {
			return err
		}
		// The scaling by hand makes one new generation, the controller another one.
		if err := st.awaitGeneration(ctx, "two", before.GetGeneration()+2); err != nil {
			return err
		}
		return scaleFoo("two", 2)(ctx, st)
	}},
	{"the Deployment deleted", func(ctx context.Context, st *stage) error {
		before, err := st.get(ctx, deployments, "one")
		if err != nil {
			return err
		}
		if err := st.delete(ctx, deployments, "one"); err != nil {
			return err
		}
		if err := awaitSoon(ctx, "another Deployment", func() (string, error) {
			now, err := st.get(ctx, deployments, "one")
			if err != nil || now != nil && now.GetUID() != before.GetUID() {
				return "", err
			}
			return "the Deployment does not exist or is the old one", nil
		}); err != nil {
			return err
		}
		return scaleFoo("one", 3)(ctx, st)
	}},
	{"a Foo without replicas", func(ctx context.Context, st *stage) error {
		if _, err := st.createFoo(ctx, "any", "any", 0); err != nil {
			return err
		}
		if err := st.awaitFoo(ctx, "any", "any", 1); err != nil {
			return err
		}
		if err := st.scale(ctx, deployments, "any", 3); err != nil {
			return err
		}
		return st.awaitFoo(ctx, "any", "any", 3)
	}},
	{"a Foo whose Deployment it does not control", func(ctx context.Context, st *stage) error {
		if err := st.k.runAll(ctx, "create deployment taken --image=example.com/taken:1 -n "+st.namespace); err != nil {
			return err
		}
		if err := awaitState(ctx, "the Deployment without a Foo", func() (string, error) {
			taken, err := st.get(ctx, deployments, "taken")
			if err != nil || number(taken, "status", "availableReplicas") == 1 {
				return "", err
			}
			return "not available", nil
		}); err != nil {
			return err
		}
		if _, err := st.createFoo(ctx, "late", "taken", 2); err != nil {
			return err
		}
		return awaitSoon(ctx, "retries", func() (string, error) {
			count, err := st.eventCount(ctx, "late", "ErrResourceExists")
			if err != nil || count >= retryEvents {
				return "", err
			}
			return fmt.Sprintf("%d Events", count), nil
		})
	}},
	{"the Deployment without a Foo deleted", func(ctx context.Context, st *stage) error {
		if err := st.delete(ctx, deployments, "taken"); err != nil {
			return err
		}
		return st.awaitFoo(ctx, "late", "taken", 2) // by a retry: the controller gets no event for the Foo
	}},
	{"a Foo with another deploymentName", func(ctx context.Context, st *stage) error {
		if err := st.patch(ctx, foos, "two", `{"spec":{"deploymentName":"second","replicas":6}}`); err != nil {
			return err
		}
		return st.awaitFoo(ctx, "two", "second", 6)
	}},
	{"Foos deleted", func(ctx context.Context, st *stage) error {
		for _, name := range []string{"one", "two"} {
			if err := st.awaitEvent(ctx, name, "Synced"); err != nil {
				return err
			}
			if err := st.delete(ctx, foos, name); err != nil {
				return err
			}
		}
		for _, name := range []string{"one", "two", "second"} { // the garbage collector deletes them
			if err := st.awaitDeleted(ctx, deployments, name); err != nil {
				return err
			}
		}
		return nil
	}},
	{"a Foo deleted without its Deployment", func(ctx context.Context, st *stage) error {
		if err := st.awaitEvent(ctx, orphaningFoo, "Synced"); err != nil {
			return err
		}
		if err := st.k.runAll(ctx, "delete foo "+orphaningFoo+" --cascade=orphan -n "+st.namespace); err != nil {
			return err
		}
		return awaitState(ctx, "Deployment without an owner", func() (string, error) {
			orphan, err := st.get(ctx, deployments, orphaningFoo)
			if err != nil || orphan != nil && len(orphan.GetOwnerReferences()) == 0 {
				return "", err
			}
			return fmt.Sprintf("%v", orphan), nil
		})
	}},
	{"the last Event", func(ctx context.Context, st *stage) error { return st.awaitEvent(ctx, "late", "Synced") }},
}

// orphaningFoo is deleted without its Deployment, which has the same name.
const orphaningFoo = "any"

// soonLimit is shorter than the resync period of both controllers, which is 30 seconds. It is the limit for reactions that must not wait for a
// resync.
const soonLimit = 15 * time.Second

// retryEvents is the number of Events that proves retries. The retry interval starts at 5 milliseconds and doubles.
const retryEvents = 4

func awaitSoon(ctx context.Context, what string, problem func() (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, soonLimit)
	defer cancel()
	return awaitState(ctx, what, problem)
}

func scaleFoo(name string, replicas int) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		if err := st.scale(ctx, foos, name, replicas); err != nil {
			return err
		}
		return st.awaitFoo(ctx, name, name, int64(replicas))
	}
}

func (st *stage) awaitGeneration(ctx context.Context, deployment string, generation int64) error {
	return awaitState(ctx, "next generation", func() (string, error) {
		now, err := st.get(ctx, deployments, deployment)
		if err != nil || now.GetGeneration() >= generation {
			return "", err
		}
		return fmt.Sprintf("%d, wanted %d", now.GetGeneration(), generation), nil
	})
}

// variableFields are the names of the fields that differ from run to run. The deployment controller writes conditions and collisionCount; they
// depend on the timing.
var variableFields = []string{"uid", "resourceVersion", "creationTimestamp", "time", "firstTimestamp", "lastTimestamp", "conditions", "collisionCount"}

// The variable parts of texts: uids, hashes of pod templates, ages of Events.
var (
	uidText      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	templateHash = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{7,10}\b`)
	variableLine = regexp.MustCompile(`(Creation Timestamp|Resource Version|UID):`)
	eventAge     = regexp.MustCompile(` (<unknown>|<invalid>|[0-9]+[smhd][0-9smhd]*)( \(x[0-9]+ over [0-9smhd]+\))? `)
	eventName    = regexp.MustCompile(`\.[0-9a-f]{16}$`)
)

func (st *stage) normalizedText(text string) string {
	text = strings.ReplaceAll(text, st.namespace, "NAMESPACE")
	return templateHash.ReplaceAllString(uidText.ReplaceAllString(text, "UID"), "-HASH")
}

// normalized returns a decoded value without its variable fields and texts.
func (st *stage) normalized(value any) any {
	switch value := value.(type) {
	case object:
		kept := object{}
		for key, part := range value {
			if !slices.Contains(variableFields, key) {
				kept[st.normalizedText(key)] = st.normalized(part)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i := range value {
			kept[i] = st.normalized(value[i])
		}
		return kept
	case string:
		return st.normalizedText(value)
	}
	return value
}

// readState returns all Foos and Deployments, with the managed fields of the sample controller.
func (st *stage) readState(ctx context.Context) (any, error) {
	seen := object{}
	out, err := st.k.run(ctx, "get", "foos,deployments", "-n", st.namespace, "-o", "json", "--show-managed-fields")
	if err != nil {
		return nil, err
	}
	list, err := parseList([]byte(out))
	if err != nil {
		return nil, err
	}
	for id, obj := range list {
		normalized := st.normalized(obj).(object)
		metadata := normalized["metadata"].(object)
		metadata["managedFields"] = managedBySample(metadata["managedFields"])
		seen[st.normalizedText(id.String())] = normalized
	}
	return seen, nil
}

// managedBySample returns the entries of the sample controller's field manager, in an order that does not depend on time.
func managedBySample(entries any) []any {
	list, _ := entries.([]any)
	kept := slices.DeleteFunc(slices.Clone(list), func(entry any) bool { return field(entry.(object), "manager") != fieldManager })
	slices.SortFunc(kept, func(a, b any) int {
		left, _ := json.Marshal(a)
		right, _ := json.Marshal(b)
		return bytes.Compare(left, right)
	})
	return kept
}

// describe returns the lines of `kubectl describe foos`, without variable texts.
func (st *stage) describe(ctx context.Context) ([]string, error) {
	out, err := st.k.run(ctx, "describe", "foos", "-n", st.namespace)
	if err != nil {
		return nil, err
	}
	var kept []string
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(line), " ")
		if !variableLine.MatchString(line) {
			kept = append(kept, eventAge.ReplaceAllString(st.normalizedText(line), " AGE "))
		}
	}
	return kept, nil
}

// eventTexts returns the Events about Foos as JSON, each once. The count is omitted, since it depends on the timing. The field manager is
// omitted, since client-go uses the file name of the program.
func (st *stage) eventTexts(ctx context.Context) ([]string, error) {
	list, err := st.resource(events).List(ctx, v1.ListOptions{FieldSelector: "involvedObject.kind=Foo"})
	if err != nil {
		return nil, err
	}
	var seen []string
	for i := range list.Items {
		if isOfOrphaning(list.Items[i].Object) {
			continue
		}
		obj, err := st.normalizedEvent(&list.Items[i])
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(seen, string(text)) {
			seen = append(seen, string(text))
		}
	}
	return seen, nil
}

// isOfOrphaning returns true for an Event that depends on the timing: the garbage collector takes the owner from the Deployment, then the
// finalizer from its Foo. Either controller reports that it does not control the Deployment if it reconciles the Foo in between.
func isOfOrphaning(event object) bool {
	foo, _ := event["involvedObject"].(object)
	return foo["name"] == orphaningFoo && event["reason"] == "ErrResourceExists"
}

func (st *stage) normalizedEvent(event *unstructured.Unstructured) (object, error) {
	foo, _ := event.Object["involvedObject"].(object)
	if uid, _ := foo["uid"].(string); uid == "" {
		return nil, fmt.Errorf("an Event about a Foo without uid: %v", event.Object)
	}
	if version, _ := foo["resourceVersion"].(string); version == "" {
		return nil, fmt.Errorf("an Event about a Foo without resourceVersion: %v", event.Object)
	}
	obj := st.normalized(event.Object).(object)
	delete(obj, "count")
	metadata := obj["metadata"].(object)
	delete(metadata, "managedFields")
	metadata["name"] = eventName.ReplaceAllString(event.GetName(), ".TIME")
	return obj, nil
}
