// A permission is removed and restored, or a custom resource is installed and deleted, while kinformer watches. kinformer reports that it is
// blocked, retries, and continues without losing a change.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

var availabilityCases = []testCase{
	{name: "permission-lost", kinformerOnly: true, run: permissionLost},
	{name: "custom-resource-watched", kinformerOnly: true, run: customResource(false)},
	{name: "custom-resource-unseen", kinformerOnly: true, isWaiting: true, run: customResource(true)},
}

// pollInterval is the pause between two checks of a condition that sends no notification, such as a file or the permissions of a user.
const pollInterval = 100 * time.Millisecond

func poll(ctx context.Context, what string, holds func() (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if isTrue, err := holds(); isTrue || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("no %s: %w", what, ctx.Err())
		}
	}
}

// awaitLogLine waits until the log of a program has a line with all of the words, after the offset from. It returns the size of the log.
func awaitLogLine(ctx context.Context, p *process, from int, words ...string) (int, error) {
	end := from
	err := poll(ctx, fmt.Sprintf("line with %q", words), func() (bool, error) {
		text, err := os.ReadFile(p.logPath)
		if err != nil {
			return false, err
		}
		end = len(text)
		for _, line := range strings.Split(string(text[from:]), "\n") {
			found := true
			for _, word := range words {
				found = found && strings.Contains(line, word)
			}
			if found {
				return true, nil
			}
		}
		if !p.running() {
			return false, fmt.Errorf("%s exited without a log line with %q", p.name, words)
		}
		return false, nil
	})
	return end, err
}

// awaitPermission waits until the user nobody may list pods, or may not. The server applies changed roles after a moment.
func awaitPermission(ctx context.Context, k kubectl, isAllowed bool) error {
	return poll(ctx, fmt.Sprintf("state in which nobody may list pods: %t", isAllowed), func() (bool, error) {
		out, err := k.run(ctx, "auth", "can-i", "list", "pods", "-A", "--as", "nobody")
		answer := strings.TrimSpace(out)
		if answer != "yes" && answer != "no" {
			return false, err
		}
		return (answer == "yes") == isAllowed, nil
	})
}

const bindRole = "create clusterrolebinding e2e-watcher --clusterrole=e2e-watcher --user=nobody"

func permissionLost(ctx context.Context, h *harness) error {
	s, k, err := h.preparedServer(ctx,
		"create clusterrole e2e-watcher --verb=list,watch --resource=pods", bindRole,
		"create namespace e2e",
		"run kept -n e2e --image=example.com/kept:1",
		"run gone -n e2e --image=example.com/gone:1",
	)
	if err != nil {
		return err
	}
	g, err := h.openGate("tcp", s.address())
	if err != nil {
		return err
	}
	token, err := os.ReadFile(s.file("nobody.token"))
	if err != nil {
		return err
	}
	w, err := h.watch("kinformer", "pods", "-A", "--server", "https://"+g.address, "--token", string(token),
		"--certificate-authority", s.file("ca.crt"))
	if err != nil {
		return err
	}
	if err := losePermission(ctx, k, w, g); err != nil {
		return errors.Join(err, w.check())
	}
	return w.process.stop()
}

func losePermission(ctx context.Context, k kubectl, w *watcher, g *gate) error {
	if err := w.awaitSynced(ctx, "pods"); err != nil {
		return err
	}
	if err := k.runAll(ctx, "delete clusterrolebinding e2e-watcher"); err != nil {
		return err
	}
	if err := awaitPermission(ctx, k, false); err != nil {
		return err
	}
	g.cut() // an open watch continues: the server checks permissions only when a watch starts
	if _, err := awaitLogLine(ctx, w.process, 0, "pods: blocked", "forbidden"); err != nil {
		return err
	}
	if err := k.runAll(ctx,
		"run fresh -n e2e --image=example.com/fresh:1",
		"delete pod gone -n e2e",
		"label pod kept -n e2e step=one",
		bindRole,
	); err != nil {
		return err
	}
	// kinformer retries by itself.
	if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "fresh"}); err != nil {
		return err
	}
	if err := w.awaitNewPod(ctx, k, "last"); err != nil {
		return err
	}
	return errors.Join(w.checkState(ctx, k, "pods", "after the permission was restored"), checkFinalStateUnknown(w, identity{"Pod", "e2e", "gone"}, true))
}

