package steps

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Await lists and watches the object of this name until the condition holds. The condition gets nil while there is none.
func Await(ctx context.Context, resource dynamic.ResourceInterface, name string,
	condition func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	selector := "metadata.name=" + name
	both := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return resource.Watch(ctx, options)
		},
	}
	isAbsent := func(listed cache.Store) (bool, error) { return len(listed.List()) == 0 && condition(nil), nil }
	_, err := watchtools.UntilWithSync(ctx, both, &unstructured.Unstructured{}, isAbsent, func(event watch.Event) (bool, error) {
		found, _ := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Deleted {
			found = nil
		}
		return condition(found), nil
	})
	return err
}

// AwaitThings waits until the server serves the resource that Definition defines. Its create of an invalid object is the
// first request: kube-apiserver answers the creates of a new resource only when lists and discovery work too.
func AwaitThings(ctx context.Context, all dynamic.Interface, group, namespace string) error {
	definitions := all.Resource(DefinitionResource)
	if err := Await(ctx, definitions, "things."+group, isEstablished); err != nil {
		return fmt.Errorf("the definition is not established: %w", err)
	}
	bad := Thing(group, namespace, "bad", 0)
	_, err := all.Resource(ThingResource(group)).Namespace(namespace).Create(ctx, bad, metav1.CreateOptions{})
	return Refused(err, metav1.StatusReasonInvalid, 422)
}

func isEstablished(definition *unstructured.Unstructured) bool {
	if definition == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, one := range conditions {
		if condition, isMap := one.(map[string]any); isMap && condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}
