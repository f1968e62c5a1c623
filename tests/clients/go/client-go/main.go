// The steps of ../../README.md with client-go: its typed and dynamic clients, its shared informers, its leader election.
//
// usage: client-go KUBECONFIG NAMESPACE
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"kinformer/clients/steps"
)

type client struct {
	namespace string
	config    *rest.Config
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	events    steps.Events
	leading   map[string]chan struct{}
	leave     context.CancelFunc // ends the first candidate
}

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: client-go KUBECONFIG NAMESPACE")
		os.Exit(2)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	config.QPS = -1 // no limit of its own
	c := &client{
		namespace: os.Args[2], config: config,
		typed: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config),
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	steps.Run(ctx, []steps.Step{
		{Name: "namespace", Run: c.makeNamespace},
		{Name: "create", Run: c.create},
		{Name: "exists", Run: c.exists},
		{Name: "missing", Run: c.missing},
		{Name: "invalid", Run: c.invalid},
		{Name: "informer-sync", Run: c.informerSync},
		{Name: "informer-add", Run: c.informerAdd},
		{Name: "update", Run: c.update},
		{Name: "informer-update", Run: c.informerUpdate},
		{Name: "conflict", Run: c.conflict},
		{Name: "selector", Run: c.selector},
		{Name: "pages", Run: c.pages},
		{Name: "json-patch", Run: c.jsonPatch},
		{Name: "merge-patch", Run: c.mergePatch},
		{Name: "strategic-patch", Run: c.strategicPatch},
		{Name: "apply", Run: c.apply},
		{Name: "apply-conflict", Run: c.applyConflict},
		{Name: "status", Run: c.status},
		{Name: "scale", Run: c.scale},
		{Name: "secret", Run: c.secret},
		{Name: "finalizer", Run: c.finalizer},
		{Name: "delete", Run: c.delete},
		{Name: "informer-delete", Run: c.informerDelete},
		{Name: "delete-collection", Run: c.deleteCollection},
		{Name: "custom", Run: c.custom},
		{Name: "leader", Run: c.leader},
		{Name: "leader-takeover", Run: c.leaderTakeover},
	})
}

func configMap(name, value, of string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": of}},
		Data:       map[string]string{"value": value},
	}
}

func (c *client) createConfigMap(ctx context.Context, name, value, of string) (*corev1.ConfigMap, error) {
	return c.typed.CoreV1().ConfigMaps(c.namespace).Create(ctx, configMap(name, value, of), metav1.CreateOptions{})
}

func (c *client) patchConfigMap(ctx context.Context, name string, kind types.PatchType, patch string) (*corev1.ConfigMap, error) {
	return c.typed.CoreV1().ConfigMaps(c.namespace).Patch(ctx, name, kind, []byte(patch), metav1.PatchOptions{})
}

func (c *client) makeNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	_, err := c.typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	return err
}

func (c *client) create(ctx context.Context) error {
	made, err := c.createConfigMap(ctx, "first", "1", "client")
	if err != nil {
		return err
	}
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() {
		return fmt.Errorf("metadata %v", made.ObjectMeta)
	}
	return steps.Equal("data", made.Data, map[string]string{"value": "1"})
}

func (c *client) exists(ctx context.Context) error {
	_, err := c.createConfigMap(ctx, "first", "2", "client")
	return steps.Refused(err, metav1.StatusReasonAlreadyExists, 409)
}

func (c *client) missing(ctx context.Context) error {
	_, err := c.typed.CoreV1().ConfigMaps(c.namespace).Get(ctx, "none", metav1.GetOptions{})
	return steps.Refused(err, metav1.StatusReasonNotFound, 404)
}

func (c *client) invalid(ctx context.Context) error {
	_, err := c.createConfigMap(ctx, "No_Name", "1", "client")
	return steps.Refused(err, metav1.StatusReasonInvalid, 422)
}

