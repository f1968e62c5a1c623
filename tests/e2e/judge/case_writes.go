// Generated conditions, objects to create or update, and pods to claim: the library (tests/programs/write_objects) does what apimachinery,
// controller-runtime and the ControllerRefManager of Kubernetes do, in another namespace of the same cluster.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	clientrecord "k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	generatedConditions = 3000
	generatedWrites     = 150
	generatedClaims     = 25
	podsOfClaim         = 5
	oursNamespace       = "writes-ours"
	theirsNamespace     = "writes-theirs"
)

var writeCases = []testCase{{name: "writes", kinformerOnly: true, run: compareWrites}}

// writing is a comparison of writes: questions for the library, and what the Go programs answered.
type writing struct {
	generator
	context.Context
	questions [][]string
	answers   []string
}

func (w *writing) ask(answer string, fields ...string) {
	w.questions = append(w.questions, fields)
	w.answers = append(w.answers, answer)
}

func compareWrites(ctx context.Context, h *harness) error {
	s, _, err := h.preparedServer(ctx, "create namespace "+oursNamespace, "create namespace "+theirsNamespace)
	if err != nil {
		return err
	}
	config, err := s.restConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	writer, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	seed := uint64(time.Now().UnixNano())
	w := &writing{generator: generator{rand.New(rand.NewPCG(seed, 0))}, Context: ctx}
	for range generatedConditions {
		w.condition()
	}
	if err := w.createOrUpdate(writer); err != nil {
		return err
	}
	if err := w.claims(clients); err != nil {
		return err
	}
	answers, err := w.askLibrary(h, s)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	var errs []error
	for i, fields := range w.questions {
		kind, wanted := fields[0], w.answers[i]
		result, _, _ := strings.Cut(wanted, " ")
		if kind == "claim" && result == "" {
			result = fmt.Sprint(strings.Count(wanted, " "))
		}
		counts[kind+" "+result]++
		if !isSameAnswer(answers[i], wanted) && len(errs) < 20 {
			errs = append(errs, fmt.Errorf("%q: kinformer %q, Go %q", fields, answers[i], wanted))
		}
	}
	fmt.Printf("# seed %d, %d questions: %v\n", seed, len(w.questions), counts)
	return errors.Join(append(errs, compareMaps(ctx, clients), comparePods(ctx, clients))...)
}

func (w *writing) askLibrary(h *harness, s *server) ([]string, error) {
	program, err := h.builtProgram("tests", "programs", "write_objects")
	if err != nil {
		return nil, err
	}
	var input, complaints bytes.Buffer
	for _, fields := range w.questions {
		input.WriteString(strings.Join(fields, "\x1f") + "\x1e")
	}
	command := exec.CommandContext(w, program)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	command.Env = append(childEnvironment(), "KUBECONFIG="+s.file("kubeconfig-admin"))
	command.Stdin, command.Stderr = &input, &complaints
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("write_objects: %w: %s", err, complaints.String())
	}
	answers := strings.Split(strings.TrimSuffix(string(output), "\x1e"), "\x1e")
	if len(answers) != len(w.questions) {
		return nil, fmt.Errorf("write_objects: %d answers to %d questions", len(answers), len(w.questions))
	}
	return answers, nil
}

// isSameAnswer compares two answers: objects by their content, names in any order, errors only by being errors.
func isSameAnswer(ours, wanted string) bool {
	if strings.HasPrefix(ours, " ") {
		names := strings.Fields(ours)
		slices.Sort(names)
		ours = " " + strings.Join(names, " ")
	}
	word, rest, _ := strings.Cut(ours, " ")
	wantedWord, wantedRest, _ := strings.Cut(wanted, " ")
	if word != wantedWord || word == "error" {
		return word == wantedWord
	}
	var have, want any
	if json.Unmarshal([]byte(rest), &have) != nil || json.Unmarshal([]byte(wantedRest), &want) != nil {
		return rest == wantedRest
	}
	return reflect.DeepEqual(have, want)
}

// ---- conditions ----

func (w *writing) moment() metav1.Time {
	return metav1.NewTime(time.Unix(1_500_000_000+w.Int64N(500_000_000), w.Int64N(1e9)).UTC())
}

func (w *writing) newCondition() metav1.Condition {
	return metav1.Condition{
		Type:               w.oneOf("Ready", "Ready", "Progressing", "x.example.com/Y"),
		Status:             metav1.ConditionStatus(w.oneOf("True", "False", "Unknown")),
		ObservedGeneration: w.Int64N(3),
		Reason:             w.oneOf("A", "A", "B", "ü"),
		Message:            w.oneOf("", "m", "m", "line\nbreak \"quoted\""),
		LastTransitionTime: w.moment(),
	}
}

