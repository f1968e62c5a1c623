package steps

import (
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DefinitionResource is the resource of definitions.
var DefinitionResource = apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions")

// ThingResource returns the resource that Definition defines.
func ThingResource(group string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
}

// Thing returns an object of the resource that Definition defines.
func Thing(group, namespace, name string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Thing",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     map[string]any{"size": size},
	}}
}

// Definition returns the definition of things, which have a spec.size of 1 at least, a status.size, and a status subresource.
func Definition(group string) *apiextensions.CustomResourceDefinition {
	least := 1.0
	size := func(minimum *float64) apiextensions.JSONSchemaProps {
		return apiextensions.JSONSchemaProps{
			Type:       "object",
			Properties: map[string]apiextensions.JSONSchemaProps{"size": {Type: "integer", Minimum: minimum}},
		}
	}
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things." + group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensions.JSONSchemaProps{"spec": size(&least), "status": size(nil)},
				}},
			}},
		},
	}
}
