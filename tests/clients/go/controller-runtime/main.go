// The steps of ../../README.md with controller-runtime: a manager with leader election, its cache and client, and a controller
// that keeps a ConfigMap for each Thing, writes the Thing's status, and cleans up behind a finalizer.
//
// usage: controller-runtime KUBECONFIG NAMESPACE
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kinformer/clients/steps"
)

const finalizer = "example.com/things"

type program struct {
	group, namespace string
	config           *rest.Config
	scheme           *runtime.Scheme
	direct           client.Client     // past the cache
	dynamic          dynamic.Interface // what steps.Await needs
	manager          ctrl.Manager      // the first one
	cached           client.Client     // the first manager's
	events           steps.Events
	leading          map[string]<-chan struct{}
	stopFirst        context.CancelFunc
	firstEnded       chan error
}

func main() {
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: controller-runtime KUBECONFIG NAMESPACE")
		os.Exit(2)
	}
	p, err := newProgram(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	steps.Run(ctx, []steps.Step{
		{Name: "namespace", Run: p.makeNamespace},
		{Name: "custom", Run: p.custom},
		{Name: "leader", Run: p.leader},
		{Name: "informer-sync", Run: p.informerSync},
		{Name: "controller", Run: p.controller},
		{Name: "controller-status", Run: p.controllerStatus},
		{Name: "controller-update", Run: p.controllerUpdate},
		{Name: "controller-owned", Run: p.controllerOwned},
		{Name: "conflict", Run: p.conflict},
		{Name: "merge-patch", Run: p.mergePatch},
		{Name: "strategic-patch", Run: p.strategicPatch},
		{Name: "apply", Run: p.apply},
		{Name: "apply-conflict", Run: p.applyConflict},
		{Name: "informer-add", Run: p.informerAdd},
		{Name: "informer-update", Run: p.informerUpdate},
		{Name: "informer-delete", Run: p.informerDelete},
		{Name: "finalizer", Run: p.finalizer},
		{Name: "leader-takeover", Run: p.leaderTakeover},
	})
}

func newProgram(kubeconfig, namespace string) (*program, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	p := &program{group: namespace + ".example.com", namespace: namespace, config: config, scheme: runtime.NewScheme(),
		leading: map[string]<-chan struct{}{}}
	if err := clientgoscheme.AddToScheme(p.scheme); err != nil {
		return nil, err
	}
	if err := apiextensions.AddToScheme(p.scheme); err != nil {
		return nil, err
	}
	if p.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	p.direct, err = client.New(config, client.Options{Scheme: p.scheme})
	return p, err
}

func (p *program) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.namespace, Name: name}
}

func (p *program) makeNamespace(ctx context.Context) error {
	return p.direct.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}})
}

func (p *program) custom(ctx context.Context) error {
	if err := p.direct.Create(ctx, steps.Definition(p.group)); err != nil {
		return err
	}
	if err := steps.AwaitThings(ctx, p.dynamic, p.group, p.namespace); err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(p.group + "/v1")
	list.SetKind("ThingList")
	return p.direct.List(ctx, list, client.InNamespace(p.namespace))
}

// start starts a manager with the controller of things, which waits until it leads.
func (p *program) start(ctx context.Context, name string) (ctrl.Manager, chan error, error) {
	lease, renew, retry := 4*time.Second, 3*time.Second, time.Second
	manager, err := ctrl.NewManager(p.config, ctrl.Options{
		Scheme:                        p.scheme,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{p.namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "manager",
		LeaderElectionNamespace:       p.namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	})
	if err != nil {
		return nil, nil, err
	}
	skip := true
	builder := ctrl.NewControllerManagedBy(manager).For(steps.Thing(p.group, "", "", 1)).Owns(&corev1.ConfigMap{}).Named(name)
	builder.WithOptions(controller.Options{SkipNameValidation: &skip})
	err = builder.Complete(&reconciler{client: manager.GetClient(), program: p, name: name})
	if err != nil {
		return nil, nil, err
	}
	p.leading[name] = manager.Elected()
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	return manager, ended, nil
}

func (p *program) awaitLeader(ctx context.Context, name string) error {
	select {
	case <-p.leading[name]:
	case <-time.After(steps.Deadline):
		return fmt.Errorf("the manager %s does not lead", name)
	}
	var lease coordinationv1.Lease
	if err := p.direct.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "manager"}, &lease); err != nil {
		return err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return fmt.Errorf("nobody holds the lease")
	}
	return nil
}

func (p *program) leader(ctx context.Context) error {
	first, stop := context.WithCancel(ctx)
	p.stopFirst = stop
	manager, ended, err := p.start(first, "one")
	if err != nil {
		return err
	}
	p.firstEnded, p.manager, p.cached = ended, manager, manager.GetClient()
	if err := p.awaitLeader(ctx, "one"); err != nil {
		return err
	}
	_, _, err = p.start(ctx, "two")
	return err
}

