// Leader election of the library and of client-go on one Lease. The leader is killed, paused or stopped, and a candidate of a given kind takes
// over. Two candidates never lead at the same time.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

var electorCases = []testCase{{name: "electors-mixed", run: electorsMixed}}

const (
	libraryKind  = "ours"
	clientGoKind = "client-go"
)

// candidate is a running elector program; tests/e2e/elector/README.md describes its output.
type candidate struct {
	kind, identity string
	process        *process
	out            *lines
}

// term is the time from a candidate's "started" to its last "leading", in nanoseconds of CLOCK_MONOTONIC.
type term struct {
	identity   string
	start, end int64
}

// terms parses the output of a candidate. It returns the terms, whether the candidate leads now, and the leader that it printed last.
func (c *candidate) terms() (terms []term, leads bool, leader string, err error) {
	for _, line := range c.out.withPrefix("") {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "leader" {
			leader = words[1]
			continue
		}
		if len(words) != 2 {
			return nil, false, "", fmt.Errorf("%s: unexpected line %q", c.identity, line)
		}
		at, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return nil, false, "", fmt.Errorf("%s: %q: %w", c.identity, line, err)
		}
		switch {
		case words[0] == "started" && !leads:
			terms = append(terms, term{c.identity, at, at})
			leads = true
		case words[0] == "leading" && leads:
			terms[len(terms)-1].end = at
		case words[0] == "stopped" && leads:
			leads = false
		default:
			return nil, false, "", fmt.Errorf("%s: unexpected line %q while leading is %t", c.identity, line, leads)
		}
	}
	return terms, leads, leader, nil
}

type election struct {
	h          *harness
	kubeconfig string
	all        []*candidate // with the candidates that ended
	live       []*candidate
}

func (e *election) start(kind string) (*candidate, error) {
	program := filepath.Join(e.h.bin, "elector")
	var err error
	if kind == libraryKind && !e.h.isReference {
		if program, err = e.h.builtProgram("tests", "programs", "elect"); err != nil {
			return nil, err
		}
	}
	c := &candidate{kind: kind, identity: fmt.Sprintf("%s-%d", kind, len(e.all)+1), out: newLines()}
	c.process, err = e.h.start(c.identity, c.out.addLine, program, "--kubeconfig", e.kubeconfig, "--namespace", "default", "--name", "electors",
		"--identity", c.identity, "--lease-duration", "3000", "--renew-deadline", "2000", "--retry-period", "500")
	if err == nil {
		e.all = append(e.all, c)
		e.live = append(e.live, c)
	}
	return c, err
}

// awaitLeader waits until a candidate that fulfils of has started a term after since and leads, and returns the candidate.
func (e *election) awaitLeader(ctx context.Context, since int64, of func(*candidate) bool) (found *candidate, err error) {
	err = awaitState(ctx, "leader", func() (string, error) {
		for _, c := range e.live {
			terms, leads, _, err := c.terms()
			if err != nil {
				return "", err
			}
			if !c.process.running() {
				return "", fmt.Errorf("%s exited: %w", c.identity, cmp.Or(c.process.err, errors.New("with status 0, before it was stopped")))
			}
			if leads && of(c) && terms[len(terms)-1].start > since {
				found = c
				return "", nil
			}
		}
		return "nobody leads", nil
	})
	return found, err
}

// awaitAgreement waits until all candidates see the wanted leader, and only the wanted leader leads.
func (e *election) awaitAgreement(ctx context.Context, want *candidate) error {
	return awaitState(ctx, "agreement on "+want.identity, func() (string, error) {
		for _, c := range e.live {
			_, leads, leader, err := c.terms()
			if err != nil {
				return "", err
			}
			if leader != want.identity || leads != (c == want) {
				return fmt.Sprintf("%s sees the leader %q; it leads itself: %t", c.identity, leader, leads), nil
			}
		}
		return "", nil
	})
}

func (e *election) signal(which syscall.Signal, to func(*candidate) bool) error {
	for _, c := range e.live {
		if to(c) {
			if err := c.process.command.Process.Signal(which); err != nil {
				return err
			}
		}
	}
	return nil
}

// What happens to the leader.
const (
	isKilled  = "killed"
	isPaused  = "paused"
	isStopped = "stopped"
)

// takeOver kills, pauses or stops the leader. Until the next term starts, only candidates of the kind to run. It returns the new leader.
func (e *election) takeOver(ctx context.Context, leader *candidate, how, to string) (*candidate, error) {
	terms, _, _, err := leader.terms()
	if err != nil {
		return nil, err
	}
	since := terms[len(terms)-1].start
	mayLead := func(c *candidate) bool { return c != leader && c.kind == to }
	others := func(c *candidate) bool { return c != leader && c.kind != to }
	if err := e.signal(syscall.SIGSTOP, others); err != nil {
		return nil, err
	}
	switch how {
	case isKilled:
		leader.process.kill()
	case isPaused:
		err = leader.process.command.Process.Signal(syscall.SIGSTOP)
	case isStopped:
		err = leader.process.stop()
	}
	if err != nil {
		return nil, err
	}
	if how != isPaused {
		e.live = slices.DeleteFunc(e.live, func(c *candidate) bool { return c == leader })
	}
	next, err := e.awaitLeader(ctx, since, mayLead)
	if err != nil {
		return nil, err
	}
	if err := e.signal(syscall.SIGCONT, func(*candidate) bool { return true }); err != nil {
		return nil, err
	}
	if how != isPaused {
		if _, err := e.start(leader.kind); err != nil {
			return nil, err
		}
	}
	return next, e.awaitAgreement(ctx, next) // a paused leader must see the new leader, too
}

func electorsMixed(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	e := &election{h: h, kubeconfig: s.file("kubeconfig-admin")}
	leader, err := e.start(libraryKind)
	if err != nil {
		return err
	}
	if _, err := e.awaitLeader(ctx, 0, func(*candidate) bool { return true }); err != nil {
		return err
	}
	for _, kind := range []string{libraryKind, clientGoKind, clientGoKind} {
		if _, err := e.start(kind); err != nil {
			return err
		}
	}
	if err := e.awaitAgreement(ctx, leader); err != nil {
		return err
	}
	for _, step := range []struct{ how, to string }{
		{isKilled, clientGoKind}, {isKilled, libraryKind}, {isPaused, clientGoKind}, {isPaused, libraryKind}, {isStopped, clientGoKind}, {isStopped, libraryKind},
		{isPaused, libraryKind},
	} {
		from := leader
		if leader, err = e.takeOver(ctx, leader, step.how, step.to); err != nil {
			return fmt.Errorf("%s %s, then a candidate of %s takes over: %w", from.identity, step.how, step.to, err)
		}
	}
	for _, c := range e.live {
		if err := c.process.stop(); err != nil {
			return err
		}
	}
	return checkTerms(e.all)
}

// checkTerms checks that each term ends before the next one starts.
func checkTerms(candidates []*candidate) error {
	var all []term
	for _, c := range candidates {
		terms, _, _, err := c.terms()
		if err != nil {
			return err
		}
		all = append(all, terms...)
	}
	slices.SortFunc(all, func(a, b term) int { return cmp.Compare(a.start, b.start) })
	var differences []string
	for i := 1; i < len(all); i++ {
		if before, after := all[i-1], all[i]; before.end >= after.start {
			differences = append(differences, fmt.Sprintf("%s led until %d, %s from %d", before.identity, before.end, after.identity, after.start))
		}
	}
	return report("two leaders at the same time", differences)
}
