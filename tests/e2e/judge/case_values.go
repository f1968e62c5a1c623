// Generated selectors, quantities and times, read by apimachinery and by kinformer's library (tests/programs/read_values): both must give
// the same answer, or both an error.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

const generatedOfEach = 5000

var valueCases = []testCase{{name: "values", kinformerOnly: true, run: compareValues}}

// question is a record of read_values: a kind, a text and, for selectors, an object; and the right answer.
type question struct {
	kind, text, object, answer string
}

func compareValues(ctx context.Context, h *harness) error {
	seed := uint64(time.Now().UnixNano())
	random := generator{rand.New(rand.NewPCG(seed, 0))}
	var questions []question
	for range generatedOfEach {
		questions = append(questions, random.labelQuestion(), random.fieldQuestion(), random.quantityQuestion(), random.timeQuestion())
	}
	answers, err := askLibrary(ctx, h, questions)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	var errs []error
	for i, q := range questions {
		ours, _, _ := strings.Cut(answers[i], " ")
		if ours != "error" {
			ours = answers[i]
		}
		class := "a value"
		if q.answer == "yes" || q.answer == "no" || q.answer == "error" {
			class = q.answer
		}
		counts[q.kind+" "+class]++
		if ours != q.answer && len(errs) < 20 {
			errs = append(errs, fmt.Errorf("%s %q of %s: kinformer %q, apimachinery %q", q.kind, q.text, q.object, answers[i], q.answer))
		}
	}
	fmt.Printf("# seed %d, %d questions: %v\n", seed, len(questions), counts)
	return errors.Join(errs...)
}

func askLibrary(ctx context.Context, h *harness, questions []question) ([]string, error) {
	var input bytes.Buffer
	for _, q := range questions {
		fmt.Fprintf(&input, "%s\x1f%s", q.kind, q.text)
		if q.object != "" {
			fmt.Fprintf(&input, "\x1f%s", q.object)
		}
		input.WriteByte('\x1e')
	}
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(h.kinformer), "..", "tests", "programs", "read_values"))
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	command.Stdin = &input
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("read_values: %w", err)
	}
	answers := strings.Split(strings.TrimSuffix(string(output), "\x1e"), "\x1e")
	if len(answers) != len(questions) {
		return nil, fmt.Errorf("read_values: %d answers to %d questions", len(answers), len(questions))
	}
	return answers, nil
}

// generator makes texts that are mostly valid: some are changed at a random place.
type generator struct{ *rand.Rand }

func (g generator) oneOf(texts ...string) string { return texts[g.IntN(len(texts))] }

// damaged returns the text, one time in six with a byte removed, added or replaced.
func (g generator) damaged(text, bytes string) string {
	if g.IntN(6) != 0 {
		return text
	}
	at := g.IntN(len(text) + 1)
	end := min(at+g.IntN(2), len(text))
	added := ""
	if g.IntN(3) > 0 {
		added = string(bytes[g.IntN(len(bytes))])
	}
	return text[:at] + added + text[end:]
}

var (
	labelKeys   = []string{"a", "b", "app", "example.com/tier", "in", "notin", "A.b_c-d", strings.Repeat("k", 63)}
	labelValues = []string{"", "x", "y", "web", "5", "-5", "007", "6", "9223372036854775807", "in", "a.B_c-d", strings.Repeat("v", 63)}
)

func (g generator) labelQuestion() question {
	set := labels.Set{}
	for range g.IntN(5) {
		value := g.oneOf(labelValues...)
		if strings.HasPrefix(value, "-") && g.IntN(4) > 0 {
			value = "5"
		}
		set[g.oneOf(labelKeys...)] = value
	}
	var terms []string
	for range g.IntN(4) {
		terms = append(terms, g.labelTerm())
	}
	text := g.damaged(strings.Join(terms, g.oneOf(",", ",", " , ", ",\t")), "(),=!<>in. \n\t-_/;'5Ax\xc3")
	answer := "error"
	if selector, err := labels.Parse(text); err == nil {
		answer = yesOrNo(selector.Matches(set))
	}
	return question{"labels", text, objectText(map[string]any{"metadata": map[string]any{"name": "o", "labels": set}}), answer}
}

func (g generator) labelTerm() string {
	key, value, space := g.oneOf(labelKeys...), g.oneOf(labelValues...), g.oneOf("", "", " ")
	if g.IntN(25) == 0 {
		key = g.oneOf("-a", "a/", "/a", "a/b/c", "UPPER.com/x", strings.Repeat("k", 64), "a..b/c", "a b")
	}
	if g.IntN(25) == 0 {
		value = g.oneOf("-", "x-", ".x", strings.Repeat("v", 64), "x/y", "+5", "5.0", "9223372036854775808")
	}
	switch g.IntN(8) {
	case 0:
		return key
	case 1:
		return "!" + space + key
	case 2, 3:
		return key + space + g.oneOf("=", "==") + space + value
	case 4:
		return key + space + "!=" + space + value
	case 5:
		return key + space + g.oneOf(">", "<") + space + g.oneOf("4", "5", "6", "-6", "+5", value)
	}
	values := []string{value}
	for range g.IntN(3) {
		values = append(values, g.oneOf(labelValues...))
	}
	return key + " " + g.oneOf("in", "notin") + space + "(" + space + strings.Join(values, g.oneOf(",", ", ", " ,")) + ")"
}

