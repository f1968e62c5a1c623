// Objects as decoded JSON, by identity, and their differences.
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

// identity is the kind, namespace and name of an object. An object that is deleted and created again keeps its identity.
type identity struct{ kind, namespace, name string }

func (id identity) String() string {
	if id.namespace == "" {
		return id.kind + " " + id.name
	}
	return id.kind + " " + id.namespace + "/" + id.name
}

type object = map[string]any

type objects map[identity]object

// shownDifferences is the largest number of differences in an error message.
const shownDifferences = 5

func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keeps the digits of large integers, and 1 different from 1.0
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
		return id, fmt.Errorf("an object without kind, apiVersion, name or resourceVersion: %.200v", obj)
	}
	return id, nil
}

// parseList parses the list that `get -o json` prints.
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
			return nil, fmt.Errorf("%s is in the list twice", id)
		}
		found[id] = item
	}
	return found, nil
}

// compareObjects returns an error with the differences between got and want.
func compareObjects(what string, got, want objects) error {
	var differences []string
	for id := range got {
		if _, found := want[id]; !found {
			differences = append(differences, fmt.Sprintf("%s is unexpected", id))
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

// difference returns the first path at which two decoded values differ, or "".
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
				return fmt.Sprintf("%s.%s: present: %t, wanted: %t", path, key, inGot, inWant)
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
