// One program with an informer of every resource that can be listed and watched: each cache equals `kubectl get -A -o json`.
package main

import (
	"context"
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

var allResourcesCases = []testCase{{name: "all-resources", kinformerOnly: true, run: compareAllResources}}

func compareAllResources(ctx context.Context, h *harness) error {
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := makeTables(ctx, k); err != nil {
		return err
	}
	names, err := k.run(ctx, "api-resources", "--verbs=list,watch", "-o", "name")
	if err != nil {
		return err
	}
	resources := strings.Fields(names)
	if len(resources) < leastResources {
		return fmt.Errorf("only %d resources can be listed and watched", len(resources))
	}
	program, err := h.builtProgram("tests", "programs", "dump_caches")
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
	out, err := h.run(ctx, "", append([]string{"env", "KUBECONFIG=" + kubeconfig, program}, resources...)...)
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
		want, err := k.list(ctx, resource)
		if err != nil {
			return err
		}
		got := caches[resource]
		count += len(want)
		changed += dropChanged(got, want)
		errs = append(errs, compareObjects("the cache of "+resource, got, want))
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
