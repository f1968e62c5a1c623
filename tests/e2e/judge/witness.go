// The observers that kinformer is compared with: a raw watch, which misses no change and is called the witness, and client-go's informers.
package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

var (
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// plainObject returns an object as kubectl shows it: without managedFields, and with json.Number for numbers.
func plainObject(obj *unstructured.Unstructured) (object, error) {
	text, err := obj.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var decoded object
	if err := decode(text, &decoded); err != nil {
		return nil, err
	}
	if metadata, found := decoded["metadata"].(object); found {
		delete(metadata, "managedFields")
	}
	return decoded, nil
}

// decodeFunc converts the object of a notification, an *unstructured.Unstructured or a typed object, to decoded JSON.
type decodeFunc func(any) (object, error)

func plainUnstructured(obj any) (object, error) { return plainObject(obj.(*unstructured.Unstructured)) }

// addDecodedChange converts the objects of a change and adds the change. old may be nil.
func (r *record) addDecodedChange(decoded decodeFunc, kind string, old, obj any) {
	var before object
	after, err := decoded(obj)
	if err == nil && old != nil {
		before, err = decoded(old)
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.addViolation("%s: %v", kind, err)
		return
	}
	r.addChange(kind, before, after)
}

// rawWatch lists each resource and watches it from the list's version. The watch must not end before ctx.
func rawWatch(ctx context.Context, client dynamic.Interface, resources ...schema.GroupVersionResource) (*record, error) {
	r := newRecord("the raw watch")
	for _, resource := range resources {
		list, err := client.Resource(resource).List(ctx, v1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			r.addDecodedChange(plainUnstructured, initialChange, nil, &list.Items[i])
		}
		stream, err := client.Resource(resource).Watch(ctx, v1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			return nil, err
		}
		go r.follow(ctx, stream)
	}
	return r, nil
}

func (r *record) follow(ctx context.Context, stream watch.Interface) {
	defer stream.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-stream.ResultChan():
			obj, isObject := event.Object.(*unstructured.Unstructured)
			if open && isObject && event.Type != watch.Error {
				r.addDecodedChange(plainUnstructured, string(event.Type), nil, obj)
				continue
			}
			if ctx.Err() == nil {
				r.mu.Lock()
				r.addViolation("the watch ended: %v", event)
				r.mu.Unlock()
			}
			return
		}
	}
}

// clientGoInformer starts client-go's informers for these resources and waits until they have synced.
func clientGoInformer(ctx context.Context, client dynamic.Interface, resources ...schema.GroupVersionResource) (*record, error) {
	r := newRecord("client-go's informer")
	return r, r.informFrom(ctx, client, resources...)
}

// informFrom fills the record by client-go's informers, and waits until they have synced.
func (r *record) informFrom(ctx context.Context, client dynamic.Interface, resources ...schema.GroupVersionResource) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	var synced []cache.InformerSynced
	for _, resource := range resources {
		registration, err := factory.ForResource(resource).Informer().AddEventHandler(r.handler(plainUnstructured))
		if err != nil {
			return err
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("client-go's informer did not sync: %w", ctx.Err())
	}
	return nil
}

// handler returns an event handler that adds the notifications of a client-go informer to the record.
func (r *record) handler(decoded decodeFunc) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			kind := addedChange
			if initial {
				kind = initialChange
			}
			r.addDecodedChange(decoded, kind, nil, obj)
		},
		UpdateFunc: func(old, obj any) { r.addDecodedChange(decoded, modifiedChange, old, obj) },
		DeleteFunc: func(obj any) {
			if unknown, isUnknown := obj.(cache.DeletedFinalStateUnknown); isUnknown {
				obj = unknown.Obj
			}
			r.addDecodedChange(decoded, deletedChange, nil, obj)
		},
	}
}