// informerSync reads through the manager's cache, which starts an informer of ConfigMaps or waits for it. The informer's events are
// what awaitConfigMap waits for.
func (p *program) informerSync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, steps.Deadline)
	defer cancel()
	if err := p.cached.List(ctx, &corev1.ConfigMapList{}); err != nil {
		return err
	}
	informer, err := p.manager.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	note := func(kind string, obj any) {
		if found, isConfigMap := obj.(*corev1.ConfigMap); isConfigMap {
			p.events.Add(kind, found.Name)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { note("add", obj) },
		UpdateFunc: func(_, obj any) { note("update", obj) },
		DeleteFunc: func(obj any) { note("delete", obj) },
	})
	return err
}

// awaitConfigMap waits until the cache has a ConfigMap with this size, or has none where the size is empty.
func (p *program) awaitConfigMap(ctx context.Context, name, size string) error {
	var found corev1.ConfigMap
	err := p.events.Until(ctx, func([]string) bool {
		found = corev1.ConfigMap{}
		err := p.cached.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, &found)
		if size == "" {
			return client.IgnoreNotFound(err) == nil && err != nil
		}
		return err == nil && found.Data["size"] == size
	})
	if err != nil {
		return fmt.Errorf("the ConfigMap %s has the data %v, not %q: %w", name, found.Data, size, err)
	}
	return nil
}

func (p *program) controller(ctx context.Context) error {
	if err := p.direct.Create(ctx, steps.Thing(p.group, p.namespace, "thing", 1)); err != nil {
		return err
	}
	return p.awaitConfigMap(ctx, "thing", "1")
}

func (p *program) thing(ctx context.Context) (*unstructured.Unstructured, error) {
	found := steps.Thing(p.group, p.namespace, "thing", 0)
	return found, p.direct.Get(ctx, client.ObjectKeyFromObject(found), found)
}

func (p *program) awaitThing(ctx context.Context, condition func(*unstructured.Unstructured) bool) error {
	return steps.Await(ctx, p.dynamic.Resource(steps.ThingResource(p.group)).Namespace(p.namespace), "thing", condition)
}

func (p *program) controllerStatus(ctx context.Context) error {
	return p.awaitThing(ctx, func(found *unstructured.Unstructured) bool {
		if found == nil {
			return false
		}
		size, _, _ := unstructured.NestedInt64(found.Object, "status", "size")
		return size == 1
	})
}

func (p *program) controllerUpdate(ctx context.Context) error {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":2}}`))
	if err := p.direct.Patch(ctx, steps.Thing(p.group, p.namespace, "thing", 2), patch); err != nil {
		return err
	}
	return p.awaitConfigMap(ctx, "thing", "2")
}

// controllerOwned deletes what the controller made, which makes it anew.
func (p *program) controllerOwned(ctx context.Context) error {
	var before corev1.ConfigMap
	key := client.ObjectKey{Namespace: p.namespace, Name: "thing"}
	if err := p.direct.Get(ctx, key, &before); err != nil {
		return err
	}
	owner, err := p.thing(ctx)
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(&before, owner) {
		return fmt.Errorf("not controlled by the thing: %v", before.OwnerReferences)
	}
	if err := p.direct.Delete(ctx, &before); err != nil {
		return err
	}
	maps := p.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(p.namespace)
	return steps.Await(ctx, maps, "thing", func(found *unstructured.Unstructured) bool {
		return found != nil && found.GetUID() != before.UID
	})
}

func (p *program) conflict(ctx context.Context) error {
	old := &corev1.ConfigMap{ObjectMeta: p.meta("mine"), Data: map[string]string{"size": "1"}}
	if err := p.direct.Create(ctx, old); err != nil {
		return err
	}
	changed := old.DeepCopy()
	changed.Data["size"] = "2"
	if err := p.direct.Update(ctx, changed); err != nil {
		return err
	}
	patched := old.DeepCopy()
	patched.Data["size"] = "3"
	lock := client.MergeFromWithOptimisticLock{}
	err := p.direct.Patch(ctx, patched, client.MergeFromWithOptions(old, lock))
	return steps.Refused(err, metav1.StatusReasonConflict, 409)
}

func (p *program) mergePatch(ctx context.Context) error {
	found := &corev1.ConfigMap{ObjectMeta: p.meta("mine")}
	if err := p.direct.Get(ctx, client.ObjectKeyFromObject(found), found); err != nil {
		return err
	}
	base := found.DeepCopy()
	found.Data = map[string]string{"merged": "yes"}
	if err := p.direct.Patch(ctx, found, client.MergeFrom(base)); err != nil {
		return err
	}
	return steps.Equal("data", found.Data, map[string]string{"merged": "yes"})
}

