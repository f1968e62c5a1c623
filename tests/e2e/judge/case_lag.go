// Two kube-apiservers of one cluster. One lags: the gate between it and etcd holds back all bytes, so its watch cache gets no changes.
// kinformer and client-go's informer are moved from the good server to the lagging one and back. Neither may notify of an older state after a
// newer one: the states of each object are a subsequence of the real ones. Both have the same state as the server at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/dynamic"
)

var lagCases = []testCase{{name: "lagging-cache", run: laggingCache}}

// auditLogInterval is the pause between two reads of the audit log.
const auditLogInterval = 50 * time.Millisecond

// maxLagRequests is the limit of kinformer's requests to the lagging server.
const maxLagRequests = 12

func laggingCache(ctx context.Context, h *harness) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	good, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	toEtcd, err := h.openGate("unix", filepath.Join(good.dir, "client:0"))
	if err != nil {
		return err
	}
	lagging, err := h.secondServer(ctx, good, toEtcd)
	if err != nil {
		return err
	}
	k := h.kubectl(good)
	if err := k.runAll(ctx, "create namespace "+churnNamespace); err != nil {
		return err
	}
	client, err := good.client()
	if err != nil {
		return err
	}
	witness, err := rawWatch(ctx, client, pods)
	if err != nil {
		return err
	}
	kinformerGate, w, err := h.watchBehindGate(ctx, good, "pods")
	if err != nil {
		return err
	}
	informerGate, err := h.openGate("tcp", good.address())
	if err != nil {
		return err
	}
	config, err := good.restConfig()
	if err != nil {
		return err
	}
	config.Host = "https://" + informerGate.address
	informerClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	informer, err := clientGoInformer(ctx, informerClient, pods)
	if err != nil {
		return err
	}
	informer.allowRepeats()
	if err := w.awaitSynced(ctx, "pods"); err != nil {
		return errors.Join(err, w.check())
	}
	if err := churn(ctx, client, churnSeed); err != nil {
		return err
	}

	// The second server is up to date until here and gets no changes from here on.
	laggingClient, err := lagging.client()
	if err != nil {
		return err
	}
	lagCtx, endLag := context.WithCancel(ctx)
	defer endLag()
	witnessOfLag, err := rawWatch(lagCtx, laggingClient, pods)
	if err != nil {
		return err
	}
	toEtcd.hold(true)
	if err := errors.Join(churn(ctx, client, churnSeed+1), k.runAll(ctx, "run seen -n churn --image=example.com/seen:1")); err != nil {
		return err
	}
	seen := identity{"Pod", churnNamespace, "seen"}
	for _, r := range []*record{w.record, informer, witness} {
		if err := r.awaitChange(ctx, nil, addedChange, seen); err != nil {
			return err
		}
	}

	// Both move to the lagging server, where kinformer resumes its watch. Then the connections are cut, and kinformer relists. Its resource
	// version is newer than that of this server.
	if err := errors.Join(kinformerGate.redirect("tcp", lagging.address()), informerGate.redirect("tcp", lagging.address())); err != nil {
		return err
	}
	isOpened := func(r request) bool { return isPlainWatch(r) }
	if err := lagging.awaitRequest(ctx, "watch by kinformer", isOpened); err != nil {
		return err
	}
	kinformerGate.cut()
	informerGate.cut()
	if err := churn(ctx, client, churnSeed+2); err != nil {
		return err
	}
	isRelist := func(r request) bool { return isStreamingList(r) || r.code >= 400 }
	if err := lagging.awaitRequest(ctx, "new list by kinformer", isRelist); err != nil {
		return err
	}
	behind := witnessOfLag.historyOf(seen)
	endLag() // a server that catches up can end watches
	if behind != nil {
		return fmt.Errorf("the second server does not lag, its watch has %v", behind)
	}
	toEtcd.hold(false)
	if err := k.runAll(ctx, "run caught-up -n churn --image=example.com/up:1"); err != nil {
		return err
	}
	caughtUp := identity{"Pod", churnNamespace, "caught-up"}
	for _, r := range []*record{w.record, informer, witness} {
		if err := r.awaitChange(ctx, nil, addedChange, caughtUp); err != nil {
			return err
		}
	}
	requests, _, err := lagging.requests(0)
	if err != nil {
		return err
	}
	if n := count(requests, "pods", func(request) bool { return true }); n > maxLagRequests {
		return fmt.Errorf("%d requests to the lagging server, wanted at most %d", n, maxLagRequests)
	}

	// Both move back to the good server while pods change.
	if err := errors.Join(kinformerGate.redirect("tcp", good.address()), informerGate.redirect("tcp", good.address())); err != nil {
		return err
	}
	if err := errors.Join(churn(ctx, client, churnSeed+3), k.runAll(ctx, "run last -n churn --image=example.com/last:1")); err != nil {
		return err
	}
	last := identity{"Pod", churnNamespace, "last"}
	for _, r := range []*record{w.record, informer, witness} {
		if err := r.awaitChange(ctx, nil, addedChange, last); err != nil {
			return err
		}
	}
	list, err := k.list(ctx, "pods")
	if err != nil {
		return err
	}
	errs := []error{witness.check(), compareObjects("the witness", witness.snapshot(), list)}
	for _, r := range []*record{w.record, informer} {
		errs = append(errs, r.check(), compareStates(r, witness), compareObjects(r.name+" at the end", r.snapshot(), list))
	}
	return errors.Join(append(errs, w.process.stop())...)
}

// awaitRequest waits until the audit log has a request of kinformer for pods that fulfils is.
func (s *server) awaitRequest(ctx context.Context, what string, is func(request) bool) error {
	return s.awaitRequestAfter(ctx, 0, what, is)
}

// awaitRequestAfter does the same for the requests after a mark in the log.
func (s *server) awaitRequestAfter(ctx context.Context, mark int64, what string, is func(request) bool) error {
	for {
		requests, _, err := s.requests(mark)
		if err != nil {
			return err
		}
		if count(requests, "pods", is) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no %s: %v: %w", what, requests, ctx.Err())
		case <-time.After(auditLogInterval):
		}
	}
}
