// One program with an informer of the metadata of every resource: each cache equals the store of client-go's metadata informer.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var metadataCases = []testCase{{name: "metadata-informers", kinformerOnly: true, run: compareMetadata}}

// A metadataInformer is client-go's informer of one resource.
type metadataInformer struct {
	name, apiVersion, kind string
	informer               cache.SharedIndexInformer
}

func compareMetadata(ctx context.Context, h *harness) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, _, resources, err := h.everyResource(ctx)
	if err != nil {
		return err
	}
	references, err := startMetadataInformers(ctx, s)
	if err != nil {
		return err
	}
	if len(references) != len(resources) {
		return fmt.Errorf("client-go discovers %d resources that can be listed and watched, kubectl %d", len(references), len(resources))
	}
	out, err := h.dumpCaches(ctx, s.file("kubeconfig-kinformer"), resources, "--metadata")
	if err != nil {
		return err
	}
	caches, memory, err := parseDump(out)
	if err != nil {
		return err
	}
	count, changed := 0, 0
	var errs []error
	for _, reference := range references {
		want, err := reference.objects()
		if err != nil {
			return err
		}
		count += len(want)
		changed += dropChanged(caches[reference.name], want)
		errs = append(errs, compareObjects("the metadata of "+reference.name, caches[reference.name], want))
	}
	fmt.Printf("# %d informers, %d objects (%d changed in between): %d KB of JSON\n", len(references), count, changed, memory.objects/1024)
	if changed > mostChanged {
		errs = append(errs, fmt.Errorf("%d objects changed in between", changed))
	}
	return errors.Join(errs...)
}

// startMetadataInformers returns synced informers of every resource that can be listed and watched.
func startMetadataInformers(ctx context.Context, s *server) ([]metadataInformer, error) {
	config, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := finder.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	factory := metadatainformer.NewSharedInformerFactory(client, 0)
	var all []metadataInformer
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "watch") {
				continue
			}
			name := strings.TrimSuffix(resource.Name+"."+version.Group, ".")
			all = append(all, metadataInformer{name, list.GroupVersion, resource.Kind, factory.ForResource(version.WithResource(resource.Name)).Informer()})
		}
	}
	factory.Start(ctx.Done())
	for resource, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("client-go's informer of %s did not sync: %w", resource, ctx.Err())
		}
	}
	return all, nil
}

// objects returns the store's objects as the library has them: of the resource's kind, without managedFields.
func (m metadataInformer) objects() (objects, error) {
	found := objects{}
	for _, item := range m.informer.GetStore().List() {
		partial := item.(*v1.PartialObjectMetadata).DeepCopy()
		partial.APIVersion, partial.Kind, partial.ManagedFields = m.apiVersion, m.kind, nil
		text, err := json.Marshal(partial)
		if err != nil {
			return nil, err
		}
		obj := object{}
		if err := decode(text, &obj); err != nil {
			return nil, err
		}
		id, err := identify(obj)
		if err != nil {
			return nil, err
		}
		found[id] = obj
	}
	return found, nil
}
