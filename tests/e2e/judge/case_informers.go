// client-go's informers of each kind against `kinformer serve`, while a typed client makes changes in protobuf. With and without streaming
// lists, the stores of the informers equal a list at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var informerCases = []testCase{
	informerCase("serve-informers-typed", func(config *rest.Config) (func(schema.GroupVersionResource) (cache.SharedIndexInformer, error), error) {
		client, err := kubernetes.NewForConfig(inProtobuf(config))
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		return func(resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			informer, err := factory.ForResource(resource)
			if err != nil {
				return nil, err
			}
			return informer.Informer(), nil
		}, nil
	}),
	informerCase("serve-informers-dynamic", func(config *rest.Config) (func(schema.GroupVersionResource) (cache.SharedIndexInformer, error), error) {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		return func(resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			return factory.ForResource(resource).Informer(), nil
		}, nil
	}),
	informerCase("serve-informers-metadata", func(config *rest.Config) (func(schema.GroupVersionResource) (cache.SharedIndexInformer, error), error) {
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := metadatainformer.NewSharedInformerFactory(client, 0)
		return func(resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			return factory.ForResource(resource).Informer(), nil
		}, nil
	}),
}

var (
	deploymentsResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMapsResource  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

type informerMaker func(config *rest.Config) (func(schema.GroupVersionResource) (cache.SharedIndexInformer, error), error)

func informerCase(name string, maker informerMaker) testCase {
	return testCase{name: name, kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return errors.Join(informersOverChurn(ctx, h, maker, true), informersOverChurn(ctx, h, maker, false))
	}}
}

// inProtobuf sets the content types of typed clients: they send protobuf and prefer protobuf responses. `kinformer serve` responds in JSON.
func inProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

func informersOverChurn(ctx context.Context, h *harness, maker informerMaker, streaming bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer setStreamingList(streaming)()
	s, err := h.serve(ctx, "--pods", "50", "--nodes", "3", "--churn", "50")
	if err != nil {
		return err
	}
	config, err := restConfig(s.kubectl.kubeconfig)
	if err != nil {
		return err
	}
	writer, err := kubernetes.NewForConfig(inProtobuf(config))
	if err != nil {
		return err
	}
	reader, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	informerFor, err := maker(config)
	if err != nil {
		return err
	}
	watched := []schema.GroupVersionResource{configMapsResource, deploymentsResource, pods}
	var running []cache.SharedIndexInformer
	for _, resource := range watched {
		informer, err := informerFor(resource)
		if err != nil {
			return err
		}
		go informer.Run(ctx.Done())
		running = append(running, informer)
	}
	if err := typedChanges(ctx, writer, 0); err != nil {
		return err
	}
	for _, informer := range running {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return fmt.Errorf("an informer did not sync: %w", ctx.Err())
		}
	}
	if err := typedChanges(ctx, writer, 1); err != nil {
		return err
	}
	for i, resource := range watched[:2] { // not the pods: they change all the time
		list, err := reader.Resource(resource).List(ctx, v1.ListOptions{})
		if err != nil {
			return err
		}
		want := map[string]string{}
		for _, item := range list.Items {
			want[item.GetNamespace()+"/"+item.GetName()] = item.GetResourceVersion()
		}
		if err := awaitStore(ctx, running[i], func() bool { return maps.Equal(want, versionsOf(running[i])) }); err != nil {
			return fmt.Errorf("%s, streaming %t: wanted versions %v, the informer has %v", resource.Resource, streaming, want, versionsOf(running[i]))
		}
	}
	if len(running[2].GetStore().List()) < 25 {
		return fmt.Errorf("the informer of pods has %d pods, wanted about 50", len(running[2].GetStore().List()))
	}
	return s.process.stop()
}

// awaitStore waits until the store of the informer fulfils the condition. It checks after each notification.
func awaitStore(ctx context.Context, informer cache.SharedIndexInformer, fulfilled func() bool) error {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() }})
	if err != nil {
		return err
	}
	for !fulfilled() {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func versionsOf(informer cache.SharedIndexInformer) map[string]string {
	found := map[string]string{}
	for _, obj := range informer.GetStore().List() {
		if one, err := meta.Accessor(obj); err == nil {
			found[one.GetNamespace()+"/"+one.GetName()] = one.GetResourceVersion()
		}
	}
	return found
}

// typedChanges creates, updates, patches, scales and deletes objects with a typed client.
func typedChanges(ctx context.Context, client kubernetes.Interface, round int) error {
	core, deployments := client.CoreV1().ConfigMaps("default"), client.AppsV1().Deployments("default")
	replicas := int32(0)
	for i := range 12 {
		name := fmt.Sprintf("typed-%d-%d", round, i)
		made, err := core.Create(ctx, &corev1.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: name, Labels: map[string]string{"i": fmt.Sprint(i)}},
			Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0, 255}}}, v1.CreateOptions{})
		if err != nil {
			return err
		}
		if !slices.Equal(made.BinaryData["b"], []byte{0, 255}) || made.Data["k"] != "v" {
			return fmt.Errorf("the response to the create has other data: %v", made)
		}
		made.Data["k"] = "w"
		if made, err = core.Update(ctx, made, v1.UpdateOptions{}); err != nil {
			return err
		}
		labels := map[string]string{"app": name}
		web, err := deployments.Create(ctx, &appsv1.Deployment{ObjectMeta: v1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &v1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: v1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1"}}}}}}, v1.CreateOptions{})
		if err != nil {
			return err
		}
		if *web.Spec.Replicas != 0 {
			return fmt.Errorf("created with replicas 0, the response has %d", *web.Spec.Replicas)
		}
		web.Status.Replicas = 2
		if web, err = deployments.UpdateStatus(ctx, web, v1.UpdateOptions{}); err != nil || web.Status.Replicas != 2 {
			return fmt.Errorf("update of the status to 2 replicas: %v, %w", web, err)
		}
		scale, err := deployments.GetScale(ctx, name, v1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = 3
		if scale, err = deployments.UpdateScale(ctx, name, scale, v1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 3 {
			return fmt.Errorf("update of the scale to 3 replicas: %v, %w", scale, err)
		}
		patch := `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"example.com/c:2"}]}}}}`
		if _, err = deployments.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), v1.PatchOptions{}); err != nil {
			return err
		}
		if i%3 != 0 {
			continue
		}
		grace := int64(0)
		if err := core.Delete(ctx, name, v1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &v1.Preconditions{UID: &made.UID}}); err != nil {
			return err
		}
		if err := deployments.Delete(ctx, name, *v1.NewDeleteOptions(0)); err != nil {
			return err
		}
	}
	return nil
}
