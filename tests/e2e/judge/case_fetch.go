// A program whose role may only get pods: what it fetches equals what kubectl gets, and many who ask for a key at a time send one request.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var fetchCases = []testCase{{name: "get-only-role", kinformerOnly: true, run: fetchWithoutList}}

const (
	fetched   = "fetched/there"
	absent    = "fetched/gone"
	forbidden = "fetched-elsewhere/there"
)

func fetchWithoutList(ctx context.Context, h *harness) error {
	s, k, err := h.preparedServer(ctx,
		"create namespace fetched", "create namespace fetched-elsewhere",
		"run there -n fetched --image=example.com/there:1",
		"run there -n fetched-elsewhere --image=example.com/there:1",
		"create role getter -n fetched --verb=get --resource=pods",
		"create rolebinding getter -n fetched --role=getter --user=getter",
	)
	if err != nil {
		return err
	}
	program, err := h.builtProgram("tests", "programs", "fetch_objects")
	if err != nil {
		return err
	}
	kubeconfig, err := h.kubeconfigAs(s, "getter")
	if err != nil {
		return err
	}
	_, mark, err := s.audit(0)
	if err != nil {
		return err
	}
	lines := make(chan string, 100)
	p, err := h.start("fetch", func(line []byte) { lines <- strings.TrimSpace(string(line)) }, "env", "KUBECONFIG="+kubeconfig, program, fetched, absent, forbidden)
	if err != nil {
		return err
	}
	go func() {
		<-p.ended
		close(lines)
	}()
	if err := checkFetched(ctx, k, lines, map[string]string{absent: "absent", forbidden: "forbidden"}); err != nil {
		return err
	}
	if err := checkGets(s, mark); err != nil {
		return err
	}
	// With the role to list, the informer syncs, and its cache answers.
	if err := k.runAll(ctx, "create clusterrole e2e-lister --verb=get,list,watch --resource=pods",
		"create clusterrolebinding e2e-lister --clusterrole=e2e-lister --user=getter"); err != nil {
		return err
	}
	for line := range lines {
		if line == "synced" {
			break
		}
	}
	if _, mark, err = s.audit(mark); err != nil {
		return err
	}
	want, err := podText(ctx, k, forbidden)
	if err != nil {
		return err
	}
	if err := checkFetched(ctx, k, lines, map[string]string{absent: "absent", forbidden: want}); err != nil {
		return err
	}
	counts, err := countGets(s, mark)
	if err != nil {
		return err
	}
	if counts[fetched] != 0 || counts[forbidden] != 0 {
		return fmt.Errorf("objects of the cache were fetched: %v", counts)
	}
	return p.stop()
}

// podText returns a pod as the program prints it.
func podText(ctx context.Context, k kubectl, key string) (string, error) {
	namespace, name, _ := strings.Cut(key, "/")
	return k.run(ctx, "get", "pod", name, "-n", namespace, "-o", "json")
}

// checkFetched reads the answers for the three keys, and compares the pods with kubectl's.
func checkFetched(ctx context.Context, k kubectl, lines chan string, want map[string]string) error {
	there, err := podText(ctx, k, fetched)
	if err != nil {
		return err
	}
	want[fetched] = there
	var errs []error
	isBlocked := false
	for count := 0; count < len(want); {
		var line string
		select {
		case next, isOpen := <-lines:
			if !isOpen {
				return errors.New("the program ended early")
			}
			line = next
		case <-ctx.Done():
			return fmt.Errorf("only %d answers: %w", count, ctx.Err())
		}
		isBlocked = isBlocked || strings.HasPrefix(line, "blocked forbidden: list pods")
		text, isAnswer := strings.CutPrefix(line, "fetched ")
		if !isAnswer {
			continue
		}
		count++
		key, answer, _ := strings.Cut(text, " ")
		if expected := want[key]; !strings.HasPrefix(expected, "{") {
			if answer != expected {
				errs = append(errs, fmt.Errorf("%s: wanted %s, got %.300s", key, expected, answer))
			}
			continue
		}
		errs = append(errs, compareTexts(key, answer, want[key]))
	}
	if want[forbidden] == "forbidden" && !isBlocked {
		errs = append(errs, errors.New("the health did not say that the list is forbidden"))
	}
	return errors.Join(errs...)
}

func compareTexts(key, got, want string) error {
	var have, expected object
	if err := errors.Join(decode([]byte(got), &have), decode([]byte(want), &expected)); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if path := difference("", have, expected); path != "" {
		return fmt.Errorf("%s differs from kubectl's at %s", key, path)
	}
	return nil
}

// countGets returns the number of GETs of each pod after a mark in the audit log.
func countGets(s *server, mark int64) (map[string]int, error) {
	entries, _, err := s.audit(mark)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, entry := range entries {
		if entry.Verb == "get" && entry.Stage == "ResponseComplete" && entry.ObjectRef.Resource == "pods" {
			counts[entry.ObjectRef.Namespace+"/"+entry.ObjectRef.Name]++
		}
	}
	return counts, nil
}

func checkGets(s *server, mark int64) error {
	counts, err := countGets(s, mark)
	if err != nil {
		return err
	}
	for _, key := range []string{fetched, absent, forbidden} {
		if counts[key] != 1 {
			return fmt.Errorf("%d requests for %s, wanted one", counts[key], key)
		}
	}
	return nil
}
