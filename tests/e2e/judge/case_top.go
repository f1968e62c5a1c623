// `kinformer top` in a real terminal, tmux, on the real server: its rows are those of `kubectl get`, in four sizes, and follow changes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var topCases = []testCase{
	{name: "top-real", kinformerOnly: true, run: topReal},
}

const topNamespace = "e2e-top"

// terminal is a tmux server with one window, in which a program runs.
type terminal struct {
	h      *harness
	socket string
}

func (h *harness) terminal(ctx context.Context, size string, argv ...string) (*terminal, error) {
	t := &terminal{h, filepath.Join(h.caseDir, "tmux-"+size)}
	width, height, _ := strings.Cut(size, "x")
	if err := os.MkdirAll(h.caseDir, 0o700); err != nil {
		return nil, err
	}
	// the terminal stays when the program ends, with its messages
	words := []string{"new-session", "-d", "-x", width, "-y", height, "sh", "-c", `"$@"; echo "ended with status $?"; cat`, "sh"}
	_, err := t.tmux(ctx, append(words, argv...)...)
	return t, err
}

func (t *terminal) tmux(ctx context.Context, words ...string) (string, error) {
	return t.h.run(ctx, "", append([]string{"tmux", "-u", "-S", t.socket, "-f", "/dev/null"}, words...)...)
}

func (t *terminal) close(ctx context.Context) { _, _ = t.tmux(ctx, "kill-server") }

// awaitScreen waits until the screen's lines fulfil a condition, which returns what is missing.
func (t *terminal) awaitScreen(ctx context.Context, problem func(screen []string) string) error {
	var screen, last string
	err := poll(ctx, "the screen", func() (bool, error) {
		var err error
		screen, err = t.tmux(ctx, "capture-pane", "-p")
		if err == nil {
			last = problem(strings.Split(screen, "\n"))
		}
		return last == "", err
	})
	if err != nil {
		return fmt.Errorf("%w: %s; the screen:\n%s", err, last, screen)
	}
	return nil
}

// rowsOf returns the cells of a table's rows but for ages, by the object's name.
func rowsOf(lines []string) map[string]string {
	rows := map[string]string{}
	for _, line := range lines {
		cells := strings.Fields(strings.TrimLeft(line, "+~- "))
		if len(cells) >= 5 && strings.Contains(cells[1], "/") {
			rows[cells[0]] = strings.Join(cells[1:4], " ")
		}
	}
	return rows
}

// hasRowsOf returns a condition: the screen has kubectl's rows, and no others.
func hasRowsOf(ctx context.Context, k kubectl) (func(screen []string) string, error) {
	table, err := k.run(ctx, "get", "pods", "-n", topNamespace, "--no-headers")
	if err != nil {
		return nil, err
	}
	want := rowsOf(strings.Split(table, "\n"))
	if len(want) == 0 {
		return nil, fmt.Errorf("kubectl's table has no rows:\n%s", table)
	}
	return func(screen []string) string {
		got := rowsOf(screen)
		for name, cells := range want {
			if got[name] != cells {
				return fmt.Sprintf("%s is %q, not %q", name, got[name], cells)
			}
		}
		if len(got) != len(want) {
			return fmt.Sprintf("%d rows, not %d", len(got), len(want))
		}
		return ""
	}, nil
}

func topReal(ctx context.Context, h *harness) error {
	if _, err := exec.LookPath("tmux"); err != nil {
		return skippedError("there is no tmux")
	}
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	const ready = `{"status":{"phase":"Running","containerStatuses":[{"name":"a","image":"a","imageID":"","ready":true,"restartCount":2,` +
		`"state":{"running":{}}}],"conditions":[{"type":"Ready","status":"True"}]}}`
	const failed = `{"status":{"phase":"Running","containerStatuses":[{"name":"a","image":"a","imageID":"","ready":false,"restartCount":3,` +
		`"state":{"waiting":{"reason":"CrashLoopBackOff"}}}],"conditions":[{"type":"Ready","status":"False"}]}}`
	if err := k.runAll(ctx,
		"create namespace "+topNamespace,
		"run a -n "+topNamespace+" --image=example.com/a:1",
		"run b -n "+topNamespace+" --image=example.com/b:1",
		"run c -n "+topNamespace+" --image=example.com/c:1",
		"patch pod b -n "+topNamespace+" --subresource=status --type=merge -p "+strings.ReplaceAll(ready, `"name":"a"`, `"name":"b"`),
	); err != nil {
		return err
	}
	for _, size := range []string{"80x24", "120x40", "200x50", "300x100"} {
		if err := topFollows(ctx, h, k, size, ready, failed, s.file("kubeconfig-kinformer")); err != nil {
			return fmt.Errorf("%s: %w", size, err)
		}
	}
	return nil
}

// topFollows compares top's rows with kubectl's, before and after changes.
func topFollows(ctx context.Context, h *harness, k kubectl, size, ready, failed, kubeconfig string) error {
	t, err := h.terminal(ctx, size, h.kinformer, "top", "pods", "-n", topNamespace, "--kubeconfig", kubeconfig)
	if err != nil {
		return err
	}
	defer t.close(context.WithoutCancel(ctx))
	patch := "patch pod a -n " + topNamespace + " --subresource=status --type=merge -p "
	for _, change := range [][]string{
		nil,
		{patch + ready},
		{patch + failed},
		{"delete pod c -n " + topNamespace + " --grace-period=0 --force"},
		{"run c -n " + topNamespace + " --image=example.com/c:2"},
	} {
		if err := k.runAll(ctx, change...); err != nil {
			return err
		}
		problem, err := hasRowsOf(ctx, k)
		if err != nil {
			return err
		}
		if err := t.awaitScreen(ctx, problem); err != nil {
			return err
		}
	}
	return t.awaitScreen(ctx, func(screen []string) string { // the first pod is selected
		for _, line := range screen {
			if strings.HasPrefix(line, "~ ") && strings.Contains(line, "STATUS Running → CrashLoopBackOff") {
				return ""
			}
		}
		return "the pane has no change"
	})
}
