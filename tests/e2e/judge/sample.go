// What the cases of the sample controller share: a server with the resource Foo, the kube-controller-manager, pods that become ready, both
// sample controllers (the library's and Kubernetes'), and functions that wait for a state of Foos and Deployments.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

const controllerManagerName = "kube-controller-manager"

// stateDeadline is the limit of awaitState.
const stateDeadline = time.Minute

var (
	foos   = schema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}
	events = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// fooServer returns a kube-apiserver with the resource Foo, which the cases of the sample controller share. It deletes all Foos and Deployments
// of earlier cases. No controllers run: a case starts those that it needs.
func (h *harness) fooServer(ctx context.Context) (*server, error) {
	if s := h.withFoos; s != nil && s.process.running() {
		return s, h.kubectl(s).runAll(ctx, "delete "+foos.Resource+"."+foos.Group+" --all -A", "delete deployments --all -A")
	}
	s, err := h.startServer(ctx, filepath.Join(h.work, "with-foos", "apiserver"))
	if err != nil {
		return nil, err
	}
	if err := h.installSampleResource(ctx, s); err != nil {
		return nil, errors.Join(err, s.process.stop())
	}
	h.withFoos = s
	return s, nil
}

func (h *harness) installSampleResource(ctx context.Context, s *server) error {
	k := h.kubectl(s)
	if err := k.runAll(ctx, "apply -f "+filepath.Join(h.examples, "sample-controller", "crd.yaml"),
		"wait --for=condition=Established --timeout=60s crd/"+foos.Resource+"."+foos.Group); err != nil {
		return err
	}
	// The condition Established is true a moment before discovery has the resource. The garbage collector uses discovery.
	return awaitState(ctx, "discovery of Foos", func() (string, error) {
		_, err := k.run(ctx, "get", foos.Resource+"."+foos.Group, "-A")
		if err != nil {
			return err.Error(), nil
		}
		return "", nil
	})
}

// startControllerManager starts the kube-controller-manager for this case, with the controllers of deployments, replica sets and namespaces, and
// the garbage collector.
func (h *harness) startControllerManager(s *server) error {
	_, err := h.start(controllerManagerName, nil, filepath.Join(h.bin, "controller-manager"),
		"--kubeconfig", s.file("kubeconfig-admin"), "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=500",
		"--controllers=deployment-controller,replicaset-controller,garbage-collector-controller,namespace-controller")
	return err
}

