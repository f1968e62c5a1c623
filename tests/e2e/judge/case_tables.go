// The tables of `kinformer get`, which kinformer makes from its cache, compared byte for byte with kubectl's, which the server makes.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

var tableCases = []testCase{
	{name: "get-tables", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		s, err := h.realServer(ctx)
		if err != nil {
			return err
		}
		return getTables(ctx, h.kubectl(s), "--kubeconfig", s.file("kubeconfig-kinformer"))
	}},
	{name: "serve-get-tables", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		s, err := h.serve(ctx)
		if err != nil {
			return err
		}
		return getTables(ctx, s.kubectl, "--server", s.url)
	}},
	{name: "command-lines", kinformerOnly: true, deadline: 15 * time.Minute, run: commandLines},
}

const tableDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"tables.furniture.example.com"},"spec":{
"group":"furniture.example.com","scope":"Namespaced","names":{"plural":"tables","singular":"table","kind":"Table","listKind":"TableList"},"versions":[{"name":"v1",
"served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"additionalPrinterColumns":[
{"name":"Legs","type":"integer","jsonPath":".spec.legs"},{"name":"Height","type":"number","jsonPath":".spec.height"},{"name":"Oak","type":"boolean","jsonPath":".spec.oak"},
{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"},{"name":"Drawers","type":"string","jsonPath":".spec.drawers"},
{"name":"Made","type":"date","jsonPath":".spec.made"},{"name":"Maker","type":"string","priority":1,"jsonPath":".spec.maker"},
{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}]}]}}`

const tableObjects = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"Node","metadata":{"name":"t1","labels":{"node-role.kubernetes.io/worker":"","node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"master"}},"spec":{"unschedulable":true}},
{"apiVersion":"v1","kind":"Node","metadata":{"name":"t2"}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"runs","labels":{"app":"web","tier":"a"}},"spec":{"nodeName":"t1","readinessGates":[{"conditionType":"x/y"}],"containers":[{"name":"c","image":"i:1","resources":{"requests":{"cpu":"500m","memory":"256Mi"},"limits":{"memory":"1Gi"}}},{"name":"d","image":"i:2"}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"waits"},"spec":{"containers":[{"name":"c","image":"i:1"}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"starts"},"spec":{"initContainers":[{"name":"i","image":"i:1"},{"name":"j","image":"i:1"}],"containers":[{"name":"c","image":"i:1"}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"ended"},"spec":{"containers":[{"name":"c","image":"i:1"}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"sidecar"},"spec":{"initContainers":[{"name":"i","image":"i:1","restartPolicy":"Always"}],"containers":[{"name":"c","image":"i:1"}]}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":"1","b":"2"},"binaryData":{"c":"AA=="}},
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"1"}},
{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"sa"}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"plain"},"spec":{"ports":[{"name":"http","port":80},{"name":"dns","port":53,"protocol":"UDP"}],"selector":{"b":"2","a":"1"}}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"headless"},"spec":{"clusterIP":"None","externalIPs":["192.0.2.7"]}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"elsewhere"},"spec":{"type":"ExternalName","externalName":"example.com"}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"balanced"},"spec":{"type":"LoadBalancer","ports":[{"port":80,"nodePort":30080}]}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"pending"},"spec":{"type":"LoadBalancer","ports":[{"port":80,"nodePort":30081}]}},
{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"rc"},"spec":{"replicas":0,"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}},
{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"claim"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}},
{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"bound"},"spec":{"accessModes":["ReadWriteMany"],"storageClassName":"fast","volumeName":"v","resources":{"requests":{"storage":"1Gi"}}}},
{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"capacity":{"storage":"2Gi"},"accessModes":["ReadWriteMany","ReadOnlyMany"],"storageClassName":"fast","persistentVolumeReclaimPolicy":"Retain","claimRef":{"namespace":"tables","name":"bound"},"hostPath":{"path":"/x"}}},
{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"cpu":"2","limits.cpu":"4","pods":"9"}}},
{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},"spec":{"limits":[{"type":"Pod","max":{"cpu":"2"}}]}},
{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"tables","name":"runs","fieldPath":"spec"},"type":"Normal","reason":"Started","message":"one\ntwo","source":{"component":"x","host":"n"},"firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2024-03-01T00:00:00Z","count":4},
{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"f"},"regarding":{"kind":"Pod","namespace":"tables","name":"runs"},"eventTime":"2024-01-01T00:00:00.000000Z","action":"a","type":"Warning","reason":"Failed","note":"text","reportingController":"example.com/c","reportingInstance":"i"},
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3,"selector":{"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]},{"key":"z","operator":"DoesNotExist"}]},"template":{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"containers":[{"name":"c","image":"i:1"},{"name":"d","image":"i:2"}]}}}},
{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"rs"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"1"}},"template":{"metadata":{"labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}},
{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},"spec":{"replicas":0,"serviceName":"x","selector":{"matchLabels":{"a":"1"}},"template":{"metadata":{"labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}},
{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"ds"},"spec":{"selector":{"matchLabels":{"a":"1"}},"template":{"metadata":{"labels":{"a":"1"}},"spec":{"nodeSelector":{"y":"1","x":"2"},"containers":[{"name":"c","image":"i:1"}]}}}},
{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"cr"},"data":{"a":1},"revision":3},
{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"runs"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i:1"}]}}}},
{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"done"},"spec":{"completions":2,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i:1"}]}}}},
{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"cj"},"spec":{"schedule":"@daily","timeZone":"Etc/UTC","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i:1"}]}}}}}},
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"hpa"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"minReplicas":2,"maxReplicas":9,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}},{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"5"}}},{"type":"Object","object":{"metric":{"name":"m"},"describedObject":{"kind":"Service","name":"s"},"target":{"type":"Value","value":"5"}}}]}},
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"pdb"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"a":"1"}}}},
{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"},"spec":{"ingressClassName":"c","tls":[{"hosts":["a"]}],"rules":[{"host":"a.example.com"},{"host":"b.example.com"},{"host":"c.example.com"},{"host":"d.example.com"}]}},
{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"j"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}},
{"apiVersion":"networking.k8s.io/v1","kind":"IngressClass","metadata":{"name":"c","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"example.com/c"}},
{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"np"},"spec":{"podSelector":{"matchLabels":{"a":"1"}}}},
{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"es"},"addressType":"IPv4","ports":[{"name":"x","port":80},{"name":"y"}],"endpoints":[{"addresses":["192.0.2.1"]},{"addresses":["192.0.2.2"]},{"addresses":["192.0.2.3"]},{"addresses":["192.0.2.4"]}]},
{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"example.com/p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r"}},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"rb"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u","apiGroup":"rbac.authorization.k8s.io"},{"kind":"ServiceAccount","namespace":"tables","name":"sa"}]},
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"le"},"spec":{"holderIdentity":"me"}},
{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"pc"},"value":7,"globalDefault":false,"preemptionPolicy":"Never","description":"d"},
{"apiVersion":"furniture.example.com/v1","kind":"Table","metadata":{"name":"big"},"spec":{"legs":4,"height":0.75,"oak":true,"drawers":{"b":[1,"x"],"a":{}},"made":"2024-01-01T00:00:00Z","maker":"me"},"status":{"conditions":[{"type":"Old","status":"False"},{"type":"Ready","status":"True"}]}},
{"apiVersion":"furniture.example.com/v1","kind":"Table","metadata":{"name":"odd"},"spec":{"legs":"four","height":2,"drawers":3,"made":"then"}}
]}`

