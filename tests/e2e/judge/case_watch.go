// `kinformer watch` of three resources while kubectl makes changes. kinformer notifies of each change once and in order, and its state equals
// kubectl's list. With streaming lists and without.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var watchCases = []testCase{
	{name: "watch-real-streaming", run: func(ctx context.Context, h *harness) error {
		return watchReal(ctx, h, true)
	}},
	{name: "watch-real-plain", run: func(ctx context.Context, h *harness) error {
		return watchReal(ctx, h, false, "--feature-gates", "WatchList=false")
	}},
}

const watchedResources = "pods,deployments,namespaces"

// script has kubectl's commands and the expected notifications of each. The deletion of a pod first sets its deletionTimestamp, then removes the
// pod. A deleted namespace stays terminating until it is finalized.
var script = []struct{ command, notified string }{
	{"create namespace e2e-new", "ADDED Namespace e2e-new"},
	{"label namespace e2e-new stage=one", "MODIFIED Namespace e2e-new"},
	{"run c -n e2e --image=example.com/c:1 --labels=app=c", "ADDED Pod e2e/c"},
	{"label pod a -n e2e tier=front", "MODIFIED Pod e2e/a"},
	{"annotate pod a -n e2e note=first", "MODIFIED Pod e2e/a"},
	{"patch pod a -n e2e --subresource=status --type=merge -p {\"status\":{\"phase\":\"Running\"}}", "MODIFIED Pod e2e/a"},
	{"annotate deployment web -n e2e note=second", "MODIFIED Deployment e2e/web"},
	{"patch deployment web -n e2e --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]",
		"MODIFIED Deployment e2e/web"},
	{"create deployment api -n e2e --image=example.com/api:1", "ADDED Deployment e2e/api"},
	{"label pod a -n e2e tier-", "MODIFIED Pod e2e/a"},
	{"delete pod b -n e2e", "MODIFIED DELETED Pod e2e/b"},
	{"run b -n e2e --image=example.com/b:2", "ADDED Pod e2e/b"},
	{"delete pod b -n e2e", "MODIFIED DELETED Pod e2e/b"},
	{"run b -n e2e --image=example.com/b:3", "ADDED Pod e2e/b"},
	{"set image pod/b b=example.com/b:4 -n e2e", "MODIFIED Pod e2e/b"},
	{"delete deployment web -n e2e", "DELETED Deployment e2e/web"},
	{"create deployment web -n e2e --image=example.com/web:2 --replicas=5", "ADDED Deployment e2e/web"},
	{"delete namespace e2e-new --wait=false", "MODIFIED Namespace e2e-new"},
	{"finalize e2e-new", "DELETED Namespace e2e-new"},
	// The last object of each resource: once kinformer has notified of it, kinformer has notified of all changes before.
	{"create namespace e2e-last", "ADDED Namespace e2e-last"},
	{"run last -n e2e --image=example.com/last:1", "ADDED Pod e2e/last"},
	{"create deployment last -n e2e --image=example.com/last:1", "ADDED Deployment e2e/last"},
}

var lastOnes = []identity{{"Namespace", "", "e2e-last"}, {"Pod", "e2e", "last"}, {"Deployment", "e2e", "last"}}