func (w *writing) condition() {
	conditions := []metav1.Condition{}
	for range w.IntN(4) { // types can repeat
		conditions = append(conditions, w.newCondition())
	}
	generation, now, set := w.Int64N(3), w.moment(), w.newCondition()
	if len(conditions) > 0 && w.IntN(3) > 0 { // one that is there, perhaps with another field
		changed := set
		set = conditions[w.IntN(len(conditions))]
		generation = set.ObservedGeneration
		switch w.IntN(6) {
		case 0:
			set.Status = changed.Status
		case 1:
			set.Reason = changed.Reason
		case 2:
			set.Message = changed.Message
		case 3:
			generation = changed.ObservedGeneration
		}
	}
	before := conditionsObject(conditions, generation)
	set.ObservedGeneration, set.LastTransitionTime = generation, now
	word := "same"
	if meta.SetStatusCondition(&conditions, set) {
		word = "changed"
	}
	w.ask(word+" "+conditionsObject(conditions, generation), "condition", before, set.Type, string(set.Status), set.Reason, set.Message, fmt.Sprint(now.UnixNano()))
}

func conditionsObject(conditions []metav1.Condition, generation int64) string {
	metadata := map[string]any{"name": "o"}
	if generation > 0 {
		metadata["generation"] = generation
	}
	return objectText(map[string]any{"metadata": metadata, "status": map[string]any{"conditions": conditions}})
}

// ---- create or update ----

func (w *writing) createOrUpdate(writer client.Client) error {
	for range generatedWrites {
		name := w.oneOf("a", "b", "c", "d")
		var settings []string
		for range w.IntN(4) {
			path := w.oneOf("data.x", "data.y", "metadata.labels.l", "metadata.annotations.n")
			settings = append(settings, path, w.oneOf("-", `"1"`, `"1"`, `"2"`))
		}
		if w.IntN(20) == 0 { // no ConfigMap of the API server
			settings = append(settings, "data.x", "[1]")
		}
		if w.IntN(15) == 0 {
			settings = append(settings, "metadata.name", `"another"`)
		}
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		obj.SetNamespace(theirsNamespace)
		obj.SetName(name)
		before := obj.DeepCopy()
		if err := writer.Get(w, client.ObjectKeyFromObject(obj), before); client.IgnoreNotFound(err) != nil {
			return err
		}
		result, err := controllerutil.CreateOrUpdate(w, writer, obj, func() error { return applySettings(obj.Object, settings) })
		answer := map[controllerutil.OperationResult]string{
			controllerutil.OperationResultCreated: "created", controllerutil.OperationResultUpdated: "updated", controllerutil.OperationResultNone: "unchanged"}[result]
		if answer == "updated" && obj.GetResourceVersion() == before.GetResourceVersion() { // kinformer looks at what the server did
			answer = "unchanged"
		}
		if err != nil {
			answer = "error " + err.Error()
		}
		w.ask(answer, append([]string{"write", oursNamespace, name}, settings...)...)
	}
	return nil
}

func applySettings(obj map[string]any, settings []string) error {
	for i := 0; i < len(settings); i += 2 {
		path := strings.Split(settings[i], ".")
		if settings[i+1] == "-" {
			unstructured.RemoveNestedField(obj, path...)
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(settings[i+1]), &value); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(obj, value, path...); err != nil {
			return err
		}
	}
	return nil
}

// compareMaps compares the ConfigMaps of both namespaces.
func compareMaps(ctx context.Context, clients kubernetes.Interface) error {
	states := [2]string{}
	for i, namespace := range []string{oursNamespace, theirsNamespace} {
		list, err := clients.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, m := range list.Items {
			states[i] += fmt.Sprintln(m.Name, m.Labels, m.Annotations, m.Data)
		}
	}
	if states[0] != states[1] {
		return fmt.Errorf("the ConfigMaps of kinformer:\n%sof controller-runtime:\n%s", states[0], states[1])
	}
	return nil
}

// ---- claims ----

var replicaSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}

const stays = "e2e.example.com/stays" // a finalizer: what is deleted stays

// claims makes the same replica sets and pods in both namespaces, and lets Kubernetes' manager claim those of one.
func (w *writing) claims(clients kubernetes.Interface) error {
	for number := range generatedClaims {
		app := fmt.Sprintf("claim-%d", number)
		isDeleted := w.IntN(4) == 0
		pods := make([]claimedPod, podsOfClaim)
		for i := range pods {
			pods[i] = w.newPod(fmt.Sprintf("%s-%d", app, i), app)
		}
		for _, namespace := range []string{oursNamespace, theirsNamespace} {
			owner, err := w.makeOwner(clients, namespace, app, isDeleted)
			if err != nil {
				return err
			}
			for _, pod := range pods {
				if err := pod.make(w, clients, owner); err != nil {
					return err
				}
			}
			if namespace == theirsNamespace {
				w.ask(w.claim(clients, owner, app), "claim", oursNamespace, app, "app="+app)
			}
		}
	}
	return nil
}

