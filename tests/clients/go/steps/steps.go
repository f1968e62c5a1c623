// Package steps runs a list of steps and prints one line for each, as ../../README.md demands.
package steps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deadline is how long an event or a state may take.
const Deadline = 30 * time.Second

// A Step has the name of a row in the table of steps.
type Step struct {
	Name string
	Run  func(ctx context.Context) error
}

// Run runs the steps and ends the program: status 0 only if all are ok.
func Run(ctx context.Context, all []Step) {
	status := 0
	for _, step := range all {
		if err := step.Run(ctx); err != nil {
			fmt.Printf("failed %s: %s\n", step.Name, strings.Join(strings.Fields(err.Error()), " "))
			status = 1
			continue
		}
		fmt.Printf("ok %s\n", step.Name)
	}
	os.Exit(status)
}

// Refused returns an error unless err is a refusal with this reason and the code that belongs to it.
func Refused(err error, reason metav1.StatusReason, code int32) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Errorf("not refused with %s: %w", reason, orNothing(err))
	}
	if found := status.Status(); found.Reason != reason || found.Code != code {
		return fmt.Errorf("refused with %d %s, not %d %s: %s", found.Code, found.Reason, code, reason, found.Message)
	}
	return nil
}

func orNothing(err error) error {
	if err == nil {
		return errors.New("there was no error")
	}
	return err
}

// Equal returns an error unless found is as wanted.
func Equal[T any](what string, found, want T) error {
	if fmt.Sprint(found) != fmt.Sprint(want) {
		return fmt.Errorf("%s: %v, not %v", what, found, want)
	}
	return nil
}

// Events are what an informer or a controller was notified of, in order.
type Events struct {
	mu      sync.Mutex
	seen    []string
	changed chan struct{} // closed by the next Add; nil: nobody waits
}

// Add records an event.
func (e *Events) Add(words ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, strings.Join(words, " "))
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// snapshot returns the events so far and a channel that the next Add closes.
func (e *Events) snapshot() ([]string, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return slices.Clone(e.seen), e.changed
}

// Until waits until the condition holds. It checks the condition now and after each event.
func (e *Events) Until(ctx context.Context, condition func(seen []string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	for {
		seen, changed := e.snapshot()
		if condition(seen) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("not among %q: %w", seen, ctx.Err())
		}
	}
}

// Wait waits for an event.
func (e *Events) Wait(ctx context.Context, words ...string) error {
	event := strings.Join(words, " ")
	if err := e.Until(ctx, func(seen []string) bool { return slices.Contains(seen, event) }); err != nil {
		return fmt.Errorf("%q: %w", event, err)
	}
	return nil
}
