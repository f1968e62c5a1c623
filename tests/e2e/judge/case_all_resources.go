// One program with an informer of every resource that can be listed and watched: each cache equals `kubectl get -A -o json`. With managedFields
// the JSON of each cached object is the server's, byte for byte.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

const (
	leastResources  = 55      // of a kube-apiserver 1.37, with one of the case's own
	mostGrowthBytes = 3 << 20 // of the process, beyond its objects
	mostChanged     = 5
)

var allResourcesCases = []testCase{
	{name: "all-resources", kinformerOnly: true, run: compareAllResources},
	{name: "all-bytes", kinformerOnly: true, run: compareBytes},
}

// A listed resource, from a line of `kubectl api-resources`.
type listedResource struct{ name, path string }

// everyResource returns a server that has objects, with every resource that can be listed and watched.
func (h *harness) everyResource(ctx context.Context) (*server, kubectl, []listedResource, error) {
	s, err := h.ownServer(ctx)
	if err != nil {
		return nil, kubectl{}, nil, err
	}
	k := h.kubectl(s)
	if err := makeTables(ctx, k); err != nil {
		return nil, k, nil, err
	}
	resources, err := k.listedResources(ctx)
	if err == nil && len(resources) < leastResources {
		err = fmt.Errorf("only %d resources can be listed and watched", len(resources))
	}
	return s, k, resources, err
}

// dumpCaches returns the output of dump_caches, which has an informer of each resource.
func (h *harness) dumpCaches(ctx context.Context, kubeconfig string, resources []listedResource, flags ...string) (string, error) {
	program, err := h.builtProgram("tests", "programs", "dump_caches")
	if err != nil {
		return "", err
	}
	command := append([]string{"env", "KUBECONFIG=" + kubeconfig, program}, flags...)
	for _, resource := range resources {
		command = append(command, resource.name)
	}
	return h.run(ctx, "", command...)
}

func compareAllResources(ctx context.Context, h *harness) error {
	s, k, resources, err := h.everyResource(ctx)
	if err != nil {
		return err
	}
	g, err := h.openGate("tcp", s.address())
	if err != nil {
		return err
	}
	token, err := os.ReadFile(s.file("kinformer.token"))
	if err != nil {
		return err
	}
	kubeconfig, err := h.userKubeconfig("kubeconfig-gate", g.address, s.file("ca.crt"), fmt.Sprintf("token: %q", token))
	if err != nil {
		return err
	}
	out, err := h.dumpCaches(ctx, kubeconfig, resources)
	if err != nil {
		return err
	}
	caches, memory, err := parseDump(out)
	if err != nil {
		return err
	}
	count, changed := 0, 0
	var errs []error
	for _, resource := range resources {
		want, err := k.list(ctx, resource.name)
		if err != nil {
			return err
		}
		got := caches[resource.name]
		count += len(want)
		changed += dropChanged(got, want)
		errs = append(errs, compareObjects("the cache of "+resource.name, got, want))
	}
	fmt.Printf("# %d informers, %d objects (%d changed in between): %d KB of JSON, the process grew by %d KB, %d connections\n", len(resources), count,
		changed, memory.objects/1024, memory.grown/1024, g.connections())
	if n := g.connections(); n > maxConnections {
		errs = append(errs, fmt.Errorf("%d informers made %d connections, wanted at most %d", len(resources), n, maxConnections))
	}
	if changed > mostChanged {
		errs = append(errs, fmt.Errorf("%d objects changed in between", changed))
	}
	if beyond := memory.grown - memory.objects; beyond > mostGrowthBytes {
		errs = append(errs, fmt.Errorf("%d informers took %d KB beyond their objects", len(resources), beyond/1024))
	}
	return errors.Join(errs...)
}

// dropChanged removes objects that the server changed between two reads, such as its Lease, and returns their number.
func dropChanged(got, want objects) int {
	changed := 0
	for id := range want {
		if have, found := got[id]; found && versionOf(have) != versionOf(want[id]) {
			delete(got, id)
			delete(want, id)
			changed++
		}
	}
	return changed
}

type growth struct{ grown, objects int64 }

