// A client-go program with the command line of `kinformer watch` and `kinformer get -o json`. The cases run with this program to test the
// judge: a case that fails with it has a defect itself. E2E_REFERENCE_FAULT=drop|twice|stale makes its output wrong: then the cases must
// fail.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var resources = map[string]schema.GroupVersionResource{
	"pods":             {Version: "v1", Resource: "pods"},
	"po":               {Version: "v1", Resource: "pods"},
	"namespaces":       {Version: "v1", Resource: "namespaces"},
	"configmaps":       {Version: "v1", Resource: "configmaps"},
	"deployments":      {Group: "apps", Version: "v1", Resource: "deployments"},
	"deployments.apps": {Group: "apps", Version: "v1", Resource: "deployments"},
}

// The number of the change with the injected fault. The first change after the initial list is number 1.
const faultyChange = 7

type options struct {
	kubeconfig, server, token, ca, namespace, output, selector, fields string
	all                                                                bool
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 || arguments[0] != "watch" && arguments[0] != "get" {
		return fmt.Errorf("usage: reference watch|get RESOURCES [flags]")
	}
	var o options
	flags := flag.NewFlagSet("reference", flag.ExitOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&o.server, "server", "", "")
	flags.StringVar(&o.token, "token", "", "")
	flags.StringVar(&o.ca, "certificate-authority", "", "")
	flags.StringVar(&o.namespace, "n", "default", "")
	flags.StringVar(&o.output, "o", "", "")
	flags.StringVar(&o.selector, "l", "", "")
	flags.StringVar(&o.fields, "field-selector", "", "")
	flags.BoolVar(&o.all, "A", false, "")
	var operands []string
	for rest := arguments[1:]; ; {
		if err := flags.Parse(rest); err != nil {
			return err
		}
		if flags.NArg() == 0 {
			break
		}
		operands = append(operands, flags.Arg(0))
		rest = flags.Args()[1:]
	}
	if o.output != "json" || len(operands) == 0 {
		return fmt.Errorf("only -o json with at least one resource is supported")
	}
	if o.all {
		o.namespace = ""
	}
	config := &rest.Config{Host: o.server, BearerToken: o.token, TLSClientConfig: rest.TLSClientConfig{CAFile: o.ca}}
	if o.kubeconfig != "" {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig); err != nil {
			return err
		}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	var p printer
	if arguments[0] == "get" {
		return get(ctx, client, o, operands)
	}
	for _, resource := range strings.Split(operands[0], ",") {
		go p.watch(ctx, informer(client, o, resource), resources[resource].Resource)
	}
	<-ctx.Done()
	p.mu.Lock() // waits until a line that is being printed is complete
	return nil
}

func informer(client dynamic.Interface, o options, resource string) cache.SharedIndexInformer {
	namespace := o.namespace
	if resource == "namespaces" {
		namespace = ""
	}
	return dynamicinformer.NewFilteredDynamicInformer(client, resources[resource], namespace, 0, cache.Indexers{},
		func(list *v1.ListOptions) { list.LabelSelector, list.FieldSelector = o.selector, o.fields }).Informer()
}

func get(ctx context.Context, client dynamic.Interface, o options, operands []string) error {
	source := informer(client, o, operands[0])
	go source.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), source.HasSynced) {
		return ctx.Err()
	}
	items := []any{}
	for _, obj := range source.GetStore().List() {
		item := content(obj)
		if len(operands) == 1 {
			items = append(items, item)
		} else if obj.(*unstructured.Unstructured).GetName() == operands[1] {
			return json.NewEncoder(os.Stdout).Encode(item)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"kind": "List", "apiVersion": "v1", "items": items})
}

// content returns the object without managedFields, as kubectl shows it.
func content(obj any) map[string]any {
	object := maps.Clone(obj.(*unstructured.Unstructured).Object)
	metadata := maps.Clone(object["metadata"].(map[string]any))
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return object
}

type printer struct {
	mu      sync.Mutex
	changes int
	delayed []byte
}

func (p *printer) watch(ctx context.Context, source cache.SharedIndexInformer, resource string) {
	count := 0
	registration, err := source.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			line := map[string]any{"type": "ADDED", "object": content(obj)}
			if initial {
				line["initial"] = true
				count++
			}
			p.print(line)
		},
		UpdateFunc: func(old, obj any) {
			// After a relist, client-go notifies of each object that still exists, and kinformer does not.
			if old.(*unstructured.Unstructured).GetResourceVersion() == obj.(*unstructured.Unstructured).GetResourceVersion() {
				return
			}
			p.print(map[string]any{"type": "MODIFIED", "old": content(old), "object": content(obj)})
		},
		DeleteFunc: func(obj any) {
			unknown, isUnknown := obj.(cache.DeletedFinalStateUnknown)
			if isUnknown {
				obj = unknown.Obj
			}
			p.print(map[string]any{"type": "DELETED", "finalStateUnknown": isUnknown, "object": content(obj)})
		},
	})
	if err != nil {
		panic(err)
	}
	go source.RunWithContext(ctx)
	if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		p.print(map[string]any{"type": "SYNCED", "resource": resource, "count": count,
			"resourceVersion": source.LastSyncResourceVersion()})
	}
}

func (p *printer) print(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := [][]byte{text}
	if line["type"] != "SYNCED" && line["initial"] == nil {
		lines = p.injectFault(text)
	}
	for _, text := range lines {
		fmt.Printf("%s\n", text)
	}
}

// injectFault drops one change, repeats one, or swaps two, as E2E_REFERENCE_FAULT requests.
func (p *printer) injectFault(text []byte) [][]byte {
	p.changes++
	if p.delayed != nil {
		delayed := p.delayed
		p.delayed = nil
		return [][]byte{text, delayed}
	}
	if p.changes != faultyChange {
		return [][]byte{text}
	}
	switch os.Getenv("E2E_REFERENCE_FAULT") {
	case "drop":
		return nil
	case "twice":
		return [][]byte{text, text}
	case "stale":
		p.delayed = slices.Clone(text)
		return nil
	}
	return [][]byte{text}
}