func (w *writing) makeOwner(clients kubernetes.Interface, namespace, app string, isDeleted bool) (*appsv1.ReplicaSet, error) {
	sets := clients.AppsV1().ReplicaSets(namespace)
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: app, Finalizers: []string{stays}}}
	owner.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	owner.Spec.Template.Labels = owner.Spec.Selector.MatchLabels
	owner.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/c:1"}}
	if _, err := sets.Create(w, owner, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if isDeleted {
		if err := sets.Delete(w, app, metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
	}
	return sets.Get(w, app, metav1.GetOptions{})
}

// claimedPod is a pod before its replica set claims it or not.
type claimedPod struct {
	name, app                         string
	isOfOwner, isOfAnother, isDeleted bool
	hasOtherOwner                     bool
}

func (w *writing) newPod(name, app string) claimedPod {
	controlled := w.IntN(3)
	return claimedPod{name: name, app: w.oneOf(app, app, "other"), isOfOwner: controlled == 1, isOfAnother: controlled == 2, isDeleted: w.IntN(5) == 0, hasOtherOwner: w.IntN(2) == 0}
}

func (p claimedPod) make(ctx context.Context, clients kubernetes.Interface, owner *appsv1.ReplicaSet) error {
	pods := clients.CoreV1().Pods(owner.Namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.name, Labels: map[string]string{"app": p.app}, Finalizers: []string{stays}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/c:1"}}
	if p.hasOtherOwner {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "m", UID: "11111111-1111-1111-1111-111111111111"})
	}
	if p.isOfOwner {
		pod.OwnerReferences = append(pod.OwnerReferences, *metav1.NewControllerRef(owner, replicaSetKind))
	}
	if p.isOfAnother {
		another := owner.DeepCopy()
		another.Name, another.UID = "another", "22222222-2222-2222-2222-222222222222"
		pod.OwnerReferences = append(pod.OwnerReferences, *metav1.NewControllerRef(another, replicaSetKind))
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	if !p.isDeleted {
		return nil
	}
	return pods.Delete(ctx, p.name, metav1.DeleteOptions{})
}

// claim lets Kubernetes' manager claim the pods of a replica set, and returns the right answer to the same question.
func (w *writing) claim(clients kubernetes.Interface, owner *appsv1.ReplicaSet, app string) string {
	list, err := clients.CoreV1().Pods(owner.Namespace).List(w, metav1.ListOptions{})
	if err != nil {
		return "error " + err.Error()
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	control := controller.RealPodControl{KubeClient: clients, Recorder: &clientrecord.FakeRecorder{}}
	canAdopt := controller.RecheckDeletionTimestamp(func(ctx context.Context) (metav1.Object, error) {
		return clients.AppsV1().ReplicaSets(owner.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
	})
	manager := controller.NewPodControllerRefManager(control, owner, labels.SelectorFromSet(labels.Set{"app": app}), replicaSetKind, canAdopt)
	claimed, err := manager.ClaimPods(w, pods)
	if err != nil {
		return "error " + err.Error()
	}
	var names []string
	for _, pod := range claimed {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	answer := ""
	for _, name := range names {
		answer += " " + name
	}
	return answer
}

// comparePods compares the owner references of the pods of both namespaces.
func comparePods(ctx context.Context, clients kubernetes.Interface) error {
	states := [2][]string{}
	for i, namespace := range []string{oursNamespace, theirsNamespace} {
		list, err := clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range list.Items {
			references := []string{}
			for _, reference := range pod.OwnerReferences { // in any order; the uids of the owners differ
				references = append(references, fmt.Sprintf("%s %s %s %v %v", reference.APIVersion, reference.Kind, reference.Name,
					ptr.Deref(reference.Controller, false), ptr.Deref(reference.BlockOwnerDeletion, false)))
			}
			slices.Sort(references)
			states[i] = append(states[i], pod.Name+" "+strings.Join(references, ", "))
		}
	}
	var errs []error
	for i, state := range states[0] {
		if i >= len(states[1]) || state != states[1][i] {
			errs = append(errs, fmt.Errorf("pod %q, of Kubernetes' manager %q", state, states[1][min(i, len(states[1])-1)]))
		}
	}
	return errors.Join(errs...)
}