func watchReal(ctx context.Context, h *harness, streaming bool, flags ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := h.ownServer(ctx, flags...)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := k.runAll(ctx,
		"create namespace e2e",
		"run a -n e2e --image=example.com/a:1 --labels=app=a",
		"run b -n e2e --image=example.com/b:1",
		"create deployment web -n e2e --image=example.com/web:1",
	); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	witness, err := rawWatch(ctx, client, pods, deployments, namespaces)
	if err != nil {
		return err
	}
	before, err := k.list(ctx, watchedResources)
	if err != nil {
		return err
	}

	w, err := h.watch("kinformer", watchedResources, "-A", "--kubeconfig", s.file("kubeconfig-kinformer"))
	if err != nil {
		return err
	}
	if err := w.awaitSynced(ctx, "pods", "deployments", "namespaces"); err != nil {
		return errors.Join(err, w.check())
	}
	if err := compareObjects("after SYNCED", w.snapshot(), before); err != nil {
		return err
	}
	if notified := w.changeCount(); notified != 0 {
		return fmt.Errorf("%d notifications before the first change, wanted none", notified)
	}

	for _, step := range script {
		if err := perform(ctx, k, step.command); err != nil {
			return err
		}
	}
	if err := w.awaitAll(ctx, addedChange, lastOnes...); err != nil {
		return errors.Join(err, w.check())
	}
	for _, id := range lastOnes {
		if err := witness.awaitChange(ctx, nil, addedChange, id); err != nil {
			return err
		}
	}
	after, err := k.list(ctx, watchedResources)
	if err != nil {
		return err
	}
	return errors.Join(
		w.check(), witness.check(),
		compareScript(w.record),
		compareHistories(w.record, witness),
		compareObjects("at the end", w.snapshot(), after),
		compareRequests(s, streaming),
		w.process.stop(),
	)
}

// perform runs one kubectl command. "finalize NAME" finalizes a namespace, in place of the namespace controller.
func perform(ctx context.Context, k kubectl, command string) error {
	name, isFinalize := strings.CutPrefix(command, "finalize ")
	if !isFinalize {
		return k.runAll(ctx, command)
	}
	out, err := k.run(ctx, "get", "namespace", name, "-o", "json")
	if err != nil {
		return err
	}
	out = strings.Replace(out, `"finalizers": [
            "kubernetes"
        ]`, `"finalizers": []`, 1)
	_, err = k.runInput(ctx, out, "replace", "--raw", "/api/v1/namespaces/"+name+"/finalize", "-f", "-")
	return err
}

// compareScript compares the notifications with the script.
func compareScript(r *record) error {
	want := map[string][]string{}
	for _, step := range script {
		words := strings.Fields(step.notified) // changes, kind and name
		id := strings.Join(words[len(words)-2:], " ")
		want[id] = append(want[id], words[:len(words)-2]...)
	}
	var differences []string
	for id := range r.snapshot() {
		if _, found := want[id.String()]; !found {
			want[id.String()] = nil
		}
	}
	for text, kinds := range want {
		var notified []string
		for _, c := range r.historyOf(parseIdentity(text)) {
			if c.kind != initialChange {
				notified = append(notified, c.kind)
			}
		}
		if strings.Join(notified, " ") != strings.Join(kinds, " ") {
			differences = append(differences, fmt.Sprintf("%s: notified of %v, wanted %v", text, notified, kinds))
		}
	}
	return report("notifications compared with the script", differences)
}

func parseIdentity(text string) identity {
	kind, rest, _ := strings.Cut(text, " ")
	namespace, name, namespaced := strings.Cut(rest, "/")
	if !namespaced {
		return identity{kind, "", rest}
	}
	return identity{kind, namespace, name}
}

// compareRequests checks kinformer's requests for each resource: one streaming list alone, or, without streaming lists, at most one attempt with
// an error response, one list and one watch.
func compareRequests(s *server, streaming bool) error {
	requests, _, err := s.requests(0)
	if err != nil {
		return err
	}
	var differences []string
	for _, resource := range strings.Split(watchedResources, ",") {
		streams := count(requests, resource, isStreamingList)
		lists := count(requests, resource, isPlainList)
		watches := count(requests, resource, isPlainWatch)
		if streaming && (streams != 1 || lists != 0 || watches != 0) || !streaming && (streams > 1 || lists != 1 || watches != 1) {
			differences = append(differences, fmt.Sprintf("%s: unexpected %d streaming lists, %d lists, %d watches", resource, streams,
				lists, watches))
		}
	}
	return report("kinformer's requests", differences)
}
