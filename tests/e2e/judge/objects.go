// Objects as decoded JSON, by identity, and how they differ.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// identity names an object over its incarnations.
type identity struct{ kind, namespace, name string }

func (id identity) String() string {
	if id.namespace == "" {
		return id.kind + " " + id.name
	}
	return id.kind + " " + id.namespace + "/" + id.name
}

type object = map[string]any

type objects map[identity]object

// At most this many differences are told: the first says most.
const shownDifferences = 5

func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // 1 and 1.0 are not the same text, and large integers keep their digits
	return decoder.Decode(into)
}

func field(obj object, path ...string) string {
	for i, name := range path {
		value, found := obj[name]
		if !found {
			return ""
		}
		if i == len(path)-1 {
			text, _ := value.(string)
			return text
		}
		if obj, found = value.(object); !found {
			return ""
		}
	}
	return ""
}

func versionOf(obj object) string { return field(obj, "metadata", "resourceVersion") }

func identify(obj object) (identity, error) {
	id := identity{field(obj, "kind"), field(obj, "metadata", "namespace"), field(obj, "metadata", "name")}
	if id.kind == "" || id.name == "" || field(obj, "apiVersion") == "" || versionOf(obj) == "" {
		return id, fmt.Errorf("not a complete object (kind, apiVersion, name, resourceVersion): %.200v", obj)
	}
	return id, nil
}

// parseList reads what `get -o json` prints for many objects.
func parseList(text []byte) (objects, error) {
	var list struct {
		Kind  string   `json:"kind"`
		Items []object `json:"items"`
	}
	if err := decode(text, &list); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(list.Kind, "List") || list.Items == nil {
		return nil, fmt.Errorf("not a list: %.200s", text)
	}
	found := objects{}
	for _, item := range list.Items {
		id, err := identify(item)
		if err != nil {
			return nil, err
		}
		if _, twice := found[id]; twice {
			return nil, fmt.Errorf("%s is twice in the list", id)
		}
		found[id] = item
	}
	return found, nil
}

// compareObjects says where got is not want.
func compareObjects(what string, got, want objects) error {
	var differences []string
	for id := range got {
		if _, found := want[id]; !found {
			differences = append(differences, fmt.Sprintf("%s should not be there", id))
		}
	}
	for id, obj := range want {
		if have, found := got[id]; !found {
			differences = append(differences, fmt.Sprintf("%s is missing", id))
		} else if path := difference("", have, obj); path != "" {
			differences = append(differences, fmt.Sprintf("%s differs at %s", id, path))
		}
	}
	return report(what, differences)
}

func report(what string, differences []string) error {
	if len(differences) == 0 {
		return nil
	}
	slices.Sort(differences)
	shown := differences[:min(len(differences), shownDifferences)]
	return fmt.Errorf("%s: %d differences: %s", what, len(differences), strings.Join(shown, "; "))
}

// difference is the first path at which two decoded values differ, or "".
func difference(path string, got, want any) string {
	gotObject, gotIs := got.(object)
	wantObject, wantIs := want.(object)
	if gotIs && wantIs {
		keys := slices.Sorted(maps.Keys(gotObject))
		for key := range wantObject {
			if _, found := gotObject[key]; !found {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			gotValue, inGot := gotObject[key]
			wantValue, inWant := wantObject[key]
			if inGot != inWant {
				return fmt.Sprintf("%s.%s: there: %t, wanted: %t", path, key, inGot, inWant)
			}
			if found := difference(path+"."+key, gotValue, wantValue); found != "" {
				return found
			}
		}
		return ""
	}
	if reflect.DeepEqual(got, want) {
		return ""
	}
	return fmt.Sprintf("%s: %.80v, wanted %.80v", path, got, want)
}
