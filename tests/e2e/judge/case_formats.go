// The output formats of `kinformer get`, compared byte for byte with kubectl's; and the time and memory of one `kinformer get`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

var formatCases = []testCase{
	{name: "get-formats", kinformerOnly: true, run: getFormats},
	{name: "get-watch", kinformerOnly: true, run: getWatch},
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
		{"configmaps", "-oname", "--show-kind"},
		{"configmaps", "-o", "json"},
		{"configmap", "a", "-o", "json"},
		{"configmaps,services", "-o", "json", "--show-managed-fields"},
		{"secrets", "-l", "none=none", "-o", "json"},
		{"secrets", "-l", "none=none", "-o", "custom-columns=A:.metadata.name"},
		{"secrets", "-l", "none=none", "-o", "name"},
		{"configmap", "none", "--ignore-not-found", "-o", "json"},
		{"configmaps", "a", "none", "--ignore-not-found", "-ojson"},
		{"configmaps", "-o", "jsonpath-as-json={.items[*].data}"},
		{"service", "web", "-o", "jsonpath-as-json={.spec.ports[*].port}"},
		{"service", "web", "-o", "json", "--subresource", "status"},
		{"services", "--server-print=false", "-Lapp"},
		{"services", "--show-kind", "--chunk-size=1", "-v=0"},
		{"configmaps", "-l", "app", "-o", "jsonpath={.items[*].metadata.name}"},
		{"configmap", "a", "-o", "jsonpath={.data}"},
		{"configmap", "a", "-o", "jsonpath={.metadata.name}{'\\t'}{.data.n}{\"\\n\"}"},
		{"configmaps", "-o", `jsonpath={range .items[*]}{.metadata.name}:{.data.n}{"\n"}{end}`},
		{"configmaps", "-o", `jsonpath={.items[?(@.metadata.labels.app=="db")].metadata.name}`},
		{"configmaps", "-o", "jsonpath={.items[-1:].data}{.items[0:2].metadata.uid}"},
		{"service", "web", "-o", "jsonpath={..port}{.spec.ports[?(@.port>100)].name}{.spec.ports[*]['name','port']}"},
		{"configmaps", "-o", "custom-columns=NAME:.metadata.name,APP:.metadata.labels.app,N:{.data.n},ALL:.metadata.labels"},
		{"services", "-o", "custom-columns=P:.spec.ports[*].port,FIRST:.spec.ports[0],S:.spec", "--no-headers"},
		{"configmaps", "-o", `go-template={{.kind}}{{range .items}} {{.metadata.name}}{{end}}`},
		{"configmaps", "-o", `go-template={{range $i, $x := .items}}{{if $i}},{{end}}{{$x.metadata.name}}={{$x.data.n}}{{end}}{{"\n"}}`},
		{"configmaps", "-o", `go-template={{range .items}}{{.metadata.labels.app}} {{with .data}}{{len .}}{{end}};{{end}}`},
		{"configmaps", "-o", `go-template={{range .items}}{{range $k, $v := .data}}{{$k}}={{$v | printf "%q"}} {{end}}{{end}}`},
		{"configmaps", "-o", `go-template={{(index .items 0).data}} {{index (index .items 0).data "tab"}} {{len .items}}`},
		{"configmaps", "-o", `go-template={{range .items}}{{if and .metadata.labels (eq .metadata.labels.app "web")}}{{.metadata.name}}{{else if .data.n}}-{{end}}{{end}}`},
		{"service", "web", "-o", `go-template={{range .spec.ports}}{{.name}}:{{.port}}{{if gt .port 80}} tls{{end}} {{end}}{{.spec.selector}} {{.spec.none}} {{printf "%5d|%-4v|" (index .spec.ports 0).port true}}`},
		{"service", "web", "--template", "{{- /* no -o */ -}} {{.metadata.name | printf \"%s-%s\" .kind}}{{`raw`}}{{println 1 \"a\"}}{{base64decode \"YQ==\"}}"},
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
	for _, path := range []string{"/version", "/healthz", "/api/v1/namespaces/formats/services/web/status"} {
		want, err := k.run(ctx, "get", "--raw", path)
		if err != nil {
			return err
		}
		got, err := h.run(ctx, "", h.kinformer, "get", "--raw", path, "--kubeconfig", s.file("kubeconfig-admin"))
		if err != nil {
			return err
		}
		if got != want {
			differences = append(differences, fmt.Sprintf("--raw %s: %s", path, firstDifference(got, want)))
		}
	}
	return report("output of get compared with kubectl", differences)
}

