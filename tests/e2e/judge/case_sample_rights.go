// The sample controller with the permissions of its manifest. They are sufficient, and the controller uses each of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

var sampleRightsCases = []testCase{{name: "sample-controller-least-rights", run: sampleRights}}

// rights are the permissions in a manifest, each as "verb group/resource", and the service account that has them.
type rights struct {
	namespace, account string
	granted            []string
}

func readRights(path string) (rights, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return rights{}, err
	}
	var r rights
	for _, part := range strings.Split(string(text), "\n---\n") {
		var manifest struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Rules    []struct{ APIGroups, Resources, Verbs []string }
		}
		if err := yaml.Unmarshal([]byte(part), &manifest); err != nil {
			return rights{}, fmt.Errorf("%s: %w", path, err)
		}
		if manifest.Kind == "ServiceAccount" {
			r.namespace, r.account = manifest.Metadata.Namespace, manifest.Metadata.Name
		}
		for _, rule := range manifest.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						r.granted = append(r.granted, right(verb, group, resource))
					}
				}
			}
		}
	}
	if r.account == "" || r.namespace == "" || len(r.granted) == 0 {
		return rights{}, fmt.Errorf("%s: no ServiceAccount with a namespace, or no rules", path)
	}
	return r, nil
}

func right(verb, group, resource string) string {
	if group == "" {
		group = "core"
	}
	return verb + " " + group + "/" + resource
}

// sampleRights runs on a server without streaming lists, so that the controller needs both verbs, list and watch.
func sampleRights(ctx context.Context, h *harness) error {
	manifest := filepath.Join(h.examples, "sample-controller", "rbac.yaml")
	r, err := readRights(manifest)
	if err != nil {
		return err
	}
	s, err := h.ownServer(ctx, "--feature-gates", "WatchList=false")
	if err != nil {
		return err
	}
	if err := h.installSampleResource(ctx, s); err != nil {
		return err
	}
	if err := h.startControllerManager(s); err != nil {
		return err
	}
	st, err := h.newStage(ctx, s, "sample-rights")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	makePodsReady(ctx, st.client)
	if _, err := st.k.run(ctx, "get", "namespace", r.namespace); err != nil {
		if err := st.k.runAll(ctx, "create namespace "+r.namespace); err != nil {
			return err
		}
	}
	if err := st.k.runAll(ctx, "apply -f "+manifest); err != nil {
		return err
	}
	kubeconfig, err := h.kubeconfigAs(s, "system:serviceaccount:"+r.namespace+":"+r.account)
	if err != nil {
		return err
	}
	k := kubectl{h: h, kubeconfig: kubeconfig}
	if err := awaitState(ctx, "right to list Foos", func() (string, error) {
		_, err := k.run(ctx, "get", "foos", "-A")
		if err != nil {
			return err.Error(), nil
		}
		return "", nil
	}); err != nil {
		return err
	}
	_, mark, err := s.audit(0)
	if err != nil {
		return err
	}
	controller, err := h.startLibraryController("sample-controller", kubeconfig, "--leader-elect", "--lease-namespace", r.namespace, "--identity", "me")
	if err != nil {
		return err
	}
	if err := useRights(ctx, st); err != nil {
		return err
	}
	if err := controller.stop(); err != nil {
		return err
	}
	return h.checkRights(s, mark, r)
}

// kubeconfigAs writes a kubeconfig of the audited user kinformer that impersonates another user.
func (h *harness) kubeconfigAs(s *server, user string) (string, error) {
	text, err := os.ReadFile(s.file("kubeconfig-kinformer"))
	if err != nil {
		return "", err
	}
	changed := strings.Replace(string(text), "    token:", "    as: "+user+"\n    token:", 1)
	if changed == string(text) {
		return "", errors.New("the kubeconfig has no token")
	}
	path := filepath.Join(h.caseDir, "kubeconfig-as")
	return path, os.WriteFile(path, []byte(changed), 0o600)
}

// useRights makes changes for which the controller needs each of its permissions.
func useRights(ctx context.Context, st *stage) error {
	if _, err := st.createFoo(ctx, "one", "one", 1); err != nil {
		return err
	}
	if err := st.awaitFoo(ctx, "one", "one", 1); err != nil {
		return err
	}
	if err := st.scale(ctx, foos, "one", 3); err != nil {
		return err
	}
	if err := st.awaitFoo(ctx, "one", "one", 3); err != nil {
		return err
	}
	return awaitState(ctx, "Event with a count above 1", func() (string, error) {
		count, err := st.eventCount(ctx, "one", "Synced")
		if err != nil || count > 1 {
			return "", err
		}
		return fmt.Sprintf("the count is %d", count), nil
	})
}

func (h *harness) checkRights(s *server, mark int64, r rights) error {
	entries, _, err := s.audit(mark)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	var differences []string
	for _, entry := range entries {
		what := right(entry.Verb, entry.ObjectRef.APIGroup, entry.resource())
		if entry.ResponseStatus.Code == 403 {
			differences = append(differences, what+" was forbidden")
		}
		if entry.ObjectRef.Resource != "" && entry.ResponseStatus.Code < 400 {
			used[what] = true
		}
	}
	for _, granted := range r.granted {
		// Kubernetes' sample controller has no leader election.
		if !used[granted] && !(h.isReference && strings.Contains(granted, "/leases")) {
			differences = append(differences, granted+" is granted but was not used")
		}
	}
	for what := range used {
		if !slices.Contains(r.granted, what) {
			differences = append(differences, what+" was used but is not in the manifest")
		}
	}
	return report("permissions of the controller", differences)
}
