// The same kubectl commands against the real server and against `kinformer serve`. The output must be the same except for uids, times and
// versions.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// step is one kubectl command. The judge adds -n. NS stands for the namespace, in the command and in the output.
type step struct {
	command      string
	input        string         // standard input
	editor       string         // KUBE_EDITOR: a command that changes the file
	args         []string       // more arguments; they can have blanks
	only         *regexp.Regexp // compare the lines that match
	ignoreOutput bool           // compare only whether the command fails
	retry        bool           // retry until the command succeeds: the real server applies changed roles after a moment
}

// variableTexts are the texts that differ from run to run, and their replacements.
var variableTexts = []struct {
	expression  *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`(resourceVersion"?: ?"?)\d+`), "${1}VERSION"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [0-9:]+ [+-]\d{4}`), "DATE"},
	{regexp.MustCompile(`\b(\d+m)?\d+s\b( *)`), "AGE "},
	{regexp.MustCompile(`/tmp/kubectl-edit-\d+`), "FILE"},
}

func compareCase(name string, steps []step) testCase {
	return testCase{name: name, kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return sameResponses(ctx, h, steps)
	}}
}

// unenforced matches a warning of `kinformer serve` about objects that it does not enforce or check. The real server has no such warning.
var unenforced = regexp.MustCompile(`(?m)^Warning: kinformer serve: .*\n`)

func sameResponses(ctx context.Context, h *harness, steps []step, flags ...string) error {
	real, s, err := h.bothServers(ctx, flags...)
	if err != nil {
		return err
	}
	// No controller removes a namespace of the real server, so each run needs a new one.
	namespace := fmt.Sprintf("e2e-%x", time.Now().UnixNano())
	var differences []error
	steps = append([]step{{command: "create namespace NS"}}, steps...)
	for _, one := range steps {
		want, wantErr := one.run(ctx, h.kubectl(real), namespace)
		for ; one.retry && wantErr != nil && ctx.Err() == nil; want, wantErr = one.run(ctx, h.kubectl(real), namespace) {
		}
		found, foundErr := one.run(ctx, s.kubectl, namespace)
		found = unenforced.ReplaceAllString(found, "")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if (wantErr == nil) != (foundErr == nil) || (!one.ignoreOutput && want != found) {
			differences = append(differences, fmt.Errorf("kubectl %s\nreal: %v\n%s\nserve: %v\n%s", one.command, wantErr, want, foundErr, found))
		}
	}
	_, err = h.kubectl(real).run(ctx, "delete", "namespace", namespace, "--wait=false")
	return errors.Join(append(differences, err)...)
}

// run returns the output of the command, with the variable texts replaced.
func (s step) run(ctx context.Context, k kubectl, namespace string) (string, error) {
	fill := func(text string) string { return strings.ReplaceAll(text, "NS", namespace) }
	arguments := append([]string{"-n", namespace}, strings.Fields(fill(s.command))...)
	for _, argument := range s.args {
		arguments = append(arguments, fill(argument))
	}
	argv := k.argv(arguments...)
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Env = childEnvironment()
	if s.editor != "" {
		command.Env = append(command.Env, "KUBE_EDITOR="+s.editor)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	command.Stdin = strings.NewReader(fill(s.input))
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	text := strings.ReplaceAll(out.String(), namespace, "NS")
	for _, one := range variableTexts {
		text = one.expression.ReplaceAllString(text, one.replacement)
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if s.only == nil || s.only.MatchString(line) {
			kept = append(kept, strings.TrimRight(line, " "))
		}
	}
	return strings.Join(kept, "\n"), err
}