func (c *client) informerSync(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(c.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "of=client" }))
	informer := factory.Core().V1().ConfigMaps().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.event("add", obj) },
		UpdateFunc: func(_, obj any) { c.event("update", obj) },
		DeleteFunc: func(obj any) { c.event("delete", obj) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	ctx, cancel := context.WithTimeout(ctx, steps.Deadline)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("not synced in %s", steps.Deadline)
	}
	return c.events.Wait(ctx, "add", "first", "1")
}

func (c *client) event(kind string, obj any) {
	if found, isConfigMap := obj.(*corev1.ConfigMap); isConfigMap {
		c.events.Add(kind, found.Name, found.Data["value"])
	}
}

func (c *client) informerAdd(ctx context.Context) error {
	if _, err := c.createConfigMap(ctx, "second", "1", "client"); err != nil {
		return err
	}
	return c.events.Wait(ctx, "add", "second", "1")
}

func (c *client) update(ctx context.Context) error {
	all := c.typed.CoreV1().ConfigMaps(c.namespace)
	found, err := all.Get(ctx, "second", metav1.GetOptions{})
	if err != nil {
		return err
	}
	found.Data["value"] = "2"
	response, err := all.Update(ctx, found, metav1.UpdateOptions{})
	if err == nil && response.ResourceVersion == found.ResourceVersion {
		err = fmt.Errorf("the version stayed %s", found.ResourceVersion)
	}
	return err
}

func (c *client) informerUpdate(ctx context.Context) error {
	return c.events.Wait(ctx, "update", "second", "2")
}

func (c *client) conflict(ctx context.Context) error {
	all := c.typed.CoreV1().ConfigMaps(c.namespace)
	old, err := all.Get(ctx, "second", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if _, err := c.patchConfigMap(ctx, "second", types.MergePatchType, `{"data":{"more":"1"}}`); err != nil {
		return err
	}
	old.Data["value"] = "3"
	_, err = all.Update(ctx, old, metav1.UpdateOptions{})
	return steps.Refused(err, metav1.StatusReasonConflict, 409)
}

func (c *client) names(ctx context.Context, options metav1.ListOptions) ([]string, string, error) {
	list, err := c.typed.CoreV1().ConfigMaps(c.namespace).List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	var names []string
	for _, one := range list.Items {
		names = append(names, one.Name)
	}
	return names, list.Continue, nil
}

func (c *client) selector(ctx context.Context) error {
	if _, err := c.createConfigMap(ctx, "third", "1", "nobody"); err != nil {
		return err
	}
	names, _, err := c.names(ctx, metav1.ListOptions{LabelSelector: "of in (client)"})
	if err != nil {
		return err
	}
	if err := steps.Equal("by label", names, []string{"first", "second"}); err != nil {
		return err
	}
	names, _, err = c.names(ctx, metav1.ListOptions{FieldSelector: "metadata.name=third"})
	if err != nil {
		return err
	}
	return steps.Equal("by field", names, []string{"third"})
}

func (c *client) pages(ctx context.Context) error {
	var all []string
	options := metav1.ListOptions{Limit: 1}
	for {
		names, next, err := c.names(ctx, options)
		if err != nil {
			return err
		}
		if len(names) != 1 {
			return fmt.Errorf("a page of %d", len(names))
		}
		all = append(all, names...)
		if options.Continue = next; next == "" {
			return steps.Equal("names", all, []string{"first", "second", "third"})
		}
	}
}

func (c *client) jsonPatch(ctx context.Context) error {
	patched, err := c.patchConfigMap(ctx, "third", types.JSONPatchType, `[{"op":"test","path":"/data/value","value":"1"},
		{"op":"add","path":"/data/added","value":"yes"},{"op":"remove","path":"/data/value"}]`)
	if err != nil {
		return err
	}
	if err := steps.Equal("data", patched.Data, map[string]string{"added": "yes"}); err != nil {
		return err
	}
	_, err = c.patchConfigMap(ctx, "third", types.JSONPatchType, `[{"op":"test","path":"/data/added","value":"no"}]`)
	return steps.Refused(err, metav1.StatusReasonInvalid, 422)
}

func (c *client) mergePatch(ctx context.Context) error {
	patched, err := c.patchConfigMap(ctx, "third", types.MergePatchType, `{"data":{"added":null,"merged":"yes"}}`)
	if err != nil {
		return err
	}
	return steps.Equal("data", patched.Data, map[string]string{"merged": "yes"})
}

func (c *client) strategicPatch(ctx context.Context) error {
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "web", Image: "web:1"}, {Name: "side", Image: "side:1"},
				}},
			},
		},
	}
	deployments := c.typed.AppsV1().Deployments(c.namespace)
	if _, err := deployments.Create(ctx, web, metav1.CreateOptions{}); err != nil {
		return err
	}
	patched, err := deployments.Patch(ctx, "web", types.StrategicMergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:2"}]}}}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	images := map[string]string{}
	for _, one := range patched.Spec.Template.Spec.Containers {
		images[one.Name] = one.Image
	}
	return steps.Equal("images", images, map[string]string{"side": "side:2", "web": "web:1"})
}

