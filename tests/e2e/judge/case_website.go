// The Website controller of examples/ with the controller manager: a Website is served, changed, repaired and deleted, with the permissions of its
// manifest, each of which the controller uses.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var websiteCases = []testCase{{name: "website-controller", kinformerOnly: true, run: serveWebsite}}

var (
	websites     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"}
	siteChildren = []schema.GroupVersionResource{{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "services"}, {Group: "apps", Version: "v1", Resource: "deployments"}}
)

func serveWebsite(ctx context.Context, h *harness) error {
	folder := filepath.Join(h.examples, "website-controller")
	r, err := readRights(filepath.Join(folder, "rbac.yaml"))
	if err != nil {
		return err
	}
	s, err := h.ownServer(ctx, "--feature-gates", "WatchList=false") // so that the controller needs both verbs, list and watch
	if err != nil {
		return err
	}
	if err := h.kubectl(s).runAll(ctx, "apply -f "+filepath.Join(folder, "crd.yaml"), "wait --for=condition=Established --timeout=60s crd/websites.example.com",
		"apply -f "+filepath.Join(folder, "rbac.yaml")); err != nil {
		return err
	}
	if err := h.startControllerManager(s); err != nil {
		return err
	}
	st, err := h.newStage(ctx, s, "website")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	makePodsReady(ctx, st.client)
	kubeconfig, err := h.kubeconfigAs(s, "system:serviceaccount:"+r.namespace+":"+r.account)
	if err != nil {
		return err
	}
	_, mark, err := s.audit(0)
	if err != nil {
		return err
	}
	routes := filepath.Join(h.caseDir, "routes")
	program, err := h.builtProgram("examples", "example-website-controller")
	if err != nil {
		return err
	}
	if err := os.Mkdir(routes, 0o700); err != nil {
		return err
	}
	controller, err := h.start("website-controller", nil, "env", "KUBECONFIG="+kubeconfig, program, routes, "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := st.k.runAll(ctx, "create -n website -f "+filepath.Join(folder, "example-website.yaml")); err != nil {
		return err
	}
	if err := st.awaitWebsite(ctx, 2); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(routes, "website.hello")); err != nil {
		return err
	}
	if err := st.breakWebsite(ctx); err != nil {
		return err
	}
	if err := st.delete(ctx, websites, "hello"); err != nil {
		return err
	}
	if err := st.awaitNoWebsite(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(routes, "website.hello")); !os.IsNotExist(err) {
		return fmt.Errorf("the route of the deleted Website: %v", err)
	}
	if err := controller.stop(); err != nil {
		return err
	}
	r.granted = slices.DeleteFunc(r.granted, func(what string) bool { // an apply that creates needs it, and is a patch in the audit log
		return strings.HasPrefix(what, "create ") && !strings.HasSuffix(what, "/leases")
	})
	return h.checkRights(s, mark, r)
}

// awaitWebsite waits until the Website is ready with a number of replicas, and has its children.
func (st *stage) awaitWebsite(ctx context.Context, replicas int64) error {
	return awaitState(ctx, "ready Website", func() (string, error) {
		site, err := st.get(ctx, websites, "hello")
		if err != nil || site == nil {
			return "no Website", err
		}
		wanted := fmt.Sprintf("%d of %d replicas are ready", replicas, replicas)
		conditions, _, _ := unstructured.NestedSlice(site.Object, "status", "conditions")
		if len(conditions) != 1 || field(conditions[0].(map[string]any), "status") != "True" || field(conditions[0].(map[string]any), "message") != wanted {
			return fmt.Sprintf("the conditions are %v", conditions), nil
		}
		for _, resource := range siteChildren {
			child, err := st.get(ctx, resource, "hello")
			if err != nil || child == nil {
				return "no " + resource.Resource, err
			}
			if owners := child.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != site.GetUID() {
				return fmt.Sprintf("the owners of %s are %v", resource.Resource, owners), nil
			}
		}
		return "", nil
	})
}

// breakWebsite changes the Website, and its children by hand.
func (st *stage) breakWebsite(ctx context.Context) error {
	if err := st.patch(ctx, websites, "hello", `{"spec":{"replicas":3}}`); err != nil {
		return err
	}
	if err := st.awaitWebsite(ctx, 3); err != nil {
		return err
	}
	if err := st.patch(ctx, siteChildren[2], "hello", `{"spec":{"replicas":1}}`); err != nil {
		return err
	}
	if err := st.patch(ctx, siteChildren[0], "hello", `{"data":{"index.html":"broken"}}`); err != nil {
		return err
	}
	if err := st.delete(ctx, siteChildren[1], "hello"); err != nil {
		return err
	}
	if err := awaitState(ctx, "repaired page and number of replicas", func() (string, error) {
		page, err := st.get(ctx, siteChildren[0], "hello")
		if err != nil || page == nil {
			return "no ConfigMap", err
		}
		deployment, err := st.get(ctx, siteChildren[2], "hello")
		if err != nil || deployment == nil {
			return "no Deployment", err
		}
		if text := field(page.Object, "data", "index.html"); !strings.Contains(text, "hello") {
			return "the page is " + text, nil
		}
		if replicas, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); replicas != 3 {
			return fmt.Sprintf("%d replicas", replicas), nil
		}
		return "", nil
	}); err != nil {
		return err
	}
	return st.awaitWebsite(ctx, 3)
}

// awaitNoWebsite waits until the Website is gone, and its children with it.
func (st *stage) awaitNoWebsite(ctx context.Context) error {
	return awaitState(ctx, "end of the Website", func() (string, error) {
		for _, resource := range append([]schema.GroupVersionResource{websites}, siteChildren...) {
			if obj, err := st.get(ctx, resource, "hello"); err != nil || obj != nil {
				return resource.Resource + " is there", err
			}
		}
		return "", nil
	})
}