// tableStatuses are statuses that the case writes, since no controller does.
var tableStatuses = []struct{ object, status string }{
	{"node/t1", `{"allocatable":{"cpu":"3920m","memory":"7Gi","pods":"110"},"capacity":{"cpu":"4","memory":"8Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"192.0.2.1"}],"nodeInfo":{"kubeletVersion":"v1.36.3","osImage":"an OS","kernelVersion":"6.1","architecture":"amd64","containerRuntimeVersion":"cri://1","bootID":"","kubeProxyVersion":"","machineID":"","operatingSystem":"linux","systemUUID":""}}`},
	{"pod/runs", `{"phase":"Running","podIP":"192.0.2.9","podIPs":[{"ip":"192.0.2.9"}],"conditions":[{"type":"x/y","status":"True"}],"containerStatuses":[{"name":"c","ready":true,"restartCount":3,"image":"","imageID":"","state":{"running":{}},"lastState":{"terminated":{"exitCode":1,"finishedAt":"2024-01-01T00:00:00Z"}}},{"name":"d","ready":false,"restartCount":0,"image":"","imageID":"","state":{"running":{}}}]}`},
	{"pod/waits", `{"phase":"Pending","containerStatuses":[{"name":"c","ready":false,"restartCount":7,"image":"","imageID":"","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}`},
	{"pod/starts", `{"phase":"Pending","initContainerStatuses":[{"name":"i","ready":true,"restartCount":1,"image":"","imageID":"","state":{"terminated":{"exitCode":0}}},{"name":"j","ready":false,"restartCount":0,"image":"","imageID":"","state":{"running":{}}}]}`},
	{"pod/ended", `{"phase":"Failed","containerStatuses":[{"name":"c","ready":false,"restartCount":0,"image":"","imageID":"","state":{"terminated":{"exitCode":0,"signal":9}}}]}`},
	{"pod/sidecar", `{"phase":"Running","initContainerStatuses":[{"name":"i","ready":true,"started":true,"restartCount":2,"image":"","imageID":"","state":{"running":{}}}],"containerStatuses":[{"name":"c","ready":true,"restartCount":1,"image":"","imageID":"","state":{"running":{}}}]}`},
	{"service/balanced", `{"loadBalancer":{"ingress":[{"ip":"192.0.2.9"},{"hostname":"a.very.long.name.example.com"},{"ip":"192.0.2.3"}]}}`},
	{"persistentvolumeclaim/bound", `{"phase":"Bound","accessModes":["ReadWriteMany"],"capacity":{"storage":"2Gi"}}`},
	{"resourcequota/q", `{"hard":{"cpu":"2","limits.cpu":"4","pods":"9"},"used":{"cpu":"500m","limits.cpu":"1","pods":"1"}}`},
	{"deployment/web", `{"replicas":3,"readyReplicas":2,"updatedReplicas":1,"availableReplicas":2}`},
	{"daemonset/ds", `{"desiredNumberScheduled":5,"currentNumberScheduled":4,"numberReady":3,"numberMisscheduled":0,"updatedNumberScheduled":2,"numberAvailable":1}`},
	{"job/runs", `{"active":1,"startTime":"2024-01-01T00:00:00Z"}`},
	{"horizontalpodautoscaler/hpa", `{"currentReplicas":3,"desiredReplicas":3,"conditions":[],"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":50,"averageValue":"1"}}}]}`},
	{"ingress/i", `{"loadBalancer":{"ingress":[{"ip":"192.0.2.9"},{"ip":"192.0.2.10"}]}}`},
}

