// etcd is restored from a backup while kinformer watches. The resource versions of the server become lower, so a watch from kinformer's version
// is accepted and stays silent. kinformer detects the restore without the consistency check, and undoes in its cache what the restore undid.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// kinformerOnly: client-go continues its watch and never detects the restore.
var restoredCases = []testCase{{name: "restored", kinformerOnly: true, isWaiting: true, run: restored}}

const (
	// More than the server itself writes until kinformer detects the restore. Otherwise the versions could reach kinformer's version.
	writesAfterBackup  = 600
	silentWatchSeconds = 3 // kinformer treats a watch that ends within a second differently
)

func restored(ctx context.Context, h *harness) error {
	s, _, err := h.preparedServer(ctx,
		"create namespace e2e",
		"create configmap counter -n e2e",
		"run kept -n e2e --image=example.com/kept:1",
		"run changed -n e2e --image=example.com/changed:1",
		"run deleted -n e2e --image=example.com/deleted:1",
	)
	if err != nil {
		return err
	}
	if err := s.process.stop(); err != nil {
		return err
	}
	if err := os.CopyFS(s.file("backup"), os.DirFS(s.file("etcd"))); err != nil {
		return err
	}
	if s, err = h.ownServer(ctx); err != nil {
		return err
	}
	g, w, err := h.watchBehindGate(ctx, s, "pods", "pods")
	if err != nil {
		return err
	}
	if err := restoreBackup(ctx, h, s, w, g); err != nil {
		return errors.Join(err, w.check())
	}
	return w.process.stop()
}

func restoreBackup(ctx context.Context, h *harness, s *server, w *watcher, g *gate) error {
	if err := writeAfterBackup(ctx, s); err != nil {
		return err
	}
	if err := h.kubectl(s).runAll(ctx,
		"label pod changed -n e2e step=one",
		"delete pod deleted -n e2e",
		"run ghost -n e2e --image=example.com/ghost:1",
	); err != nil {
		return err
	}
	ghost := identity{"Pod", "e2e", "ghost"}
	if err := w.awaitAll(ctx, addedChange, ghost); err != nil {
		return err
	}
	_, mark, err := s.requests(0)
	if err != nil {
		return err
	}
	g.shut() // a server that starts returns errors, and kinformer would relist because of them
	if err := s.process.stop(); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(s.file("etcd")), os.Rename(s.file("backup"), s.file("etcd"))); err != nil {
		return err
	}
	w.allowOlderVersions()
	if s, err = h.ownServer(ctx); err != nil {
		return err
	}
	if err := g.redirect("tcp", s.address()); err != nil {
		return err
	}
	if err := s.awaitRequestAfter(ctx, mark, "watch by kinformer", isPlainWatch); err != nil {
		return err
	}
	// Proves that kinformer's watch is silent. The watch has lasted for a few seconds when it is cut. kinformer's next watch stays open.
	if err := checkSilence(ctx, s, versionOf(w.snapshot()[ghost])); err != nil {
		return err
	}
	g.cut()
	if err := w.awaitAll(ctx, deletedChange, ghost); err != nil {
		return err
	}
	if err := w.awaitAll(ctx, addedChange, identity{"Pod", "e2e", "deleted"}); err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := w.awaitNewPod(ctx, k, "last"); err != nil {
		return err
	}
	return errors.Join(w.checkState(ctx, k, "pods", "after the restore"), checkFinalStateUnknown(w, ghost, true),
		checkRestoreRequests(s, mark))
}

// writeAfterBackup makes the resource version of the server much higher than that of the backup.
func writeAfterBackup(ctx context.Context, s *server) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	counters := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("e2e")
	for n := range writesAfterBackup {
		patch := fmt.Sprintf(`{"data":{"n":"%d"}}`, n)
		if _, err := counters.Patch(ctx, "counter", types.MergePatchType, []byte(patch), v1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// checkSilence checks that the server accepts a watch from a version higher than its own, and sends no events.
func checkSilence(ctx context.Context, s *server, version string) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	seconds := int64(silentWatchSeconds)
	stream, err := client.Resource(pods).Watch(ctx, v1.ListOptions{ResourceVersion: version, TimeoutSeconds: &seconds,
		AllowWatchBookmarks: true})
	if err != nil {
		return fmt.Errorf("a watch from the future version %s failed: %w", version, err)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		return fmt.Errorf("a watch from the future version %s got an event, wanted none: %v", version, event)
	}
	return nil
}

// checkRestoreRequests checks that kinformer requested its version once, with a list of one object that got 504, and then listed once.
func checkRestoreRequests(s *server, mark int64) error {
	requests, _, err := s.requests(mark)
	if err != nil {
		return err
	}
	isCheck := func(r request) bool { return isPlainList(r) && r.query.Get("resourceVersionMatch") == "NotOlderThan" }
	checks := count(requests, "pods", func(r request) bool { return isCheck(r) && r.code == 504 && r.query.Get("limit") == "1" })
	lists := count(requests, "pods", func(r request) bool { return !isCheck(r) && !isPlainWatch(r) && r.code == 200 })
	all := count(requests, "pods", func(request) bool { return true })
	if checks != 1 || lists != 1 || all > maxRequestsPerRestart {
		return fmt.Errorf("%d checks, %d lists, %d requests for pods, wanted 1 check, 1 list and at most %d requests: %v", checks, lists, all,
			maxRequestsPerRestart, requests)
	}
	return nil
}
