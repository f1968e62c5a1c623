// Many kubeconfigs, flags and environments, read by client-go and by kinformer's library. Both must get the same configuration (server,
// credentials, CA, proxy and so on), or both an error. An entry in kubeconfigs.go has each intended difference and its reason.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
)

var kubeconfigCases = []testCase{{name: "kubeconfigs", kinformerOnly: true, run: compareKubeconfigs}}

// The differences between kinformer and client-go.
const (
	same               = ""
	onlyKinformerFails = "an error from kinformer only"
	onlyClientGoFails  = "an error from client-go only"
	readDifferently    = "different results"
)

type kubeconfig struct {
	name    string
	files   map[string]string // files in the directory DIR, in addition to those of tlsFiles
	list    string            // KUBECONFIG, with names of files in DIR
	flags   string            // flags of the command line; DIR/ stands for the directory
	differs string            // the expected difference
	why     string            // the reason for the difference
}

func compareKubeconfigs(ctx context.Context, h *harness) error {
	showConfig := filepath.Join(filepath.Dir(h.kinformer), "..", "tests", "programs", "show_config")
	files, err := tlsFiles()
	if err != nil {
		return err
	}
	var errs []error
	counts := map[string]int{}
	total, alike, rejected := 0, 0, 0
	for i, k := range allKubeconfigs(files) {
		total++
		dir := filepath.Join(h.caseDir, fmt.Sprint(i))
		if err := k.write(dir, files); err != nil {
			return err
		}
		theirs, err := k.read(ctx, dir, filepath.Join(h.bin, "kubeconfig"))
		if err != nil {
			return err
		}
		ours, err := k.read(ctx, dir, showConfig)
		if err != nil {
			return err
		}
		found := compareResponses(ours, theirs)
		if found != k.differs {
			errs = append(errs, fmt.Errorf("%s: difference %q, wanted %q\n  kinformer: %v\n  client-go: %v", k.name, found, k.differs, ours, theirs))
		}
		switch {
		case found != same:
			counts[found]++
		case theirs["error"] != nil:
			rejected++
		default:
			alike++
		}
	}
	fmt.Printf("# %d kubeconfigs: %d with the same result, %d with an error from both; %d with an error from kinformer only, %d from client-go only, %d with different results\n",
		total, alike, rejected, counts[onlyKinformerFails], counts[onlyClientGoFails], counts[readDifferently])
	return errors.Join(errs...)
}

func compareResponses(ours, theirs map[string]any) string {
	weFail, theyFail := ours["error"] != nil, theirs["error"] != nil
	switch {
	case weFail && theyFail:
		return same
	case weFail:
		return onlyKinformerFails
	case theyFail:
		return onlyClientGoFails
	case reflect.DeepEqual(ours, theirs):
		return same
	}
	return readDifferently
}

func (k kubeconfig) write(dir string, shared map[string]string) error {
	for _, files := range []map[string]string{shared, k.files} {
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// read runs a program, and returns its output in a comparable form: asExtra is sorted, and the path of the plugin is cleaned.
func (k kubeconfig) read(ctx context.Context, dir, program string) (map[string]any, error) {
	flags := strings.Fields(strings.ReplaceAll(k.flags, "DIR/", dir+"/"))
	command := exec.CommandContext(ctx, program, flags...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	command.Dir = dir
	command.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if k.list != "" {
		var paths []string
		for _, name := range strings.Split(k.list, ":") {
			if name != "" && !strings.HasPrefix(name, "./") {
				name = filepath.Join(dir, name)
			}
			paths = append(paths, name)
		}
		command.Env = append(command.Env, "KUBECONFIG="+strings.Join(paths, ":"))
	}
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", k.name, filepath.Base(program), err)
	}
	var response map[string]any
	if err := json.Unmarshal(text, &response); err != nil {
		return nil, fmt.Errorf("%s: %s: %w: %s", k.name, filepath.Base(program), err, text)
	}
	if extra, isList := response["asExtra"].([]any); isList {
		slices.SortFunc(extra, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	if plugin, isMap := response["exec"].(map[string]any); isMap {
		if path, isText := plugin["command"].(string); isText && strings.Contains(path, "/") {
			plugin["command"] = filepath.Clean(path)
		}
	}
	return response, nil
}
