// The output formats of `kinformer get`, compared byte for byte with kubectl's; and the time and memory of one `kinformer get`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var formatCases = []testCase{
	{name: "get-formats", kinformerOnly: true, run: getFormats},
	{name: "cold-get", kinformerOnly: true, run: coldGet},
}

const formatObjects = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"app":"web","tier":"1"}},"data":{"n":"10","text":"one\ntwo\n","yes":"yes","time":"2001-01-01","long":"` +
	`a text that is so long that it does not fit on one line of eighty characters and is folded, therefore, here","tab":"a\tb","quote":"it's \"so\"","html":"<b>&</b>","empty":""}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","labels":{"app":"db"},"annotations":{"example.com/x":"0x1f","example.com/y":"- a"}},"data":{"n":"9"}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"n":"100","u":"ü \u2713"}},
{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"a"},"spec":{"hard":{"cpu":"1500m","memory":"2Gi"}}},
{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"b"},"spec":{"hard":{"cpu":"2","memory":"500Mi"}}},
{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"c"},"spec":{"hard":{"cpu":"200m"}}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[{"name":"http","port":80},{"name":"https","port":443}],"selector":{"app":"web"}}}
]}`

func getFormats(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := k.runAll(ctx, "create namespace formats"); err != nil {
		return err
	}
	if _, err := k.runInput(ctx, formatObjects, "create", "--validate=false", "-n", "formats", "-f", "-"); err != nil {
		return err
	}
	var differences []string
	for _, words := range [][]string{
		{"configmaps", "-o", "yaml"},
		{"configmap", "a", "-o", "yaml"},
		{"configmaps,services", "-o", "yaml"},
		{"configmaps", "-o", "yaml", "--show-managed-fields"},
		{"configmaps", "-o", "name"},
		{"configmaps,services", "-o", "name"},
		{"configmaps", "-l", "app", "-o", "jsonpath={.items[*].metadata.name}"},
		{"configmap", "a", "-o", "jsonpath={.data}"},
		{"configmap", "a", "-o", "jsonpath={.metadata.name}{'\\t'}{.data.n}{\"\\n\"}"},
		{"configmaps", "-o", `jsonpath={range .items[*]}{.metadata.name}:{.data.n}{"\n"}{end}`},
		{"configmaps", "-o", `jsonpath={.items[?(@.metadata.labels.app=="db")].metadata.name}`},
		{"configmaps", "-o", "jsonpath={.items[-1:].data}{.items[0:2].metadata.uid}"},
		{"service", "web", "-o", "jsonpath={..port}{.spec.ports[?(@.port>100)].name}{.spec.ports[*]['name','port']}"},
		{"configmaps", "-o", "custom-columns=NAME:.metadata.name,APP:.metadata.labels.app,N:{.data.n},ALL:.metadata.labels"},
		{"services", "-o", "custom-columns=P:.spec.ports[*].port,FIRST:.spec.ports[0],S:.spec", "--no-headers"},
		{"configmaps", "--sort-by", ".metadata.name", "-o", "name"},
		{"configmaps", "--sort-by", "{.data.n}", "-o", "name"},
		{"resourcequotas", "--sort-by", ".spec.hard.cpu", "-o", "name"},
		{"resourcequotas", "--sort-by", ".spec.hard.memory", "-o", "jsonpath={.items[*].metadata.name}"},
	} {
		words = append([]string{"get", "-n", "formats"}, words...)
		want, err := k.run(ctx, words...)
		if err != nil {
			return err
		}
		argv := append([]string{h.kinformer}, words...)
		got, err := h.run(ctx, "", append(argv, "--kubeconfig", s.file("kubeconfig-kinformer"))...)
		if err != nil {
			return err
		}
		if got != want {
			differences = append(differences, fmt.Sprintf("%s: %s", strings.Join(words, " "), firstDifference(got, want)))
		}
	}
	return report("output of get compared with kubectl", differences)
}

func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			return fmt.Sprintf("line %d is %q, wanted %q", i+1, gotLines[i], wantLines[i])
		}
	}
	return fmt.Sprintf("%d lines, wanted %d", len(gotLines), len(wantLines))
}

// coldGet checks that one `kinformer get pods` takes at most half the time of `kubectl get pods`. It prints the memory of both.
func coldGet(ctx context.Context, h *harness) error {
	const rounds = 15
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	cache, err := os.MkdirTemp(h.work, "cold")
	if err != nil {
		return err
	}
	kubeconfig := s.file("kubeconfig-kinformer")
	kubectl := []string{filepath.Join(h.bin, "kubectl"), "--kubeconfig", kubeconfig, "--cache-dir", cache, "get", "pods", "-A"}
	kinformer := []string{h.kinformer, "get", "pods", "-A", "--kubeconfig", kubeconfig}
	command := func(argv []string) *exec.Cmd {
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Env = childEnvironment()
		return c
	}
	// The two alternate, so that the load of the machine is the same for both. The first round is not counted: it fills kubectl's discovery
	// cache.
	times := map[string][]time.Duration{}
	for round := range rounds + 1 {
		for _, argv := range [][]string{kubectl, kinformer} {
			begin := time.Now()
			if out, err := command(argv).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", argv[0], err, out)
			}
			if round > 0 {
				times[argv[0]] = append(times[argv[0]], time.Since(begin))
			}
		}
	}
	median := func(argv []string) time.Duration {
		slices.Sort(times[argv[0]])
		return times[argv[0]][rounds/2]
	}
	ourTime, theirTime := median(kinformer), median(kubectl)
	ourMemory, err := peakMemory(command(kinformer))
	if err != nil {
		return err
	}
	theirMemory, err := peakMemory(command(kubectl))
	if err != nil {
		return err
	}
	fmt.Printf("# cold-get: kinformer %d ms, kubectl %d ms (medians of %d): %.0f %%\n",
		ourTime.Milliseconds(), theirTime.Milliseconds(), rounds, 100*float64(ourTime)/float64(theirTime))
	for _, m := range []struct {
		what         string
		ours, theirs int64
	}{
		{"peak resident", ourMemory.peak, theirMemory.peak},
		{"proportional (Pss)", ourMemory.share, theirMemory.share},
		{"private", ourMemory.private, theirMemory.private},
	} {
		fmt.Printf("# cold-get: memory, %s: kinformer %.1f MB, kubectl %.1f MB: %.0f %%\n", m.what, float64(m.ours)/1024,
			float64(m.theirs)/1024, 100*float64(m.ours)/float64(m.theirs))
	}
	if ourTime*2 > theirTime {
		return fmt.Errorf("kinformer takes %s and kubectl %s, wanted at most half of kubectl's time", ourTime, theirTime)
	}
	return nil
}