// parseDump reads the output of dump_caches: the objects of each resource.
func parseDump(out string) (map[string]objects, growth, error) {
	found, resource, memory := map[string]objects{}, "", growth{}
	for _, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		if name, isHead := strings.CutPrefix(line, "resource "); isHead {
			resource = name
			found[resource] = objects{}
			continue
		}
		if strings.HasPrefix(line, "memory ") {
			if _, err := fmt.Sscanf(line, "memory %d %d", &memory.grown, &memory.objects); err != nil {
				return nil, memory, err
			}
			continue
		}
		obj := object{}
		if err := decode([]byte(line), &obj); err != nil {
			return nil, memory, err
		}
		id, err := identify(obj)
		if err != nil {
			return nil, memory, err
		}
		found[resource][id] = obj
	}
	return found, memory, nil
}

func compareBytes(ctx context.Context, h *harness) error {
	s, k, resources, err := h.everyResource(ctx)
	if err != nil {
		return err
	}
	out, err := h.dumpCaches(ctx, s.file("kubeconfig-kinformer"), resources, "--managed-fields")
	if err != nil {
		return err
	}
	got := map[string]map[objectState]string{}
	for _, section := range strings.Split("\n"+out, "\nresource ")[1:] {
		lines := strings.Split(section, "\n")
		if got[lines[0]], err = textsOf(lines[1:]); err != nil {
			return err
		}
	}
	count, size, changed := 0, 0, 0
	var errs []error
	for _, resource := range resources {
		items, err := k.rawItems(ctx, resource.path)
		if err != nil {
			return err
		}
		want, err := textsOf(items)
		if err != nil {
			return err
		}
		for id, text := range want {
			count++
			size += len(text)
			if have, found := got[resource.name][id]; !found {
				changed++ // the server wrote the object in between
			} else if have != text {
				errs = append(errs, fmt.Errorf("%s of %s: the cache has\n%s\nand the server\n%s", id.name, resource.name, have, text))
			}
		}
	}
	fmt.Printf("# %d resources, %d objects (%d changed in between), %d KB of JSON\n", len(resources), count, changed, size/1024)
	if changed > mostChanged {
		errs = append(errs, fmt.Errorf("%d objects changed in between", changed))
	}
	return errors.Join(errs...)
}

// listedResources returns every resource that can be listed and watched.
func (k kubectl) listedResources(ctx context.Context) ([]listedResource, error) {
	table, err := k.run(ctx, "api-resources", "--verbs=list,watch", "--no-headers")
	if err != nil {
		return nil, err
	}
	var resources []listedResource
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		words := strings.Fields(line) // NAME, perhaps SHORTNAMES, APIVERSION, NAMESPACED, KIND
		if len(words) < 4 {
			return nil, fmt.Errorf("a line of api-resources: %q", line)
		}
		plural, apiVersion := words[0], words[len(words)-3]
		group, _, hasGroup := strings.Cut(apiVersion, "/")
		resource := listedResource{name: plural, path: "/api/" + apiVersion + "/" + plural}
		if hasGroup {
			resource = listedResource{name: plural + "." + group, path: "/apis/" + apiVersion + "/" + plural}
		}
		resources = append(resources, resource)
	}
	return resources, nil
}

// rawItems returns the texts of a list's items, as the server wrote them.
func (k kubectl) rawItems(ctx context.Context, path string) ([]string, error) {
	out, err := k.run(ctx, "get", "--raw", path)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, err
	}
	var items []string
	for _, item := range list.Items {
		items = append(items, string(item))
	}
	return items, nil
}

// An objectState is one state of one object.
type objectState struct{ uid, version, name string }

// textsOf returns the JSON of each object without kind and apiVersion at its beginning: a list's items of built-in types have neither. Lines that
// are no objects are skipped.
func textsOf(lines []string) (map[objectState]string, error) {
	texts := map[objectState]string{}
	for _, line := range lines {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		obj := object{}
		if err := decode([]byte(line), &obj); err != nil {
			return nil, err
		}
		name := field(obj, "metadata", "namespace") + "/" + field(obj, "metadata", "name")
		texts[objectState{field(obj, "metadata", "uid"), versionOf(obj), name}] = withoutType(line)
	}
	return texts, nil
}

func withoutType(text string) string {
	for range 2 {
		for _, name := range []string{"kind", "apiVersion"} {
			if rest, found := strings.CutPrefix(text, `{"`+name+`":"`); found {
				if _, rest, found = strings.Cut(rest, `",`); found {
					text = "{" + rest
				}
			}
		}
	}
	return text
}