func (c *client) applyConfigMap(ctx context.Context, value, manager string, force bool) (*corev1.ConfigMap, error) {
	return c.typed.CoreV1().ConfigMaps(c.namespace).Apply(ctx,
		coreapply.ConfigMap("applied", c.namespace).WithData(map[string]string{"value": value}),
		metav1.ApplyOptions{FieldManager: manager, Force: force})
}

func (c *client) apply(ctx context.Context) error {
	made, err := c.applyConfigMap(ctx, "1", "one", false)
	if err != nil {
		return err
	}
	if len(made.ManagedFields) != 1 || made.ManagedFields[0].Manager != "one" ||
		made.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		return fmt.Errorf("managed fields %v", made.ManagedFields)
	}
	return steps.Equal("data", made.Data, map[string]string{"value": "1"})
}

func (c *client) applyConflict(ctx context.Context) error {
	_, err := c.applyConfigMap(ctx, "2", "other", false)
	if err := steps.Refused(err, metav1.StatusReasonConflict, 409); err != nil {
		return err
	}
	made, err := c.applyConfigMap(ctx, "2", "other", true)
	if err != nil {
		return err
	}
	return steps.Equal("data", made.Data, map[string]string{"value": "2"})
}

func (c *client) status(ctx context.Context) error {
	patched, err := c.typed.AppsV1().Deployments(c.namespace).ApplyStatus(ctx,
		appsapply.Deployment("web", c.namespace).WithStatus(appsapply.DeploymentStatus().WithObservedGeneration(7)),
		metav1.ApplyOptions{FieldManager: "status"})
	if err != nil {
		return err
	}
	if err := steps.Equal("observed generation", patched.Status.ObservedGeneration, 7); err != nil {
		return err
	}
	patched, err = c.typed.AppsV1().Deployments(c.namespace).Patch(ctx, "web", types.MergePatchType,
		[]byte(`{"spec":{"replicas":9}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	return steps.Equal("replicas", *patched.Spec.Replicas, 1)
}

func (c *client) scale(ctx context.Context) error {
	deployments := c.typed.AppsV1().Deployments(c.namespace)
	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec = autoscalingv1.ScaleSpec{Replicas: 3}
	if _, err := deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil {
		return err
	}
	web, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return steps.Equal("replicas and generation", []int64{int64(*web.Spec.Replicas), web.Generation}, []int64{3, 3})
}

func (c *client) secret(ctx context.Context) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}, StringData: map[string]string{"key": "word"}}
	secrets := c.typed.CoreV1().Secrets(c.namespace)
	if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	found, err := secrets.Get(ctx, "secret", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return steps.Equal("key and type", string(found.Data["key"])+" "+string(found.Type), "word Opaque")
}

func (c *client) finalizer(ctx context.Context) error {
	all := c.typed.CoreV1().ConfigMaps(c.namespace)
	kept := configMap("kept", "1", "nobody")
	kept.Finalizers = []string{"example.com/kept"}
	if _, err := all.Create(ctx, kept, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := all.Delete(ctx, "kept", metav1.DeleteOptions{}); err != nil {
		return err
	}
	found, err := all.Get(ctx, "kept", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if found.DeletionTimestamp == nil {
		return fmt.Errorf("no time of deletion")
	}
	found.Finalizers = nil
	if _, err := all.Update(ctx, found, metav1.UpdateOptions{}); err != nil {
		return err
	}
	_, err = all.Get(ctx, "kept", metav1.GetOptions{})
	return steps.Refused(err, metav1.StatusReasonNotFound, 404)
}

func (c *client) delete(ctx context.Context) error {
	all := c.typed.CoreV1().ConfigMaps(c.namespace)
	if err := all.Delete(ctx, "second", metav1.DeleteOptions{}); err != nil {
		return err
	}
	err := all.Delete(ctx, "second", metav1.DeleteOptions{})
	return steps.Refused(err, metav1.StatusReasonNotFound, 404)
}

func (c *client) informerDelete(ctx context.Context) error {
	return c.events.Wait(ctx, "delete", "second", "2")
}

func (c *client) deleteCollection(ctx context.Context) error {
	err := c.typed.CoreV1().ConfigMaps(c.namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "of"})
	if err != nil {
		return err
	}
	names, _, err := c.names(ctx, metav1.ListOptions{LabelSelector: "of"})
	if err != nil {
		return err
	}
	return steps.Equal("left", names, nil)
}

// custom defines a resource, and sees an object of it in a dynamic informer.
func (c *client) custom(ctx context.Context) error {
	group := c.namespace + ".example.com"
	definitions := apiextensionsclient.NewForConfigOrDie(c.config).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(ctx, steps.Definition(group), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := steps.AwaitThings(ctx, c.dynamic, group, c.namespace); err != nil {
		return err
	}
	resource := steps.ThingResource(group)
	things := c.dynamic.Resource(resource).Namespace(c.namespace)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, c.namespace, nil)
	_, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		size, _, _ := unstructured.NestedInt64(obj.(*unstructured.Unstructured).Object, "spec", "size")
		c.events.Add("thing", obj.(*unstructured.Unstructured).GetName(), fmt.Sprint(size))
	}})
	if err != nil {
		return err
	}
	informerCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory.Start(informerCtx.Done())
	if _, err := things.Create(ctx, steps.Thing(group, c.namespace, "thing", 1), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := c.events.Wait(ctx, "thing", "thing", "1"); err != nil {
		return err
	}
	return definitions.Delete(ctx, "things."+group, metav1.DeleteOptions{})
}

func (c *client) leader(ctx context.Context) error {
	c.leading = map[string]chan struct{}{"one": make(chan struct{}), "two": make(chan struct{})}
	first, leave := context.WithCancel(ctx)
	c.leave = leave
	if err := c.candidate(first, "one"); err != nil {
		return err
	}
	if err := c.awaitLeader(ctx, "one"); err != nil {
		return err
	}
	return c.candidate(ctx, "two")
}

func (c *client) leaderTakeover(ctx context.Context) error {
	c.leave()
	return c.awaitLeader(ctx, "two")
}

func (c *client) awaitLeader(ctx context.Context, name string) error {
	select {
	case <-c.leading[name]:
	case <-time.After(steps.Deadline):
		return fmt.Errorf("candidate %s does not lead", name)
	}
	lease, err := c.typed.CoordinationV1().Leases(c.namespace).Get(ctx, "lock", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return steps.Equal("holder", *lease.Spec.HolderIdentity, name)
}

// candidate starts a candidate, which gives the lease back when its context ends.
func (c *client) candidate(ctx context.Context, name string) error {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.namespace, Name: "lock"},
			Client:     c.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(c.leading[name]) },
			OnStoppedLeading: func() {},
		},
	})
	if err == nil {
		go elector.Run(ctx)
	}
	return err
}