// getWatch runs `get --watch` of kubectl and of kinformer side by side while ConfigMaps change: both print the same lines, but for the seconds of ages.
func getWatch(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	var differences []string
	for i, row := range []struct{ words, first, last string }{
		{"configmaps -w", "first ", "last "},
		{"configmaps -w -o wide --output-watch-events", "ADDED first ", "ADDED last "},
		{"configmaps -w --show-kind --no-headers", "configmap/first ", "configmap/last "},
		{"configmaps -w -o name", "configmap/first", "configmap/last"},
		{"configmaps -w -o custom-columns=N:.metadata.name,L:.metadata.labels.a", "first ", "last "},
		{"configmaps -w -o jsonpath={.metadata.name}{.metadata.labels}{'\\n'}", "first", "last"},
	} {
		namespace := fmt.Sprintf("get-watch-%d", i)
		if err := k.runAll(ctx, "create namespace "+namespace, "create configmap first -n "+namespace); err != nil {
			return err
		}
		words := append([]string{"get", "-n", namespace}, strings.Fields(row.words)...)
		var want, got watchedLines
		if err := errors.Join(want.start(ctx, h, "kubectl-get-watch", row.first, k.argv(words...)...),
			got.start(ctx, h, "kinformer-get-watch", row.first, append(append([]string{h.kinformer}, words...), "--kubeconfig", s.file("kubeconfig-admin"))...)); err != nil {
			return err
		}
		if err := k.runAll(ctx, "create configmap a-longer-name -n "+namespace, "label configmap first a=b -n "+namespace,
			"delete configmap first -n "+namespace, "create configmap last --from-literal=a=b -n "+namespace); err != nil {
			return err
		}
		wanted, err := want.until(ctx, row.last)
		if err != nil {
			return err
		}
		printed, err := got.until(ctx, row.last)
		if err != nil {
			return err
		}
		if printed != wanted {
			differences = append(differences, fmt.Sprintf("%s: %s", row.words, firstDifference(printed, wanted)))
		}
	}
	return report("output of get --watch compared with kubectl", differences)
}

// watchedLines are the lines of a program that does not end by itself.
type watchedLines struct {
	words   *lines
	process *process
	mu      sync.Mutex
	raw     []string
}

// start starts the program and waits for a line that begins with first: its list is printed.
func (w *watchedLines) start(ctx context.Context, h *harness, name, first string, argv ...string) error {
	if err := w.startRaw(h, name, argv...); err != nil {
		return err
	}
	_, err := w.words.await(ctx, w.process, first)
	return err
}

func (w *watchedLines) startRaw(h *harness, name string, argv ...string) (err error) {
	w.words = newLines()
	add := func(text []byte) {
		w.mu.Lock()
		w.raw = append(w.raw, age.ReplaceAllString(strings.TrimSuffix(string(text), "\n"), "1s"))
		w.mu.Unlock()
		w.words.addLine(text)
	}
	w.process, err = h.start(name, add, argv...)
	return err
}

// awaitRaw waits until this many lines match.
func (w *watchedLines) awaitRaw(ctx context.Context, pattern *regexp.Regexp, count int) error {
	for {
		w.words.mu.Lock()
		updated := w.words.updated
		w.words.mu.Unlock()
		if w.size(pattern, count) >= 0 {
			return nil
		}
		select {
		case <-updated:
		case <-w.process.ended:
			return fmt.Errorf("%s exited without %d lines like %s: %w", w.process.name, count, pattern, w.process.err)
		case <-ctx.Done():
			return fmt.Errorf("%s has not %d lines like %s: %w", w.process.name, count, pattern, ctx.Err())
		}
	}
}

func (w *watchedLines) hasWithin(ctx context.Context, pattern *regexp.Regexp, time time.Duration) bool {
	limited, cancel := context.WithTimeout(ctx, time)
	defer cancel()
	return w.awaitRaw(limited, pattern, 1) == nil
}

// size returns the number of lines up to the one that matches as the count-th; -1 if there are fewer.
func (w *watchedLines) size(pattern *regexp.Regexp, count int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, line := range w.raw {
		if pattern.MatchString(line) {
			count--
		}
		if count == 0 {
			return i + 1
		}
	}
	return -1
}

// killed ends the program, and returns its lines from the one with begin to the one that matches as the count-th.
func (w *watchedLines) killed(begin string, last *regexp.Regexp, count int) string {
	w.process.kill()
	size := max(w.size(last, count), 0)
	w.mu.Lock()
	defer w.mu.Unlock()
	from := slices.IndexFunc(w.raw[:size], func(line string) bool { return strings.Contains(line, begin) })
	return strings.Join(w.raw[max(from, 0):size], "\n")
}

var age = regexp.MustCompile(`\b\d+s\b`)

// until waits for a line that begins with last, ends the program, and returns its lines.
func (w *watchedLines) until(ctx context.Context, last string) (string, error) {
	if _, err := w.words.await(ctx, w.process, last); err != nil {
		return "", err
	}
	w.process.kill()
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.raw, "\n"), nil
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
