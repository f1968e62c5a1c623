// What comes and goes under a watching kinformer: a permission, taken away and given back; a custom resource, installed after the
// start and deleted. It waits, says that it is blocked, and goes on by itself with nothing lost.
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
	{name: "custom-resource-unseen", kinformerOnly: true, run: customResource(true)},
}

// How often is asked what tells nobody by itself: a file, the server's rules.
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

// awaitWords waits until a program has said a line with all of the words on its standard error, behind a place in it; it gives the
// place behind what there is.
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
			return false, fmt.Errorf("%s ended without saying %q", p.name, words)
		}
		return false, nil
	})
	return end, err
}

// awaitMay waits until the user may list pods, or may not any more: the server learns of its rules a moment late.
func awaitPermission(ctx context.Context, k kubectl, isAllowed bool) error {
	return poll(ctx, "change of what the user may do", func() (bool, error) {
		out, err := k.run(ctx, "auth", "can-i", "list", "pods", "-A", "--as", "nobody")
		said := strings.TrimSpace(out)
		if said != "yes" && said != "no" {
			return false, err
		}
		return (said == "yes") == isAllowed, nil
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
	g.cut() // a watch that is open goes on: rules count when it is opened
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
	// By itself, once it may.
	if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "fresh"}); err != nil {
		return err
	}
	if err := w.awaitNewPod(ctx, k, "last"); err != nil {
		return err
	}
	return errors.Join(w.checkState(ctx, k, "pods", "after the permission came back"), checkFoundByComparing(w))
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
		// The type is served a moment after it is established.
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

// customResource: a watch of a type that is installed later, deleted, and installed again. While kinformer looks on, the deletion of
// each object is told as it happens; where it is cut off meanwhile, it finds the type gone, and tells them after a minute.
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
	said, err := awaitLogLine(ctx, w.process, 0, "foos: blocked")
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
	// Told before the definition goes: what was not seen is no loss.
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
	if _, err := awaitLogLine(ctx, w.process, said, "foos: blocked"); err != nil {
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
	return errors.Join(w.check(), compareObjects("after the type came back", w.snapshot(), list), checkKnownAsUnseen(w, one, unseen))
}

func isLabelled(obj object) bool {
	metadata, _ := obj["metadata"].(object)
	labels, _ := metadata["labels"].(object)
	return labels["step"] == "one"
}

// checkKnownAsUnseen holds kinformer to what it can know of a last state.
func checkKnownAsUnseen(w *watcher, id identity, unseen bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finalStateUnknown[id] != unseen {
		return fmt.Errorf("%s is told with finalStateUnknown %v", id, w.finalStateUnknown[id])
	}
	return nil
}
