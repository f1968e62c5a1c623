// Writes and deletions that the server checks or completes: RBAC's escalation check, resourceNames, finalizers, propagation policies, validation,
// versions of custom resources. The same commands run against the real server and `kinformer serve`.
package main

import (
	"context"
	"regexp"
)

// compareServing is a compareCase in which `kinformer serve` runs with these flags.
func compareServing(name string, flags []string, steps []step) testCase {
	return testCase{name: name, kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return sameResponses(ctx, h, steps, flags...)
	}}
}

func roleText(kind, name, rules string) string {
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"` + name + `"},"rules":[` + rules + `]}`
}

func mapWith(meta string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{` + meta + `}}`
}

const getMaps = `{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}`

var storageCases = []testCase{
	compareServing("serve-rbac", []string{"--tls", "--rbac"}, []step{
		{command: "create role one --verb=get,list,watch,deletecollection --resource=configmaps --resource-name=app"},
		{command: "create rolebinding one --role=one --user=NS-jane"},
		{command: "create configmap app"},
		{command: "get configmap app --as NS-jane -o name", retry: true},
		{command: "get configmaps --field-selector metadata.name=app --as NS-jane -o name"},
		{command: "get configmaps --field-selector metadata.namespace=NS,metadata.name=app --as NS-jane -o name"},
		{command: "get configmaps --field-selector metadata.name=other --as NS-jane"},
		{command: "get configmaps --field-selector metadata.name!=app --as NS-jane"},
		{command: "get configmaps --as NS-jane"},
		{command: "delete configmaps --field-selector metadata.name=app --as NS-jane"},
		{command: "create -f -", input: roleText("ClusterRole", "NS-roler", getMaps+`,{"apiGroups":["rbac.authorization.k8s.io"],`+
			`"resources":["roles","rolebindings","clusterroles","clusterrolebindings"],"verbs":["get","create","update","patch"]},`+
			`{"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["web"],"verbs":["get"]},`+
			`{"nonResourceURLs":["/metrics","/x/*"],"verbs":["get"]}`)},
		{command: "create clusterrolebinding NS-roler --clusterrole=NS-roler --user=NS-bob"},
		{command: "get configmap app --as NS-bob -o name", retry: true},
		{command: "create --as NS-bob -f -", input: roleText("Role", "r1", getMaps)},
		{command: "create --as NS-bob -f -", input: roleText("Role", "r2", `{"apiGroups":[""],"resources":["configmaps","secrets"],"verbs":["get","delete"]},`+
			`{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get"]}`)},
		{command: "create --as NS-bob -f -", input: roleText("Role", "r3", `{"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["web","x"],"verbs":["get"]}`)},
		{command: "create --as NS-bob -f -", input: roleText("Role", "r4", `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`)},
		{command: "create --as NS-bob -f -", input: roleText("ClusterRole", "NS-r5", `{"nonResourceURLs":["/metrics","/other"],"verbs":["get","post"]}`)},
		{command: "patch role r1 --as NS-bob --type=merge -p", args: []string{`{"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["watch"]}]}`}},
		{command: "patch clusterrole cluster-admin --as NS-bob --type=merge -p", args: []string{`{"metadata":{"labels":{"a":"b"}}}`}},
		{command: "create rolebinding b1 --role=r1 --user=joe --as NS-bob"},
		{command: "create rolebinding b2 --clusterrole=cluster-admin --user=joe --as NS-bob"},
		{command: "create rolebinding b3 --role=missing --user=joe --as NS-bob"},
		{command: "create clusterrolebinding NS-b4 --clusterrole=cluster-admin --user=joe --as NS-bob"},
		{command: "delete clusterrole NS-roler"},
		{command: "delete clusterrolebinding NS-roler"},
	}),
	compareCase("serve-deletion", []step{
		{command: "delete namespace default kube-system kube-public"},
		{command: "create -f -", input: mapWith(`"name":"m","finalizers":["example.com/a","example.com/b"]`)},
		{command: "delete configmap m --wait=false"},
		{command: "patch configmap m --type=merge -p", args: []string{`{"metadata":{"finalizers":["example.com/a","example.com/d","example.com/c"]}}`}},
		{command: "patch configmap m --type=merge -p", args: []string{`{"metadata":{"finalizers":["example.com/b"]}}`}},
		{command: "get configmap m -o yaml"},
		{command: "patch configmap m --type=merge -p", args: []string{`{"metadata":{"finalizers":null}}`}},
		{command: "get configmap m"},
		{command: "create configmap f"},
		{command: "delete configmap f --cascade=foreground --wait=false --dry-run=server"},
		{command: "delete configmap f --cascade=foreground --wait=false"},
		{command: "get configmap f -o yaml"},
		{command: "delete configmap f --cascade=orphan --wait=false"},
		{command: "get configmap f -o yaml"},
		{command: "delete configmap f"},
		{command: "get configmap f"},
		{command: "delete --raw /api/v1/namespaces/NS/configmaps/x?propagationPolicy=Bad"},
		{command: "create configmap x"},
		{command: "delete -f - --raw /api/v1/namespaces/NS/configmaps/x", input: `{"orphanDependents":true,"propagationPolicy":"Orphan"}`},
		{command: "delete -f - --raw /api/v1/namespaces/NS/configmaps/x", input: `{"dryRun":["No"]}`},
		{command: "create job j --image=example.com/j:1"},
		{command: "delete --raw /apis/batch/v1/namespaces/NS/jobs/j", ignoreOutput: true},
		{command: "get job j -o jsonpath={.metadata.finalizers}{.metadata.generation}"},
		{command: "create -f -", input: mapWith(`"name":"w","finalizers":["bad","a b/c"]`)},
		{command: "create -f -", input: mapWith(`"name":"w","finalizers":["orphan","foregroundDeletion"]`)},
		{command: "create -f -", input: mapWith(`"name":"w","ownerReferences":[{"apiVersion":"v1","kind":"","name":"","uid":""},{"apiVersion":"a/b/c","kind":"K","name":"n","uid":"u"}]`)},
		{command: "create -f -", input: mapWith(`"name":"w","ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}]`)},
		{command: "create -f -", input: mapWith(`"name":"w","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"n","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"o","uid":"v","controller":true}]`)},
		{command: "create -f -", input: mapWith(`"name":"keep","finalizers":["example.com/z"]`)},
		{command: "delete namespace NS --wait=false"},
		{command: "get namespace NS -o jsonpath={.status.phase}{.spec}"},
		{command: "create configmap late"},
		{command: "apply --server-side -f -", input: mapWith(`"name":"late"`)},
		{command: "label configmap keep a=b"},
	}),
	compareCase("serve-versions", []step{
		{command: "create -f -", input: versionsText},
		{command: "wait --for=condition=Established crd/foos.NS.example.com --timeout=30s"},
		{command: "get --raw /apis/NS.example.com/v1/namespaces/NS/foos", ignoreOutput: true, retry: true},
		{command: "get --raw /apis/NS.example.com"},
		{command: "create -f -", input: `{"apiVersion":"NS.example.com/v1","kind":"Foo","metadata":{"name":"f"},"spec":{"a":"1","replicas":2}}`},
		{command: "get foos.v1beta2.NS.example.com f -o yaml"},
		{command: "get foos.v2.NS.example.com f -o yaml"},
		{command: "get foos.v1.NS.example.com -o yaml"},
		{command: "patch foos.v1beta2.NS.example.com f --type=merge -p", args: []string{`{"spec":{"a":"2"}}`}},
		{command: "get foos.v1.NS.example.com f -o jsonpath={.spec}{.metadata.generation}{.metadata.managedFields[*].apiVersion}"},
		{command: "scale foos.v1.NS.example.com f --replicas=5"},
		{command: "get foos.v1.NS.example.com f -o jsonpath={.spec.replicas}"},
		{command: "get foos.v1.NS.example.com f --subresource=scale -o yaml"},
		{command: "patch foos.v1.NS.example.com f --subresource=scale --type=merge -p", args: []string{`{"spec":{"replicas":-1}}`}},
		{command: "delete foos.v1beta2.NS.example.com f"},
		{command: "get foos.v1.NS.example.com f"},
		{command: "delete crd foos.NS.example.com"},
		{command: "create -f -", input: `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"NS","name":"p"},"reason":"R","message":"M","type":"Normal","count":3}`},
		{command: "get events.events.k8s.io e -o jsonpath={.apiVersion}{.regarding}{.note}{.deprecatedCount}"},
		{command: "patch events.v1. e --type=merge -p", args: []string{`{"message":"N"}`}},
		{command: "get events.events.k8s.io --field-selector regarding.name=p -o jsonpath={.items[*].note}"},
		{command: "create -f -", input: `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"maxReplicas":5,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"targetCPUUtilizationPercentage":70}}`},
		{command: "get horizontalpodautoscalers.v2.autoscaling h -o jsonpath={.spec}"},
		{command: "get horizontalpodautoscalers.v1.autoscaling h -o jsonpath={.spec}"},
	}),
	compareCase("serve-validation", validationSteps()),
}

