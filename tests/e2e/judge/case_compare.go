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

const (
	mapText = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","labels":{"a":"b"}},"data":{"k":"1","l":"2"}}`
	mapLess = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"k":"2","n":"3"}}`
	podSpec = `"spec":{"containers":[{"name":"c","image":"example.com/c:1","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]},{"name":"d","image":"example.com/d:1"}]}`
	webText = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},` +
		`"template":{"metadata":{"labels":{"app":"web"}},` + podSpec + `}}}`
	webLess = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},` +
		`"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"d","image":"example.com/d:2"}]}}}}`
	wrongText = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"wrong"},"dat":{},"data":{"a":"1","a":"2"}}`
	webHead   = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{`
)

// explainedField matches the lines of `kubectl explain` without descriptions, which `kinformer serve` does not have.
var explainedField = regexp.MustCompile(`^(KIND|VERSION|GROUP|FIELD):|^ +\w+\t<`)

const (
	containersOf = "get deployment web -o jsonpath={.spec.template.spec.containers[*]['name','image','args','env']}"
	managersOf   = "get deployment web --show-managed-fields -o jsonpath={range.metadata.managedFields[*]}{.manager},{.operation},{.subresource}{'\\n'}{end}"
)

var compareCases = []testCase{
	compareCase("serve-kubectl-create", []step{
		{command: "create configmap c --from-literal=a=1 --from-literal=b=2"},
		{command: "get configmap c -o yaml --show-managed-fields"},
		{command: "create configmap c --from-literal=a=1"},
		{command: "create secret generic s --from-literal=k=v"},
		{command: "get secret s -o jsonpath={.data.k}{.type}"},
		{command: "create deployment web --image=example.com/web:1 --replicas=2"},
		{command: "get deployment web -o jsonpath={.spec.replicas}{.metadata.generation}"},
		{command: "create serviceaccount robot"},
		{command: "create token robot", ignoreOutput: true},
		{command: "create service clusterip svc --tcp=80:8080"},
		{command: "get service svc -o jsonpath={.spec.ports}"},
		{command: "create job j --image=example.com/j:1 -- echo hi"},
		{command: "create cronjob cj --image=example.com/j:1", args: []string{"--schedule=*/5 * * * *"}},
		{command: "create role r --verb=get --resource=pods"},
		{command: "create rolebinding rb --role=r --serviceaccount=NS:robot"},
		{command: "create quota q --hard=pods=3"},
		{command: "create poddisruptionbudget pdb --selector=app=web --min-available=1"},
		{command: "create ingress i --rule=example.com/*=svc:80"},
		{command: "run p --image=example.com/p:1"},
		{command: "create -f -", input: wrongText},
		{command: "create -f -", input: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"A_b"}}`},
		{command: "create --validate=warn -f -", input: wrongText},
		{command: "create --dry-run=server -f -", input: mapText},
		{command: "get configmap m"},
		{command: "get configmaps -o name", only: regexp.MustCompile(`/(c|wrong)$`)},
	}),
	compareCase("serve-kubectl-apply", []step{
		{command: "apply -f -", input: mapText},
		{command: "apply -f -", input: mapText},
		{command: "apply -f -", input: mapLess},
		{command: "get configmap m -o jsonpath={.data}{.metadata.labels}"},
		{command: "apply -f -", input: webText},
		{command: "scale deployment web --replicas=5"},
		{command: "set env deployment/web -c d X=y"},
		{command: "apply -f -", input: webLess},
		{command: containersOf},
		{command: "get deployment web -o jsonpath={.spec.replicas}"},
		{command: "diff -f -", input: webLess},
		{command: "apply -f -", input: wrongText},
		{command: "apply --validate=ignore -f -", input: wrongText},
		{command: "delete -f -", input: mapText},
	}),
	compareCase("serve-kubectl-patch", []step{
		{command: "create -f -", input: webText},
		{command: "patch deployment web -p", args: []string{`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"example.com/c:2"}]}}}}`}},
		{command: containersOf},
		{command: "patch deployment web -p", args: []string{`{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"d"},{"name":"e"},{"name":"c"}],"containers":[{"name":"e","image":"example.com/e:1"}]}}}}`}},
		{command: containersOf},
		{command: "patch deployment web -p", args: []string{`{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}}}`}},
		{command: containersOf},
		{command: "patch deployment web -p", args: []string{`{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`}},
		{command: "get deployment web -o jsonpath={.spec.strategy}"},
		{command: "patch deployment web -p", args: []string{`{"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"name":"z","image":"example.com/z:1"}]}}}}`}},
		{command: containersOf},
		{command: "patch deployment web -p", args: []string{`{"metadata":{"finalizers":["example.com/a","example.com/b"]}}`}},
		{command: "patch deployment web -p", args: []string{`{"metadata":{"finalizers":["example.com/c"]}}`}},
		{command: "get deployment web -o jsonpath={.metadata.finalizers}"},
		{command: "patch deployment web -p", args: []string{`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a"]}}`}},
		{command: "get deployment web -o jsonpath={.metadata.finalizers}"},
		{command: "patch deployment web --type=merge -p", args: []string{`{"metadata":{"finalizers":null,"labels":{"x":"y"}},"spec":{"replicas":4}}`}},
		{command: "get deployment web -o jsonpath={.metadata.labels}{.spec.replicas}{.metadata.finalizers}"},
		{command: "patch deployment web --type=json -p", args: []string{`[{"op":"test","path":"/spec/replicas","value":4},{"op":"add","path":"/metadata/labels/z","value":"1"},{"op":"copy","from":"/metadata/labels/x","path":"/metadata/labels/w"},{"op":"move","from":"/metadata/labels/z","path":"/metadata/labels/v"},{"op":"remove","path":"/metadata/labels/x"}]`}},
		{command: "get deployment web -o jsonpath={.metadata.labels}"},
		{command: "patch deployment web --type=json -p", args: []string{`[{"op":"test","path":"/spec/replicas","value":9}]`}},
		{command: "patch deployment web --type=json -p", args: []string{`[{"op":"remove","path":"/nothing"}]`}},
		{command: "patch deployment web -p", args: []string{`{"spec":{"replicas":"x"}}`}},
		{command: "patch deployment web -p", args: []string{`{"spec":{"nonsense":1}}`}},
		{command: "patch deployment nothing -p", args: []string{`{}`}},
		{command: "patch deployment web --subresource=status --type=merge -p", args: []string{`{"status":{"replicas":3}}`}},
		{command: "get deployment web -o jsonpath={.status.replicas}"},
		{command: "patch deployment web --subresource=scale --type=merge -p", args: []string{`{"spec":{"replicas":1}}`}},
		{command: "get deployment web -o jsonpath={.spec.replicas}"},
	}),
	compareCase("serve-kubectl-edit", []step{
		{command: "create configmap m --from-literal=k=first"},
		{command: "edit configmap m", editor: "sed -i s/first/second/"},
		{command: "get configmap m -o jsonpath={.data}"},
		{command: "edit configmap m", editor: "true"},
		{command: "create -f -", input: webText},
		{command: "edit deployment web", editor: "sed -i s/replicas:.2/replicas:.7/"},
		{command: "get deployment web -o jsonpath={.spec.replicas}"},
	}),
	compareCase("serve-kubectl-describe", []step{
		{command: "create -f -", input: mapText},
		{command: "describe configmap m"},
		{command: "create secret generic s --from-literal=k=v"},
		{command: "describe secret s"},
		{command: "create serviceaccount robot"},
		{command: "describe serviceaccount robot"},
		{command: "create role r --verb=get --resource=pods"},
		{command: "describe role r"},
		{command: "describe namespace NS"},
		{command: "describe configmap nothing"},
		{command: "create -f -", input: webText},
		{command: "describe deployment web"},
		{command: "get deployment web -o jsonpath={.spec}"},
		{command: "run p --image=example.com/p:1 --port=80"},
		{command: "get pod p -o jsonpath={.spec.containers}{.status.qosClass}"},
		{command: "create service clusterip svc --tcp=80:8080"},
		{command: "get service svc -o jsonpath={.spec.ports}{.spec.type}{.spec.internalTrafficPolicy}{.spec.ipFamilies}{.spec.ipFamilyPolicy}"},
	}),
	compareCase("serve-kubectl-wait", []step{
		{command: "create -f -", input: webText},
		{command: "wait --for=jsonpath={.spec.replicas}=2 deployment/web --timeout=30s"},
		{command: "patch deployment web --subresource=status --type=merge -p", args: []string{`{"status":{"conditions":[{"type":"Available","status":"True","reason":"R","message":"M"}]}}`}},
		{command: "wait --for=condition=Available deployment/web --timeout=30s"},
		{command: "wait --for=condition=Nothing deployment/web --timeout=1s"},
		{command: "wait --for=create deployment/web --timeout=30s"},
		{command: "delete deployment web --wait"},
		{command: "wait --for=delete deployment/web --timeout=30s"},
	}),
	compareCase("serve-kubectl-tables", []step{
		{command: "create -f -", input: mapText},
		{command: "get configmap m"},
		{command: "get configmap m --no-headers"},
		{command: "get configmap m -L a"},
		{command: "get configmap m --show-labels"},
		{command: "create -f -", input: webText},
		{command: "get deployment"},
		{command: "get deployment -o wide"},
		{command: "create secret generic s --from-literal=k=v"},
		{command: "get secrets"},
		{command: "create serviceaccount robot"},
		{command: "get serviceaccount robot"},
		{command: "create job j --image=example.com/j:1 -- echo hi"},
		{command: "get jobs"},
		{command: "create cronjob cj --image=example.com/j:1", args: []string{"--schedule=*/5 * * * *"}},
		{command: "get cronjobs"},
		{command: "get cronjobs -o wide"},
		{command: "get namespace NS"},
		{command: "get configmaps,secrets", only: regexp.MustCompile(`^(configmap/m|secret/|NAME)`)},
		{command: "get pods"},
		{command: "get statefulsets,daemonsets"},
		{command: "get --raw /api/v1/namespaces/NS/configmaps/m"},
	}),
	compareCase("serve-kubectl-server-side", []step{
		{command: "apply --server-side -f -", input: webText},
		{command: "apply --server-side -f -", input: webText},
		{command: "apply --server-side --field-manager=other -f -", input: webHead + `"replicas":3}}`},
		{command: "apply --server-side --field-manager=other --force-conflicts -f -", input: webHead + `"replicas":3}}`},
		{command: managersOf},
		{command: "scale deployment web --replicas=6"},
		{command: "apply --server-side --field-manager=other -f -", input: webHead + `"replicas":3,"paused":true}}`},
		{command: "apply --server-side -f -", input: webLess},
		{command: "apply --server-side --force-conflicts -f -", input: webLess},
		{command: containersOf},
		{command: "get deployment web -o jsonpath={.spec.replicas}"},
		{command: "apply --server-side -f -", input: webHead + `"nonsense":1}}`},
		{command: managersOf},
		{command: "apply --server-side -f -", input: mapText},
		{command: "apply --server-side -f -", input: mapLess},
		{command: "get configmap m -o yaml --show-managed-fields"},
	}),
	compareCase("serve-kubectl-explain", []step{
		{command: "explain pod", only: explainedField},
		{command: "explain pod.spec", only: explainedField},
		{command: "explain pod.spec.containers.ports", only: explainedField},
		{command: "explain deployment.spec --recursive", only: explainedField},
		{command: "explain services.spec.ports", only: explainedField},
		{command: "explain configmap.nonsense"},
		{command: "explain nonsense"},
	}),
	compareCase("serve-kubectl-api-resources", []step{
		{command: "api-resources"},
		{command: "api-resources -o wide"},
		{command: "api-resources --namespaced=false -o name"},
		{command: "api-resources --api-group=apps"},
		{command: "api-versions"},
	}),
}