func fooDefinition() object {
	anything := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "foos.example.com"},
		"spec": object{
			"group": "example.com", "scope": "Namespaced",
			"names": object{"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
			"versions": []any{object{"name": "v1", "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": anything}}},
		},
	}
}

func installFoos(ctx context.Context, k kubectl, names ...string) error {
	if err := k.create(ctx, fooDefinition()); err != nil {
		return err
	}
	if err := k.runAll(ctx, "wait --for=condition=Established --timeout=60s crd/foos.example.com"); err != nil {
		return err
	}
	return createFoos(ctx, k, names...)
}

func createFoos(ctx context.Context, k kubectl, names ...string) error {
	for _, name := range names {
		foo := object{"apiVersion": "example.com/v1", "kind": "Foo", "spec": object{"size": 3},
			"metadata": object{"name": name, "namespace": "default"}}
		// The server serves a type a moment after its definition is established.
		err := poll(ctx, "foo "+name, func() (bool, error) {
			err := k.create(ctx, foo)
			if err != nil && (strings.Contains(err.Error(), "no matches for kind") || strings.Contains(err.Error(), "NotFound")) {
				return false, nil
			}
			return true, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// customResource watches a type that is installed after the start, deleted, and installed again. If kinformer is connected, it notifies of each
// deletion as it happens. If unseen, kinformer is disconnected during the deletion, finds the type missing, and notifies after a minute.
func customResource(unseen bool) func(context.Context, *harness) error {
	return func(ctx context.Context, h *harness) error {
		s, err := h.ownServer(ctx)
		if err != nil {
			return err
		}
		g, w, err := h.watchBehindGate(ctx, s, "foos.v1.example.com")
		if err != nil {
			return err
		}
		if err := installAndDelete(ctx, s, h.kubectl(s), w, g, unseen); err != nil {
			return errors.Join(err, w.check())
		}
		return w.process.stop()
	}
}

func installAndDelete(ctx context.Context, s *server, k kubectl, w *watcher, g *gate, unseen bool) error {
	one, two := identity{"Foo", "default", "one"}, identity{"Foo", "default", "two"}
	logSize, err := awaitLogLine(ctx, w.process, 0, "foos: blocked")
	if err != nil {
		return err
	}
	if err := installFoos(ctx, k, "one", "two"); err != nil {
		return err
	}
	if err := w.awaitSynced(ctx, "foos"); err != nil {
		return err
	}
	if err := k.runAll(ctx, "label foos.example.com one step=one", "label foos.example.com two step=one"); err != nil {
		return err
	}
	// kinformer must have both changes before the definition is deleted: a change that it never got is not lost.
	if err := w.await(ctx, "label of both", w.process.ended, func() bool {
		return isLabelled(w.state[one]) && isLabelled(w.state[two])
	}); err != nil {
		return err
	}
	if unseen {
		g.shut()
	}
	if err := k.runAll(ctx, "delete crd foos.example.com"); err != nil {
		return err
	}
	if unseen {
		if err := g.redirect("tcp", s.address()); err != nil {
			return err
		}
	}
	if err := w.awaitAll(ctx, deletedChange, one, two); err != nil {
		return err
	}
	if _, err := awaitLogLine(ctx, w.process, logSize, "foos: blocked"); err != nil {
		return err
	}
	if err := installFoos(ctx, k, "three"); err != nil {
		return err
	}
	if err := w.awaitAll(ctx, addedChange, identity{"Foo", "default", "three"}); err != nil {
		return err
	}
	list, err := k.list(ctx, "foos.example.com")
	if err != nil {
		return err
	}
	return errors.Join(w.check(), compareObjects("after the type was installed again", w.snapshot(), list), checkFinalStateUnknown(w, one, unseen))
}

func isLabelled(obj object) bool {
	metadata, _ := obj["metadata"].(object)
	labels, _ := metadata["labels"].(object)
	return labels["step"] == "one"
}