func (p *program) strategicPatch(ctx context.Context) error {
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number}
	}
	service := &corev1.Service{ObjectMeta: p.meta("service"), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{port("a", 80), port("b", 81)},
	}}
	if err := p.direct.Create(ctx, service); err != nil {
		return err
	}
	base := service.DeepCopy()
	service.Spec.Ports[1].Name = "c"
	if err := p.direct.Patch(ctx, service, client.StrategicMergeFrom(base)); err != nil {
		return err
	}
	var names []string
	for _, one := range service.Spec.Ports {
		names = append(names, one.Name)
	}
	return steps.Equal("ports", names, []string{"a", "c"})
}

func (p *program) applied(ctx context.Context, manager string, size int64, options ...client.ApplyOption) error {
	thing := steps.Thing(p.group, p.namespace, "applied", size)
	return p.direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(thing), append(options, client.FieldOwner(manager))...)
}

func (p *program) apply(ctx context.Context) error {
	if err := p.applied(ctx, "one", 4); err != nil {
		return err
	}
	return p.awaitConfigMap(ctx, "applied", "4")
}

func (p *program) applyConflict(ctx context.Context) error {
	if err := steps.Refused(p.applied(ctx, "other", 5), metav1.StatusReasonConflict, 409); err != nil {
		return err
	}
	if err := p.applied(ctx, "other", 5, client.ForceOwnership); err != nil {
		return err
	}
	return p.awaitConfigMap(ctx, "applied", "5")
}

func (p *program) informerAdd(ctx context.Context) error {
	if err := p.direct.Create(ctx, &corev1.ConfigMap{ObjectMeta: p.meta("seen"), Data: map[string]string{"size": "1"}}); err != nil {
		return err
	}
	return p.awaitConfigMap(ctx, "seen", "1")
}

func (p *program) informerUpdate(ctx context.Context) error {
	if err := p.direct.Update(ctx, &corev1.ConfigMap{ObjectMeta: p.meta("seen"), Data: map[string]string{"size": "2"}}); err != nil {
		return err
	}
	return p.awaitConfigMap(ctx, "seen", "2")
}

func (p *program) informerDelete(ctx context.Context) error {
	if err := p.direct.Delete(ctx, &corev1.ConfigMap{ObjectMeta: p.meta("seen")}); err != nil {
		return err
	}
	return p.awaitConfigMap(ctx, "seen", "")
}

// finalizer deletes the thing: the controller cleans up, and lets it go.
func (p *program) finalizer(ctx context.Context) error {
	found, err := p.thing(ctx)
	if err != nil {
		return err
	}
	if !controllerutil.ContainsFinalizer(found, finalizer) {
		return fmt.Errorf("the thing has the finalizers %v", found.GetFinalizers())
	}
	if err := p.direct.Delete(ctx, found); err != nil {
		return err
	}
	if err := p.events.Wait(ctx, "one", "cleaned", "thing"); err != nil {
		return err
	}
	return p.awaitThing(ctx, func(found *unstructured.Unstructured) bool { return found == nil })
}

// leaderTakeover stops the first manager: the second one's controller goes on with what is there.
func (p *program) leaderTakeover(ctx context.Context) error {
	p.stopFirst()
	if err := <-p.firstEnded; err != nil {
		return fmt.Errorf("the first manager: %w", err)
	}
	if err := p.awaitLeader(ctx, "two"); err != nil {
		return err
	}
	return p.events.Wait(ctx, "two", "reconciled", "applied")
}

// A reconciler keeps a ConfigMap for each thing.
type reconciler struct {
	client  client.Client
	program *program
	name    string
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	thing := steps.Thing(r.program.group, "", "", 0)
	if err := r.client.Get(ctx, request.NamespacedName, thing); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	made := &corev1.ConfigMap{ObjectMeta: r.program.meta(thing.GetName())}
	if thing.GetDeletionTimestamp() != nil {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, made)); err != nil {
			return ctrl.Result{}, err
		}
		r.program.events.Add(r.name, "cleaned", thing.GetName())
		controllerutil.RemoveFinalizer(thing, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.client.Update(ctx, thing))
	}
	if controllerutil.AddFinalizer(thing, finalizer) {
		if err := r.client.Update(ctx, thing); err != nil {
			return ctrl.Result{}, err
		}
	}
	size, _, err := unstructured.NestedInt64(thing.Object, "spec", "size")
	if err != nil {
		return ctrl.Result{}, err
	}
	_, err = controllerutil.CreateOrUpdate(ctx, r.client, made, func() error {
		made.Data = map[string]string{"size": fmt.Sprint(size)}
		return controllerutil.SetControllerReference(thing, made, r.program.scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	base := thing.DeepCopy()
	if err := unstructured.SetNestedField(thing.Object, size, "status", "size"); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.client.Status().Patch(ctx, thing, client.MergeFrom(base)); err != nil {
		return ctrl.Result{}, err
	}
	r.program.events.Add(r.name, "reconciled", thing.GetName())
	return ctrl.Result{}, nil
}
