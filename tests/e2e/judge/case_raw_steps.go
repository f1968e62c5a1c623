// The requests of the cases in case_raw.go.
package main

var rawCases = []testCase{
	rawCase("serve-raw-json-patch", jsonPatchSteps()),
}

const thingDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.GROUP"},
"spec":{"group":"GROUP","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
"spec":{"type":"object","properties":{"size":{"type":"integer"},"name":{"type":"string"},
"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"port":{"type":"integer"},"tier":{"type":"string"}}}},
"tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
"plain":{"type":"array","items":{"type":"string"}},
"whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
"inner":{"type":"object","properties":{"deep":{"type":"string"},"other":{"type":"string"}}}}}}}}}]}}`

const things = "/apis/GROUP/v1/namespaces/NS/things"

func defineThings() rawStep {
	return rawStep{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: thingDefinition, codeOnly: true}
}

func jsonPatchSteps() []rawStep {
	steps := []rawStep{
		defineThings(),
		{method: "POST", path: things, codeOnly: true, body: `{"apiVersion":"GROUP/v1","kind":"Thing","metadata":{"name":"a"},
			"free":{"one":1,"list":[1,2],"text":"t","inner":{"x":1}}}`},
	}
	for _, patch := range []string{
		`[{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["example.com/a"]}]`,
		`[{"op":"test","path":"/metadata/finalizers","value":null}]`,
		`[{"op":"test","path":"/metadata/finalizers/0","value":"example.com/a"},{"op":"remove","path":"/metadata/finalizers/0"}]`,
		`[{"op":"test","path":"/metadata/finalizers"}]`,
		`[{"op":"test","path":"/free/one"}]`,
		`[{"op":"test","path":"/free/nothing/below","value":null}]`,
		`[{"op":"test","path":"/free/list/2","value":null}]`,
		`[{"op":"test","path":"/free/one","value":2}]`,
		`[{"op":"test","path":"/free/one","value":1.0}]`,
		`[{"op":"test","path":"/free/inner","value":{"x":1}}]`,
		`[{"op":"replace","path":"/free/new","value":3}]`,
		`[{"op":"replace","path":"/free/none/below","value":3}]`,
		`[{"op":"replace","path":"/free/one/below","value":3}]`,
		`[{"op":"replace","path":"/free/list/2","value":3}]`,
		`[{"op":"replace","path":"/free/list/-","value":3}]`,
		`[{"op":"replace","path":"/free/list/-1","value":3}]`,
		`[{"op":"add","path":"/free/list/-1","value":4}]`,
		`[{"op":"add","path":"/free/list/+1","value":5}]`,
		`[{"op":"add","path":"/free/list/00","value":6}]`,
		`[{"op":"add","path":"/free/list/x","value":6}]`,
		`[{"op":"add","path":"/free/list/-9","value":6}]`,
		`[{"op":"remove","path":"/free/list/-2"}]`,
		`[{"op":"remove","path":"/free/list/9"}]`,
		`[{"op":"remove","path":"/free/nothing"}]`,
		`[{"op":"copy","from":"/free/inner","path":"/free/copied"}]`,
		`[{"op":"copy","from":"/free/absent/below","path":"/free/copied"}]`,
		`[{"op":"move","from":"/free/copied","path":"/free/moved"}]`,
		`[{"op":"move","from":"/free/copied","path":"/free/moved"}]`,
		`[{"op":"add","path":"/free/a~2b","value":7}]`,
		`[{"op":"add","path":"/free/a~1b~0c","value":7}]`,
		`[{"op":"add","path":"free","value":{}}]`,
		`[{"op":"add","path":"x/free/odd","value":8}]`,
		`[{"op":"add","path":"","value":{}}]`,
		`[{"op":"remove","path":""}]`,
		`[{"op":"copy","from":"","path":"/free/all"}]`,
		`[{"op":"add","path":"/free/","value":9}]`,
		`[{"op":"what","path":"/free/one"}]`,
		`[{"path":"/free/one","value":1}]`,
		`[{"op":"add","value":1}]`,
		`[{"op":"move","path":"/free/one"}]`,
		`[]`,
		`[1]`,
		`{}`,
		`[{"op":"test","path":"/free/text","value":"t"},{"op":"replace","path":"/metadata/labels","value":{"a":"b"}}]`,
	} {
		steps = append(steps, rawStep{method: "PATCH", path: things + "/a?fieldManager=m", contentType: jsonPatch, body: patch, codeOnly: true},
			rawStep{method: "GET", path: things + "/a"})
	}
	return steps
}
