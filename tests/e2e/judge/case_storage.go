// What a server refuses, keeps and adds when objects are written and deleted: RBAC's escalation check, resourceNames, finalizers, propagation
// policies, validation, versions of custom resources. The same requests against the real server and `kinformer serve`.
package main

import "context"

// compareServing is a compareCase in which the embedded server runs with these flags.
func compareServing(name string, flags []string, steps []step) testCase {
	return testCase{name: name, kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		return sameAnswers(ctx, h, steps, flags...)
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
		{command: "delete --raw /apis/batch/v1/namespaces/NS/jobs/j", loose: true},
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
}