// The fields of the generated objects, and the texts that the API server's field sets have for them.
var fieldPaths = []string{"metadata.name", "metadata.namespace", "spec.nodeName", "spec.deep.er", "status.phase", "spec.count", "spec.on"}

var namelessTerm = regexp.MustCompile(`(^|,)!?=`)

func (g generator) fieldQuestion() question {
	texts := []string{"", "x", "n1", "a,b", "a=b", `a\b`, "Running", "ü", "line\nbreak", `"`, "a b"}
	set := fields.Set{"metadata.name": g.oneOf("o", "x"), "metadata.namespace": g.oneOf("x", "n1"), "spec.nodeName": g.oneOf(texts...), "status.phase": g.oneOf(texts...),
		"spec.deep.er": g.oneOf(texts...), "spec.count": fmt.Sprint(g.IntN(3)), "spec.on": g.oneOf("true", "false")}
	object := map[string]any{"metadata": map[string]any{"name": set["metadata.name"], "namespace": set["metadata.namespace"]},
		"status": map[string]any{"phase": set["status.phase"]},
		"spec":   map[string]any{"nodeName": set["spec.nodeName"], "deep": map[string]any{"er": set["spec.deep.er"]}, "count": json.Number(set["spec.count"]), "on": set["spec.on"] == "true"}}
	if g.IntN(4) == 0 { // a missing field and one that is null have the value ""
		delete(object["status"].(map[string]any), "phase")
		object["spec"].(map[string]any)["nodeName"] = nil
		set["status.phase"], set["spec.nodeName"] = "", ""
	}
	var terms []string
	for range g.IntN(4) {
		path := g.oneOf(fieldPaths...)
		value := set[path]
		if g.IntN(2) == 0 {
			value = g.oneOf(append(texts, "true", "false", "0", "1")...)
		}
		if g.IntN(12) > 0 {
			value = fields.EscapeValue(value)
		}
		terms = append(terms, path+g.oneOf("=", "==", "!=")+value)
	}
	text := strings.Join(terms, g.oneOf(",", ",", ",,"))
	if equals := strings.LastIndexByte(text, '='); equals >= 0 { // paths stay as they are: apimachinery accepts any text as one
		text = text[:equals+1] + g.damaged(text[equals+1:], `\,=x!"`)
	}
	if namelessTerm.MatchString(text) { // apimachinery takes a term without a path; for kinformer it is an error
		text = ""
	}
	answer := "error"
	if selector, err := fields.ParseSelector(text); err == nil {
		answer = yesOrNo(selector.Matches(set))
	}
	return question{"fields", text, objectText(object), answer}
}

func (g generator) digits(most int) string {
	var text strings.Builder
	for range g.IntN(most + 1) {
		text.WriteByte(byte('0' + g.IntN(10)*g.IntN(2)))
	}
	return text.String()
}

var hugeExponent = regexp.MustCompile(`[eE][-+]?\d{4}`)

func (g generator) quantityQuestion() question {
	text := g.oneOf("", "", "", "-", "+") + g.digits(g.oneOfInts(3, 6, 21))
	if g.IntN(2) == 0 {
		text += "." + g.digits(g.oneOfInts(3, 12))
	}
	text += g.oneOf("", "", "m", "n", "u", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e"+g.oneOf("", "-", "+")+fmt.Sprint(g.IntN(25)),
		"E"+g.oneOf("", "-")+fmt.Sprint(g.IntN(12)))
	text = g.damaged(text, "0123456789.+-eEmKi n")
	if hugeExponent.MatchString(text) { // apimachinery would compute for hours
		text = "1"
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return question{kind: "quantity", text: text, answer: "error"}
	}
	milli := new(inf.Dec).Round(new(inf.Dec).Mul(quantity.AsDec(), inf.NewDec(1000, 0)), 0, inf.RoundUp).UnscaledBig()
	thousandths := "limit"
	if milli.IsInt64() && milli.Int64() != -1<<63 {
		thousandths = milli.String()
	}
	units := new(inf.Dec).Round(quantity.AsDec(), 0, inf.RoundUp).UnscaledBig()
	if most := big.NewInt(1<<63 - 1); units.CmpAbs(most) > 0 { // apimachinery's Value is 0 or negative then; kinformer's is the limit
		units = most.Mul(most, big.NewInt(int64(quantity.Sign())))
	}
	return question{kind: "quantity", text: text, answer: units.String() + " " + thousandths}
}

func (g generator) oneOfInts(numbers ...int) int { return numbers[g.IntN(len(numbers))] }

func (g generator) timeQuestion() question {
	moment := time.Unix(g.Int64N(253402300800+62135596800)-62135596800, g.Int64N(1e9)).In(time.FixedZone("", 60*(g.IntN(48*60)-24*60)))
	layout := g.oneOf(time.RFC3339, time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05,000Z07:00", "2006-01-02T15:04:05.0Z07:00")
	if g.IntN(2) == 0 {
		moment = moment.UTC()
	}
	if g.IntN(2) == 0 { // a usual year
		moment = moment.AddDate(2000-moment.Year()+g.IntN(50), 0, 0)
	}
	text := g.damaged(moment.Format(layout), "0123456789:-+TZtz.,")
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return question{kind: "time", text: text, answer: "error"}
	}
	return question{kind: "time", text: text, answer: fmt.Sprint(parsed.UnixMilli())}
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func objectText(object any) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // only maps, strings, numbers and booleans
	}
	return string(text)
}