var tablesOf = []string{"nodes", "namespaces", "pods", "configmaps", "secrets", "serviceaccounts", "services", "replicationcontrollers", "persistentvolumeclaims",
	"persistentvolumes", "resourcequotas", "limitranges", "events", "events.events.k8s.io", "deployments", "replicasets", "statefulsets", "daemonsets",
	"controllerrevisions", "jobs", "cronjobs", "horizontalpodautoscalers", "poddisruptionbudgets", "ingresses", "ingressclasses", "networkpolicies",
	"endpointslices", "storageclasses", "roles", "rolebindings", "leases", "priorityclasses", "prioritylevelconfigurations", "servicecidrs", "ipaddresses",
	"apiservices", "clusterroles", "clusterrolebindings", "customresourcedefinitions", "tables"}

// makeTables creates objects of each kind in the namespace tables.
func makeTables(ctx context.Context, k kubectl) error {
	if err := k.runAll(ctx, "create namespace tables"); err != nil {
		return err
	}
	if _, err := k.runInput(ctx, tableDefinition, "create", "-f", "-"); err != nil {
		return err
	}
	if err := k.runAll(ctx, "wait --for=condition=Established crd/tables.furniture.example.com"); err != nil {
		return err
	}
	if _, err := k.runInput(ctx, tableObjects, "create", "--validate=false", "-n", "tables", "-f", "-"); err != nil {
		return err
	}
	for _, s := range tableStatuses {
		if _, err := k.run(ctx, "patch", "-n", "tables", s.object, "--subresource=status", "--type=merge", "-p", `{"status":`+s.status+`}`); err != nil {
			return err
		}
	}
	return nil
}

func getTables(ctx context.Context, k kubectl, connection ...string) error {
	if err := makeTables(ctx, k); err != nil {
		return err
	}
	var commands [][]string
	for _, resource := range tablesOf {
		commands = append(commands, []string{resource}, []string{resource, "-o", "wide"})
	}
	commands = append(commands, []string{"pods", "-A", "-o", "wide"}, []string{"pods", "--show-labels", "-L", "app,none"}, []string{"pod", "runs", "--no-headers"},
		[]string{"flowschemas", "--sort-by", ".metadata.name"}, // without this, the server sorts them by precedence
		[]string{"deployments,services,configmaps,events"}, []string{"pods", "--sort-by", ".metadata.name"}, []string{"services", "-A", "--no-headers", "-o", "wide"})
	var differences []string
	for _, words := range commands {
		difference, err := compareTable(ctx, k, words, connection)
		if err != nil {
			return err
		}
		if difference != "" {
			differences = append(differences, difference)
		}
	}
	if err := k.runAll(ctx, "delete crd tables.furniture.example.com"); err != nil { // other cases compare the list of resources
		return err
	}
	return report("tables compared with kubectl's", differences)
}

