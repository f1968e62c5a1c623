// 20,000 objects of about 2 KB, listed as a stream and in pages of 500, then watched. The cache equals kubectl's list, and kinformer makes no
// more requests than needed.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var bigListCases = []testCase{{name: "big-list", deadline: 15 * time.Minute, run: bigList}}

const (
	bigListObjects = 20000
	bigListWriters = 16
	bigListValue   = 1500 // bytes
	pageSize       = 500
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func bigList(ctx context.Context, h *harness) error {
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := k.runAll(ctx, "create namespace big"); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	if err := createMany(ctx, client.Resource(configMaps).Namespace("big")); err != nil {
		return err
	}
	if err := followBigList(ctx, h, s, "streaming"); err != nil {
		return err
	}
	// The same objects on a server without streaming lists. Its watch cache is off: the watch cache ignores the page size.
	if err := s.process.stop(); err != nil {
		return err
	}
	if s, err = h.ownServer(ctx, "--feature-gates", "WatchList=false", "--no-watch-cache"); err != nil {
		return err
	}
	return followBigList(ctx, h, s, "pages")
}

func createMany(ctx context.Context, client dynamic.ResourceInterface) error {
	var next atomic.Int64
	errs := make([]error, bigListWriters)
	var writers sync.WaitGroup
	for i := range bigListWriters {
		writers.Go(func() {
			for n := next.Add(1); n <= bigListObjects && errs[i] == nil; n = next.Add(1) {
				_, errs[i] = client.Create(ctx, newConfigMap(n), v1.CreateOptions{})
			}
		})
	}
	writers.Wait()
	return errors.Join(errs...)
}

func newConfigMap(n int64) *unstructured.Unstructured {
	word := fmt.Sprintf("%d/\u00fc\"\\ ", n)
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   object{"name": fmt.Sprintf("cm-%d", n), "labels": object{"n": fmt.Sprint(n)}},
		"data":       object{"value": strings.Repeat(word, bigListValue/len(word))},
	}}
}

// followBigList compares kinformer's list, and its state after some changes, with kubectl's list. It also checks kinformer's requests.
func followBigList(ctx context.Context, h *harness, s *server, how string) error {
	k := h.kubectl(s)
	_, mark, err := s.requests(0)
	if err != nil {
		return err
	}
	before, err := k.list(ctx, "configmaps")
	if err != nil {
		return err
	}
	if len(before) < bigListObjects {
		return fmt.Errorf("kubectl lists %d objects, wanted at least %d", len(before), bigListObjects)
	}
	connection := []string{"configmaps", "-A", "--kubeconfig", s.file("kubeconfig-kinformer")}
	w, err := h.watch("kinformer-"+how, connection...)
	if err != nil {
		return err
	}
	if err := w.awaitSynced(ctx, "configmaps"); err != nil {
		return errors.Join(err, w.check())
	}
	err = errors.Join(compareObjects(how+", after SYNCED", w.snapshot(), before), checkListRequests(s, mark, how, len(before)))
	if err != nil {
		return errors.Join(err, w.check())
	}
	if err := k.runAll(ctx,
		"label configmap -n big cm-1 cm-10000 cm-20000 --overwrite step="+how,
		"create configmap -n big last-"+how,
	); err != nil {
		return err
	}
	if err := w.awaitAll(ctx, addedChange, identity{"ConfigMap", "big", "last-" + how}); err != nil {
		return err
	}
	after, err := k.list(ctx, "configmaps")
	if err != nil {
		return err
	}
	if made := w.changeCount(); made != 4 {
		return fmt.Errorf("%s: %d changes, wanted 4", how, made)
	}
	text, err := h.run(ctx, "", append([]string{h.kinformer, "get", "-o", "json"}, connection...)...)
	if err != nil {
		return err
	}
	got, err := parseList([]byte(text))
	if err != nil {
		return err
	}
	return errors.Join(w.check(), compareObjects(how+", at the end", w.snapshot(), after),
		compareObjects(how+", get", got, after), w.process.stop())
}

// checkListRequests checks that kinformer made one streaming list, or else exactly the needed number of pages.
func checkListRequests(s *server, mark int64, how string, objects int) error {
	requests, _, err := s.requests(mark)
	if err != nil {
		return err
	}
	streams := count(requests, "configmaps", isStreamingList)
	pages := count(requests, "configmaps", func(r request) bool {
		return isPlainList(r) && r.query.Get("limit") == fmt.Sprint(pageSize)
	})
	lists := count(requests, "configmaps", isPlainList)
	wantPages := (objects + pageSize - 1) / pageSize
	if how == "streaming" && (streams != 1 || lists != 0) || how != "streaming" && (streams > 1 || pages != wantPages || lists != pages) {
		return fmt.Errorf("%s: %d streaming lists, %d lists, %d of them pages of %d; wanted one streaming list or %d pages", how, streams, lists,
			pages, pageSize, wantPages)
	}
	return nil
}
