// 1,200 fast changes by several writers. Two followers, one started before the changes and one in the middle, client-go's informer and a raw
// watch all observe them: kinformer in one case, the informer of the Python package in the other. All get the same changes in the same order,
// and have the same state at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var churnCases = []testCase{
	{name: "churn-side-by-side", run: churnSideBySide},
	{name: "python-side-by-side", kinformerOnly: true, run: pythonSideBySide},
}

const (
	churnNamespace  = "churn"
	churnWriters    = 4
	podsPerWriter   = 12
	changesPerRound = 150 // by each writer; there are two rounds
	churnSeed       = 20260721
)

func churnSideBySide(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	_, err = h.followChurn(ctx, s, func(name string) (*watcher, error) {
		return h.watch("kinformer-"+name, "pods", "-A", "--kubeconfig", s.file("kubeconfig-kinformer"))
	})
	return err
}

func pythonSideBySide(ctx context.Context, h *harness) error {
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	var programs []*pythonProgram
	list, err := h.followChurn(ctx, s, func(name string) (*watcher, error) {
		p, err := h.startPython(s, "python-"+name)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
		return p.watcher, nil
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range programs {
		errs = append(errs, compareObjects(p.name+"'s cache", p.cache, list))
	}
	return errors.Join(errs...)
}

// followChurn compares what two followers, of which each is started by `follow`, client-go's informer and a raw watch see of two rounds of
// changes. Returns kubectl's list at the end, once the followers have ended.
func (h *harness) followChurn(ctx context.Context, s *server, follow func(name string) (*watcher, error)) (objects, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k := h.kubectl(s)
	if err := k.runAll(ctx, "create namespace "+churnNamespace); err != nil {
		return nil, err
	}
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	witness, err := rawWatch(ctx, client, pods)
	if err != nil {
		return nil, err
	}
	informer, err := clientGoInformer(ctx, client, pods)
	if err != nil {
		return nil, err
	}
	early, err := follow("early")
	if err != nil {
		return nil, err
	}
	if err := early.awaitSynced(ctx, "pods"); err != nil {
		return nil, err
	}
	if err := churn(ctx, client, churnSeed); err != nil {
		return nil, err
	}
	late, err := follow("late") // it syncs during the second round
	if err != nil {
		return nil, err
	}
	if err := errors.Join(churn(ctx, client, churnSeed+1), late.awaitSynced(ctx, "pods")); err != nil {
		return nil, err
	}
	last := identity{"Pod", churnNamespace, "last"}
	if err := k.runAll(ctx, "run last -n "+churnNamespace+" --image=example.com/last:1"); err != nil {
		return nil, err
	}
	for _, r := range []*record{early.record, late.record, informer, witness} {
		if err := r.awaitChange(ctx, nil, addedChange, last); err != nil {
			return nil, err
		}
	}
	list, err := k.list(ctx, "pods")
	if err != nil {
		return nil, err
	}
	fmt.Printf("# %d changes\n", witness.changeCount())
	if made := witness.changeCount(); made < churnWriters*changesPerRound {
		return nil, fmt.Errorf("only %d changes were made", made)
	}
	errs := []error{early.process.stop(), late.process.stop(), witness.check()}
	for _, r := range []*record{informer, early.record, late.record} {
		errs = append(errs, r.check(), compareHistories(r, witness), compareObjects(r.name+" at the end", r.snapshot(), list))
	}
	return list, errors.Join(errs...)
}

// churn makes one round of changes. Each writer has its own pods, so that the writers do not conflict.
func churn(ctx context.Context, client dynamic.Interface, seed uint64) error {
	errs := make([]error, churnWriters)
	var writers sync.WaitGroup
	for i := range churnWriters {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for n := 0; n < changesPerRound && errs[i] == nil; n++ {
				name := fmt.Sprintf("w%d-%d", i, random.IntN(podsPerWriter))
				errs[i] = changePod(ctx, client.Resource(pods).Namespace(churnNamespace), name, n, random)
			}
		})
	}
	writers.Wait()
	return errors.Join(errs...)
}

// changePod creates the pod if it does not exist. Otherwise changePod patches the pod, deletes it, or deletes and creates it.
func changePod(ctx context.Context, client dynamic.ResourceInterface, name string, n int, random *rand.Rand) error {
	var err error
	choice := random.IntN(10)
	switch {
	case choice < 5:
		patch := fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"},"annotations":{"note":"%d"}}}`, n, random.IntN(1000))
		_, err = client.Patch(ctx, name, types.MergePatchType, []byte(patch), v1.PatchOptions{})
	case choice < 7:
		patch := fmt.Sprintf(`{"status":{"phase":"Running","message":"change %d"}}`, n)
		_, err = client.Patch(ctx, name, types.MergePatchType, []byte(patch), v1.PatchOptions{}, "status")
	default:
		err = client.Delete(ctx, name, v1.DeleteOptions{})
		if err == nil && choice == 7 {
			return nil
		}
	}
	if choice >= 8 && err == nil || apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, newPod(name), v1.CreateOptions{})
	}
	return err
}

func newPod(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1",
		"kind":       "Pod",
		"metadata":   object{"name": name, "labels": object{"app": "churn"}},
		"spec":       object{"containers": []any{object{"name": "c", "image": "example.com/c:1"}}},
	}}
}

// pythonProgram is a running tests/programs/watch_pods.py. It writes the lines of `kinformer watch`, and at its end its cache.
type pythonProgram struct {
	*watcher
	cache objects // valid once the program has ended
}

func (h *harness) startPython(s *server, name string) (*pythonProgram, error) {
	library, err := h.builtProgram("python")
	if err != nil {
		return nil, err
	}
	p := &pythonProgram{watcher: newWatcher(name), cache: objects{}}
	p.process, err = h.start(name, p.addLine, "env", "PYTHONPATH="+library, "PYTHONDONTWRITEBYTECODE=1",
		"KUBECONFIG="+s.file("kubeconfig-kinformer"), "/usr/bin/python3", filepath.Join(h.clients, "..", "programs", "watch_pods.py"))
	return p, err
}

func (p *pythonProgram) addLine(text []byte) {
	var line struct {
		Type  string   `json:"type"`
		Items []object `json:"items"`
	}
	if decode(text, &line) != nil || line.Type != "CACHE" {
		p.watcher.addLine(text)
		return
	}
	for _, obj := range line.Items {
		if id, err := identify(obj); err == nil {
			p.cache[id] = obj
		}
	}
}