// compareTable runs kubectl before and after kinformer, and retries until both outputs of kubectl are the same: then no age has changed
// meanwhile.
func compareTable(ctx context.Context, k kubectl, words, connection []string) (string, error) {
	words = append([]string{"get", "-n", "tables"}, words...)
	argv := append(append([]string{k.h.kinformer}, words...), connection...)
	for {
		before, err := k.run(ctx, words...)
		if err != nil {
			return "", err
		}
		got, err := k.h.run(ctx, "", argv...)
		if err != nil {
			return "", err
		}
		after, err := k.run(ctx, words...)
		if err != nil {
			return "", err
		}
		if before != after {
			continue
		}
		if got != before {
			return fmt.Sprintf("%s: %s", strings.Join(words, " "), firstDifference(got, before)), nil
		}
		return "", nil
	}
}

// ---- the command lines of command-lines.txt ----

// commandLine is one of command-lines.txt. The output differs from kubectl's for a reason; "": it is equal.
type commandLine struct{ text, reason string }

func readCommandLines(name string) (all []commandLine, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		reason, isReason := strings.CutPrefix(line, "    differs: ")
		switch {
		case line == "" || line[0] == '#':
		case isReason && len(all) > 0 && reason != "":
			all[len(all)-1].reason = reason
		case line[0] == ' ':
			return nil, fmt.Errorf("%s: neither a command line nor a reason: %q", name, line)
		default:
			all = append(all, commandLine{text: line})
		}
	}
	return all, nil
}

var shellWord = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// arguments splits the line as a shell does, where it has no backslashes and no variables.
func (l commandLine) arguments() (words []string) {
	for _, word := range shellWord.FindAllString(l.text, -1) {
		words = append(words, regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllStringFunc(word, func(quoted string) string {
			return quoted[1 : len(quoted)-1]
		}))
	}
	return words
}

func (l commandLine) isWatch() bool {
	return slices.ContainsFunc(l.arguments(), func(word string) bool { return word == "-w" || word == "--watch" || word == "--watch-only" })
}