const versionsText = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.NS.example.com"},"spec":{"group":"NS.example.com","scope":"Namespaced",` +
	`"names":{"plural":"foos","kind":"Foo"},"versions":[` +
	`{"name":"v1beta2","served":true,"storage":false,"deprecated":true,` + fooSchema + `},` +
	`{"name":"v1","served":true,"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},` + fooSchema + `},` +
	`{"name":"foo1","served":true,"storage":false,` + fooSchema + `},{"name":"v10beta3","served":true,"storage":false,"deprecated":true,"deprecationWarning":"use v1",` + fooSchema + `},` +
	`{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","default":"x"}}}}}}}]}}`

const fooSchema = `"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"},"replicas":{"type":"integer"}}},"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}`

// firstLine matches the lines to compare. Below them the real server prints a diff of Go structures.
var firstLine = regexp.MustCompile(`is invalid|^\* |^[a-z.]+/`)

func validationSteps() []step {
	const template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	object := func(apiVersion, kind, rest string) step {
		return step{command: "create --validate=false -f -", only: firstLine,
			input: `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"x"},` + rest + `}`}
	}
	spec := func(text string) string { return `"spec":{` + text + `}` }
	patch := func(what, kind, text string) step {
		return step{command: "patch " + what + " --type=" + kind + " -p", args: []string{text}, only: firstLine}
	}
	pod := func(containers, rest string) step {
		return object("v1", "Pod", spec(`"containers":[`+containers+`]`+rest))
	}
	cron := func(schedule string) step {
		const once = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`
		return object("batch/v1", "CronJob", spec(`"schedule":"`+schedule+`","jobTemplate":{"spec":{`+once+`}}`))
	}
	ingress := func(text string) step { return object("networking.k8s.io/v1", "Ingress", spec(text)) }
	path := func(text string) step {
		return ingress(`"rules":[{"http":{"paths":[{` + text + `,"backend":{"service":{"name":"s","port":{"number":80}}}}]}}]`)
	}
	claim := func(text string) step { return object("v1", "PersistentVolumeClaim", spec(text)) }
	resources := func(text string) step { return pod(`{"name":"r","image":"i","resources":{`+text+`}}`, "") }
	docker := func(base64 string) step {
		return object("v1", "Secret", `"type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":"`+base64+`"}`)
	}
	return []step{
		object("v1", "Pod", spec("")),
		pod(`{"image":"i"}`, ""), pod(`{"name":"c"}`, ""), pod(`{"name":"C_x","image":"i"}`, ""),
		pod(`{"name":"c","image":"i"},{"name":"c","image":"j"}`, ""),
		pod(`{"name":"c","image":"i","volumeMounts":[{"name":"v","mountPath":"/x"}]}`, ""),
		pod(`{"name":"c","image":"i","ports":[{"containerPort":0},{"containerPort":70000,"protocol":"X"}]}`, ""),
		pod(`{"name":"c","image":"i","env":[{"name":"","value":"x"},{"name":"a=b"}]}`, ""),
		pod(`{"name":"c","image":"i"}`, `,"restartPolicy":"Bad"`), pod(`{"name":"c","image":"i"}`, `,"dnsPolicy":"Bad"`),
		pod(`{"name":"c","image":"i"}`, ""),
		patch("pod x", "merge", `{"spec":{"nodeName":"n"}}`),
		patch("pod x", "strategic", `{"spec":{"containers":[{"name":"d","image":"j"}]}}`),
		patch("pod x", "strategic", `{"spec":{"containers":[{"name":"c","image":"j"}]}}`),
		object("apps/v1", "Deployment", spec("")),
		object("apps/v1", "Deployment", spec(`"selector":{},`+template)),
		object("apps/v1", "Deployment", spec(`"selector":{"matchLabels":{"x":"y"}},`+template)),
		object("apps/v1", "Deployment", spec(`"replicas":-1,"selector":{"matchLabels":{"a":"b"}},`+template)),
		object("apps/v1", "Deployment", spec(`"selector":{"matchLabels":{"a":"b"}},`+template)),
		patch("deployment x", "merge", `{"spec":{"selector":{"matchLabels":{"z":"z"}},"template":{"metadata":{"labels":{"z":"z"}}}}}`),
		object("apps/v1", "DaemonSet", spec(template)),
		object("apps/v1", "ReplicaSet", spec(template)),
		object("apps/v1", "StatefulSet", spec(`"selector":{"matchLabels":{"a":"b"}},`+template)),
		patch("statefulset x", "merge", `{"spec":{"serviceName":"z"}}`),
		object("batch/v1", "Job", spec(template)),
		object("v1", "Service", spec("")),
		object("v1", "Service", spec(`"ports":[{"port":1},{"port":2}]`)),
		object("v1", "Service", spec(`"type":"ExternalName"`)),
		object("v1", "Service", spec(`"ports":[{"port":1}]`)),
		patch("service x", "merge", `{"spec":{"clusterIP":"10.0.0.99"}}`),
		object("v1", "ConfigMap", `"data":{"a b":"1"}`),
		object("v1", "ConfigMap", `"immutable":true,"data":{"a":"1"}`),
		patch("configmap x", "merge", `{"data":{"a":"2"}}`),
		patch("configmap x", "merge", `{"immutable":null,"data":{"a":"2"}}`),
		object("v1", "Secret", `"type":"kubernetes.io/tls"`),
		object("v1", "Secret", `"immutable":true,"data":{"a":"YQ=="}`),
		patch("secret x", "merge", `{"data":{"a":"Yg=="}}`),
		object("coordination.k8s.io/v1", "Lease", spec(`"leaseDurationSeconds":0,"leaseTransitions":-1`)),
		object("rbac.authorization.k8s.io/v1", "RoleBinding", `"subjects":[]`),
		object("rbac.authorization.k8s.io/v1", "RoleBinding", `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}`),
		patch("rolebinding x", "merge", `{"roleRef":{"name":"s"}}`),
		cron("x"), cron("* 24 * * *"), cron("* * * * mon-abc"), cron("@every x"), cron("TZ=UTC * * * * *"), cron(""),
		object("batch/v1", "CronJob", spec(`"schedule":"@daily","concurrencyPolicy":"x","jobTemplate":{"spec":{`+template+`}}`)),
		ingress(""), ingress(`"rules":[]`), ingress(`"rules":[{"http":{"paths":[]}}]`), ingress(`"defaultBackend":{}`),
		ingress(`"rules":[{"host":"*.Bad"},{"host":"Bad"}]`), path(`"path":"/"`), path(`"path":"x//y","pathType":"Prefix"`),
		path(`"path":"/","pathType":"Bad"`), ingress(`"defaultBackend":{"service":{"name":"S","port":{"number":70000}}}`),
		claim(""), claim(`"accessModes":["RWX"],"resources":{"requests":{"storage":"0"}}`),
		claim(`"accessModes":["ReadWriteOnce","ReadWriteOncePod"],"resources":{"requests":{"storage":"1Gi"}}`),
		claim(`"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}`),
		resources(`"limits":{"cpu":"500m"},"requests":{"cpu":2}`), resources(`"limits":{"memory":"1G"},"requests":{"memory":"1024Mi"}`),
		resources(`"limits":{"a.b/gpu":"2"},"requests":{"a.b/gpu":"1"}`), resources(`"requests":{"a.b/gpu":"1"}`),
		resources(`"limits":{"cpu":"-1"}`), resources(`"limits":{"cpus":"1"}`), resources(`"limits":{"memory":"0.5Ki"},"requests":{"memory":"1.5Gi"}`),
		docker(""), docker("bm90IGpzb24="), docker("W10="), docker("eyJhIjoxLH0="), docker("e30="),
	}
}