// makePodsReady does the work of the kubelet: it sets each new pod to running and ready, until ctx ends.
func makePodsReady(ctx context.Context, client dynamic.Interface) {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	makeReady := func(obj any) {
		pod := obj.(*unstructured.Unstructured)
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == "Running" || pod.GetDeletionTimestamp() != nil {
			return
		}
		patch := fmt.Sprintf(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"%s"}]}}`,
			time.Now().UTC().Format(time.RFC3339))
		_, err := client.Resource(pods).Namespace(pod.GetNamespace()).Patch(ctx, pod.GetName(), types.MergePatchType, []byte(patch),
			v1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "e2e: making a pod ready failed:", err)
		}
	}
	_, err := factory.ForResource(pods).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    makeReady,
		UpdateFunc: func(_, obj any) { makeReady(obj) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: adding a handler of pods failed:", err)
	}
	factory.Start(ctx.Done())
}

// startLibraryController starts the library's sample controller. With -reference it starts Kubernetes' sample controller, without the flags.
func (h *harness) startLibraryController(name, kubeconfig string, flags ...string) (*process, error) {
	if h.isReference {
		return h.startKubernetesController(name, kubeconfig)
	}
	program, err := h.builtProgram("examples", "example-sample-controller")
	if err != nil {
		return nil, err
	}
	return h.start(name, nil, append([]string{"env", "KUBECONFIG=" + kubeconfig, program}, flags...)...)
}

// builtProgram returns the path of another program in the build directory of the kinformer program.
func (h *harness) builtProgram(path ...string) (string, error) {
	program := filepath.Join(append([]string{filepath.Dir(h.kinformer), ".."}, path...)...)
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("not built: %w", err)
	}
	return program, nil
}

// startKubernetesController starts Kubernetes' sample controller.
func (h *harness) startKubernetesController(name, kubeconfig string) (*process, error) {
	return h.start(name, nil, filepath.Join(h.bin, "sample-controller"), "-kubeconfig", kubeconfig)
}

// stage is a namespace in which a case tests a controller.
type stage struct {
	s         *server
	k         kubectl
	client    dynamic.Interface
	namespace string
}

func (h *harness) newStage(ctx context.Context, s *server, namespace string) (*stage, error) {
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	st := &stage{s: s, k: h.kubectl(s), client: client, namespace: namespace}
	return st, st.k.runAll(ctx, "create namespace "+namespace)
}

func (st *stage) resource(which schema.GroupVersionResource) dynamic.ResourceInterface {
	return st.client.Resource(which).Namespace(st.namespace)
}

// get returns an object, or nil if there is none.
func (st *stage) get(ctx context.Context, which schema.GroupVersionResource, name string) (*unstructured.Unstructured, error) {
	obj, err := st.resource(which).Get(ctx, name, v1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

func (st *stage) list(ctx context.Context, which schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	list, err := st.resource(which).List(ctx, v1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (st *stage) create(ctx context.Context, which schema.GroupVersionResource, obj object) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	decoded := &unstructured.Unstructured{}
	if err := decoded.UnmarshalJSON(text); err != nil { // makes numbers int64 or float64, as the dynamic client requires
		return nil, err
	}
	return st.resource(which).Create(ctx, decoded, v1.CreateOptions{})
}

func (st *stage) patch(ctx context.Context, which schema.GroupVersionResource, name, patch string) error {
	_, err := st.resource(which).Patch(ctx, name, types.MergePatchType, []byte(patch), v1.PatchOptions{})
	return err
}

func (st *stage) delete(ctx context.Context, which schema.GroupVersionResource, name string) error {
	inBackground := v1.DeletePropagationBackground
	return st.resource(which).Delete(ctx, name, v1.DeleteOptions{PropagationPolicy: &inBackground})
}

// createFoo creates a Foo. It sets no deploymentName if deployment is "", and no replicas if replicas is 0.
func (st *stage) createFoo(ctx context.Context, name, deployment string, replicas int) (*unstructured.Unstructured, error) {
	spec := object{}
	if deployment != "" {
		spec["deploymentName"] = deployment
	}
	if replicas != 0 {
		spec["replicas"] = replicas
	}
	return st.create(ctx, foos, object{"apiVersion": foos.GroupVersion().String(), "kind": "Foo", "metadata": object{"name": name}, "spec": spec})
}

// scale sets the replicas of a Foo or a Deployment.
func (st *stage) scale(ctx context.Context, which schema.GroupVersionResource, name string, replicas int) error {
	return st.patch(ctx, which, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// awaitState polls until problem returns "" or an error. At the deadline, the error has the last problem.
func awaitState(ctx context.Context, what string, problem func() (string, error)) error {
	limited, cancel := context.WithTimeout(ctx, stateDeadline)
	defer cancel()
	last := ""
	err := poll(limited, what, func() (bool, error) {
		var err error
		last, err = problem()
		return last == "", err
	})
	if err != nil && last != "" {
		err = fmt.Errorf("%w; last state: %s", err, last)
	}
	return err
}

func number(obj *unstructured.Unstructured, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(obj.Object, path...)
	return n
}

// fooProblem returns how a Foo and its Deployment differ from the wanted state: the Foo controls the Deployment, and all replicas are available.
// It returns "" in the wanted state.
func (st *stage) fooProblem(ctx context.Context, name, deploymentName string, replicas int64) (string, error) {
	foo, err := st.get(ctx, foos, name)
	if err != nil || foo == nil {
		return "no Foo " + name, err
	}
	deployment, err := st.get(ctx, deployments, deploymentName)
	if err != nil || deployment == nil {
		return "no Deployment " + deploymentName, err
	}
	if owner := v1.GetControllerOf(deployment); owner == nil || owner.UID != foo.GetUID() {
		return fmt.Sprintf("Deployment %s is controlled by %v, not by %s", deploymentName, owner, foo.GetUID()), nil
	}
	for _, part := range []struct {
		what string
		have int64
		want int64
	}{
		{"replicas in the spec of the Deployment", number(deployment, "spec", "replicas"), replicas},
		{"observedGeneration", number(deployment, "status", "observedGeneration"), deployment.GetGeneration()},
		{"replicas", number(deployment, "status", "replicas"), replicas},
		{"available replicas", number(deployment, "status", "availableReplicas"), replicas},
		{"available replicas in Foo's status", number(foo, "status", "availableReplicas"), replicas},
	} {
		if part.have != part.want {
			return fmt.Sprintf("%s: %s: %d, wanted %d", name, part.what, part.have, part.want), nil
		}
	}
	return "", nil
}

func (st *stage) awaitFoo(ctx context.Context, name, deployment string, replicas int64) error {
	return awaitState(ctx, "Foo "+name, func() (string, error) { return st.fooProblem(ctx, name, deployment, replicas) })
}

// awaitDeleted waits until the object does not exist.
func (st *stage) awaitDeleted(ctx context.Context, which schema.GroupVersionResource, name string) error {
	return awaitState(ctx, "deletion of "+name, func() (string, error) {
		obj, err := st.get(ctx, which, name)
		if obj == nil {
			return "", err
		}
		return name + " still exists", nil
	})
}

// eventCount returns the sum of the counts of the Events with this reason about a Foo.
func (st *stage) eventCount(ctx context.Context, foo, reason string) (int64, error) {
	list, err := st.list(ctx, events)
	count := int64(0)
	for i := range list {
		if field(list[i].Object, "involvedObject", "name") == foo && field(list[i].Object, "reason") == reason {
			count += number(&list[i], "count")
		}
	}
	return count, err
}

func (st *stage) awaitEvent(ctx context.Context, foo, reason string) error {
	return awaitState(ctx, fmt.Sprintf("Event %s about %s", reason, foo), func() (string, error) {
		count, err := st.eventCount(ctx, foo, reason)
		if err != nil || count > 0 {
			return "", err
		}
		return "no such Event", nil
	})
}

// sampleDeployment returns the Deployment that the controller makes for a Foo. It has only the fields that the controller sets.
func sampleDeployment(foo *unstructured.Unstructured, name string, replicas int) object {
	labels := object{"app": "nginx", "controller": foo.GetName()}
	return object{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata": object{
			"name": name,
			"ownerReferences": []any{object{"apiVersion": foos.GroupVersion().String(), "kind": "Foo", "name": foo.GetName(),
				"uid": string(foo.GetUID()), "controller": true, "blockOwnerDeletion": true}},
		},
		"spec": object{
			"replicas": replicas,
			"selector": object{"matchLabels": labels},
			"template": object{
				"metadata": object{"labels": labels},
				"spec":     object{"containers": []any{object{"name": "nginx", "image": "nginx:latest"}}},
			},
		},
	}
}
