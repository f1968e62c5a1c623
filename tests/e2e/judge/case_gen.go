// `kinformer gen` with the schemas of the real server: a header for every resource, all compiled together as C99 and as C++17; and one of
// named fields.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const leastGenerated = 65 // resources of a kube-apiserver 1.37 with one of the case's own

var genCases = []testCase{{name: "gen", kinformerOnly: true, run: generateHeaders}}

func generateHeaders(ctx context.Context, h *harness) error {
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	k := h.kubectl(s)
	if err := h.installSampleResource(ctx, s); err != nil {
		return err
	}
	names, err := k.run(ctx, "api-resources", "-o", "name")
	if err != nil {
		return err
	}
	resources := strings.Fields(names)
	if len(resources) < leastGenerated {
		return fmt.Errorf("only %d resources", len(resources))
	}
	generate := func(arguments ...string) (string, error) {
		return h.run(ctx, "", append([]string{h.kinformer, "gen", "--kubeconfig", s.file("kubeconfig-kinformer")}, arguments...)...)
	}
	var source strings.Builder
	var errs []error
	lines, described := 0, 0
	for i, resource := range resources {
		header, err := generate(resource, "--name", fmt.Sprintf("kind_%d", i))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		again, err := generate(resource, "--name", fmt.Sprintf("kind_%d", i))
		if err == nil && again != header {
			err = fmt.Errorf("%s: two runs give different headers", resource)
		}
		errs = append(errs, err)
		for _, line := range strings.Split(header, "\n") {
			lines++
			if len([]rune(line)) > 120 {
				errs = append(errs, fmt.Errorf("%s: a line of more than 120 columns: %s", resource, line))
			}
			if strings.HasPrefix(line, "    ") && strings.HasSuffix(line, " */") {
				described++
			}
		}
		file := fmt.Sprintf("kind_%d.h", i)
		if err := os.WriteFile(filepath.Join(h.caseDir, file), []byte(header), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(&source, "#include %q\n", file)
	}
	fmt.Printf("# %d resources: %d lines, %d members with a comment\n", len(resources), lines, described)
	if described < 2000 {
		errs = append(errs, fmt.Errorf("only %d comments: the server describes nearly every field", described))
	}
	pod, err := generate("pods", "--fields", "spec.nodeName,status.phase,spec.containers[].image")
	if err != nil {
		return err
	}
	fmt.Printf("# kinformer gen pods --fields spec.nodeName,status.phase,spec.containers[].image\n#   %s\n",
		strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n#   "))
	return errors.Join(append(errs, h.compileHeaders(ctx, source.String()+"int main(void) { return 0; }\n"))...)
}

// compileHeaders compiles a source of the case's directory in both languages.
func (h *harness) compileHeaders(ctx context.Context, source string) error {
	include := filepath.Join(h.examples, "..", "include")
	var errs []error
	for _, compiler := range [][]string{{"cc", "-std=c99", "-x", "c"}, {"c++", "-std=c++17", "-x", "c++"}} {
		file := filepath.Join(h.caseDir, "all.c")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			return err
		}
		argv := append(compiler, file, "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I", include)
		_, err := h.run(ctx, "", argv...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
