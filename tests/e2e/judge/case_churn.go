// 1,200 fast changes by several writers. Two kinformers, one started before the changes and one in the middle, client-go's informer and a raw
// watch all observe them. All get the same changes in the same order, and have the same state at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var churnCases = []testCase{{name: "churn-side-by-side", run: churnSideBySide}}

const (
	churnNamespace  = "churn"
	churnWriters    = 4
	podsPerWriter   = 12
	changesPerRound = 150 // by each writer; there are two rounds
	churnSeed       = 20260721
)

func churnSideBySide(ctx context.Context, h *harness) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := k.runAll(ctx, "create namespace "+churnNamespace); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	witness, err := rawWatch(ctx, client, pods)
	if err != nil {
		return err
	}
	informer, err := clientGoInformer(ctx, client, pods)
	if err != nil {
		return err
	}
	connection := []string{"pods", "-A", "--kubeconfig", s.file("kubeconfig-kinformer")}
	early, err := h.watch("kinformer-early", connection...)
	if err != nil {
		return err
	}
	if err := early.awaitSynced(ctx, "pods"); err != nil {
		return err
	}
	if err := churn(ctx, client, churnSeed); err != nil {
		return err
	}
	late, err := h.watch("kinformer-late", connection...) // it syncs during the second round
	if err != nil {
		return err
	}
	if err := errors.Join(churn(ctx, client, churnSeed+1), late.awaitSynced(ctx, "pods")); err != nil {
		return err
	}
	last := identity{"Pod", churnNamespace, "last"}
	if err := k.runAll(ctx, "run last -n "+churnNamespace+" --image=example.com/last:1"); err != nil {
		return err
	}
	for _, r := range []*record{early.record, late.record, informer, witness} {
		if err := r.awaitChange(ctx, nil, addedChange, last); err != nil {
			return err
		}
	}
	list, err := k.list(ctx, "pods")
	if err != nil {
		return err
	}
	if made := witness.changeCount(); made < churnWriters*changesPerRound {
		return fmt.Errorf("only %d changes were made", made)
	}
	errs := []error{witness.check()}
	for _, r := range []*record{informer, early.record, late.record} {
		errs = append(errs, r.check(), compareHistories(r, witness), compareObjects(r.name+" at the end", r.snapshot(), list))
	}
	return errors.Join(append(errs, early.process.stop(), late.process.stop())...)
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