// lineFiles are in the working directory of the command lines.
var lineFiles = map[string]string{
	"runs.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: runs\n",
	"two.json": `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"plain"}},` +
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}]}`,
	"columns.txt":    "NAME             PHASE\n.metadata.name   .status.phase\n",
	"names.jsonpath": "{range .items[*]}{.metadata.name}{\"\\n\"}{end}",
}

// lineStage is where the command lines run: a directory with files, and a kubeconfig whose namespace is tables.
type lineStage struct {
	h               *harness
	k               kubectl
	dir, kubeconfig string
	watches         int
}

// commandLines runs each line of command-lines.txt with kubectl and with kinformer.
func commandLines(ctx context.Context, h *harness) error {
	s, err := h.ownServer(ctx)
	if err != nil {
		return err
	}
	stage := lineStage{h: h, k: h.kubectl(s), dir: filepath.Join(h.caseDir, "lines"), kubeconfig: s.file("kubeconfig-admin")}
	if err := errors.Join(os.MkdirAll(stage.dir, 0o700), makeTables(ctx, stage.k)); err != nil {
		return err
	}
	for name, text := range lineFiles {
		if err := os.WriteFile(filepath.Join(stage.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := stage.k.runAll(ctx, "config set-context --current --namespace=tables"); err != nil {
		return err
	}
	all, err := readCommandLines(filepath.Join(h.clients, "../e2e/command-lines.txt"))
	if err != nil {
		return err
	}
	var wrong []string
	equal := 0
	for _, line := range all {
		difference, err := stage.difference(ctx, line)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", line.text, err)
		case difference == "" && line.reason != "":
			wrong = append(wrong, line.text+": is equal; remove the reason")
		case difference != "" && line.reason == "":
			wrong = append(wrong, line.text+": "+difference)
		case difference == "":
			equal++
		}
	}
	fmt.Printf("# command-lines: %d command lines: %d print what kubectl prints, %d do not, for a reason\n", len(all), equal, len(all)-equal-len(wrong))
	return report("command lines compared with kubectl", wrong)
}

// difference returns how kinformer's output differs from kubectl's; "" if it does not.
func (s *lineStage) difference(ctx context.Context, line commandLine) (string, error) {
	if line.isWatch() {
		return s.watchDifference(ctx, line)
	}
	want, err := s.run(ctx, s.k.argv()[0], line)
	for err == nil {
		var got, again lineOutput
		if got, err = s.run(ctx, s.h.kinformer, line); err != nil || want.difference(got) == "" {
			break
		}
		if again, err = s.run(ctx, s.k.argv()[0], line); err == nil && again.out == want.out {
			return want.difference(got), nil
		}
		want = again // an age has changed meanwhile
	}
	return "", err
}

// lineOutput is what a program printed, and whether it failed.
type lineOutput struct {
	out, messages string
	failed        bool
}

func (s *lineStage) run(ctx context.Context, program string, line commandLine) (lineOutput, error) {
	command := exec.CommandContext(ctx, program, line.arguments()...)
	command.Env = append(childEnvironment(), "KUBECONFIG="+s.kubeconfig, "KUBECACHEDIR="+filepath.Join(s.dir, "cache"))
	command.Dir = s.dir
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		err = nil
	}
	return lineOutput{out.String(), messages.String(), exit != nil}, err
}

var kinformerSays = regexp.MustCompile(`(?m)^kinformer \w+: `)

// difference compares kubectl's output with kinformer's, which may say more on standard error.
func (want lineOutput) difference(got lineOutput) string {
	if got.out != want.out {
		return firstDifference(got.out, want.out)
	}
	if got.failed != want.failed {
		return fmt.Sprintf("fails: %t, wanted %t: %s", got.failed, want.failed, strings.TrimSpace(want.messages+got.messages))
	}
	said := strings.Split(kinformerSays.ReplaceAllString(got.messages, ""), "\n")
	for _, message := range strings.Split(want.messages, "\n") {
		if !slices.Contains(said, strings.TrimPrefix(message, "error: ")) {
			return fmt.Sprintf("does not say %.200q, but %.200q", message, got.messages)
		}
	}
	return ""
}

// watchDifference runs the line of both while ConfigMaps change in a namespace of its own. Of --watch-only it compares what follows a change
// that both have printed.
func (s *lineStage) watchDifference(ctx context.Context, line commandLine) (string, error) {
	s.watches++
	namespace := fmt.Sprintf("lines-%d", s.watches)
	change := func(lines ...string) error {
		for i := range lines {
			lines[i] += " -n " + namespace
		}
		return s.k.runAll(ctx, lines...)
	}
	if err := errors.Join(s.k.runAll(ctx, "create namespace "+namespace), change("create configmap w", "label configmap w n=1")); err != nil {
		return "", err
	}
	words := append(line.arguments(), "-n", namespace, "--kubeconfig", s.kubeconfig)
	var want, got watchedLines
	first := regexp.MustCompile(`\bw\b`)
	if strings.Contains(line.text, "--watch-only") {
		first = nil
	}
	if err := errors.Join(want.startRaw(s.h, "kubectl-"+namespace, append([]string{s.k.argv()[0]}, words...)...),
		got.startRaw(s.h, "kinformer-"+namespace, append([]string{s.h.kinformer}, words...)...)); err != nil {
		return "", err
	}
	begin := ""
	for i := 0; first == nil; i++ {
		begin = fmt.Sprintf("begin-%d", i)
		if err := change("create configmap " + begin); err != nil {
			return "", err
		}
		pattern := regexp.MustCompile(begin)
		if want.hasWithin(ctx, pattern, time.Second) && got.hasWithin(ctx, pattern, time.Second) {
			first = pattern
		}
	}
	last := regexp.MustCompile(`\bend\b`)
	count := 1
	if regexp.MustCompile(`configmap[ /]w\b|metadata.name=w`).MatchString(line.text) {
		last, count = regexp.MustCompile(`\bw\b`), 5 // the object of the list, and four changes
	}
	if err := want.awaitRaw(ctx, first, 1); err != nil {
		return "", err
	}
	if err := got.awaitRaw(ctx, first, 1); err != nil {
		want.process.kill()
		got.process.kill()
		return err.Error(), nil
	}
	if err := change("label configmap w n=2 --overwrite", "create configmap a-much-longer-name --from-literal=a=1", "label configmap w n=1 --overwrite",
		"annotate configmap w a=b", "delete configmap a-much-longer-name w --now", "create configmap last", "label configmap last n=1",
		"create configmap end", "label configmap end n=1"); err != nil {
		return "", err
	}
	err := errors.Join(want.awaitRaw(ctx, last, count), got.awaitRaw(ctx, last, count))
	wanted, printed := want.killed(begin, last, count), got.killed(begin, last, count)
	if err != nil || printed == wanted {
		return "", err
	}
	return firstDifference(printed, wanted), nil
}
