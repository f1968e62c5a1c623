// The judge of the end-to-end cases. It starts servers and kinformer, makes changes, and compares the output of kinformer with that of
// kubectl, a raw watch and client-go's informers. It prints one line for each case, "ok NAME" or "not ok NAME: why".
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// caseDeadline is the default limit of a case. On an idle machine most cases take seconds.
const caseDeadline = 5 * time.Minute

type testCase struct {
	name           string
	kinformerOnly  bool          // skipped with -reference: the reference program lacks what the case tests
	deadline       time.Duration // 0: caseDeadline
	allClientsOnly bool          // runs only with -all-clients: the client takes long to download and build
	isWaiting      bool          // waits nearly all of its time: runs beside the other cases, with servers of its own
	run            func(ctx context.Context, h *harness) error
}

func allCases() []testCase {
	var cases []testCase
	cases = append(cases, watchCases...)
	cases = append(cases, getCases...)
	cases = append(cases, groupDownCases...)
	cases = append(cases, formatCases...)
	cases = append(cases, tableCases...)
	cases = append(cases, topCases...)
	cases = append(cases, describeCases...)
	cases = append(cases, kubeconfigCases...)
	cases = append(cases, credentialCases...)
	cases = append(cases, connectionCases...)
	cases = append(cases, goAwayCases...)
	cases = append(cases, doctorCases...)
	cases = append(cases, genCases...)
	cases = append(cases, clientCases...)
	cases = append(cases, churnCases...)
	cases = append(cases, restartCases...)
	cases = append(cases, compactionCases...)
	cases = append(cases, restoredCases...)
	cases = append(cases, bigListCases...)
	cases = append(cases, lagCases...)
	cases = append(cases, availabilityCases...)
	cases = append(cases, kubectlCases...)
	cases = append(cases, serveCases...)
	cases = append(cases, compareCases...)
	cases = append(cases, storageCases...)
	cases = append(cases, informerCases...)
	cases = append(cases, rawCases...)
	cases = append(cases, pagesCases...)
	cases = append(cases, webSocketCases...)
	cases = append(cases, sampleCases...)
	cases = append(cases, sampleKilledCases...)
	cases = append(cases, sampleRightsCases...)
	cases = append(cases, statusCases...)
	cases = append(cases, electorCases...)
	cases = append(cases, programCases()...)
	cases = append(cases, valueCases...)
	cases = append(cases, writeCases...)
	cases = append(cases, websiteCases...)
	cases = append(cases, routingCases...)
	cases = append(cases, allResourcesCases...)
	cases = append(cases, metadataCases...)
	cases = append(cases, fetchCases...)
	cases = append(cases, idleCases...)
	cases = append(cases, scriptedCases...)
	return cases
}

func init() {
	// A killed `run` cannot stop the judge. The kernel then sends SIGTERM to the judge, which stops its child processes. The setting is
	// one of the main thread, and init runs on the main thread.
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0)
	if errno != 0 {
		fmt.Fprintln(os.Stderr, "e2e: prctl:", errno)
		os.Exit(1)
	}
}

func main() {
	var h harness
	var pattern string
	var list, again, allClients bool
	var table string
	flag.StringVar(&h.kinformer, "kinformer", "", "the kinformer program")
	flag.StringVar(&h.bin, "bin", "", "directory of apiserver, kubectl and the other Go programs")
	flag.StringVar(&h.work, "work", "", "directory for what the cases write")
	flag.StringVar(&pattern, "cases", "", "run the cases whose names match this regular expression")
	flag.StringVar(&h.examples, "examples", "", "directory of the examples")
	flag.StringVar(&h.clients, "clients", "", "directory of the programs that use other clients")
	flag.BoolVar(&allClients, "all-clients", false, "also run the clients that take long to build")
	flag.StringVar(&table, "table", "", "write the table of clients and steps to this file")
	flag.BoolVar(&h.isReference, "reference", false, "-kinformer names the reference program: skip the cases that it cannot run")
	flag.BoolVar(&list, "list", false, "print the names of the cases and exit")
	flag.BoolVar(&again, "again", false, "run each failed case once more, and report as unsteady a case that then passes")
	flag.Parse()
	klog.SetLogger(klog.Logger{}) // keeps the logs of client-go and controller-runtime out of the output
	log.SetLogger(klog.Logger{})
	matches, err := regexp.Compile(pattern)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: --cases:", err)
		os.Exit(2)
	}
	var chosen []testCase
	for _, c := range allCases() {
		if matches.MatchString(c.name) && !(h.isReference && c.kinformerOnly) && (allClients || !c.allClientsOnly) {
			chosen = append(chosen, c)
		}
	}
	if list {
		for _, c := range chosen {
			fmt.Println(c.name)
		}
		return
	}
	if len(chosen) == 0 {
		fmt.Fprintf(os.Stderr, "e2e: no case matches %q\n", pattern)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	failed, skipped, errOfWaiting := runBoth(ctx, &h, chosen)
	unsteady := 0
	if again && len(failed) > 0 && ctx.Err() == nil {
		unsteady, failed = retry(ctx, &h, failed)
	}
	failures := len(failed)
	if err := writeTable(h.programs, table); err != nil {
		fmt.Println("not ok: the table of clients:", err)
		failures++
	}
	if err := errors.Join(errOfWaiting, h.stopAll()); err != nil {
		fmt.Println("not ok: cleanup:", err)
		failures++
	}
	if ctx.Err() != nil {
		fmt.Println("interrupted")
		os.Exit(1)
	}
	if unsteady > 0 {
		fmt.Printf("%d unsteady: failed at first and passed when retried\n", unsteady)
	}
	summary := fmt.Sprintf("%d passed, %d failed", max(0, len(chosen)-failures-skipped), failures)
	if skipped > 0 {
		summary += fmt.Sprintf(", %d skipped", skipped)
	}
	fmt.Println(summary)
	if failures > 0 {
		os.Exit(1)
	}
}

// retry runs the failed cases once more, with new shared servers. A case that passes now is unsteady: there is a defect that does not always
// show, or the case is too strict. The first error is in the output above.
func retry(ctx context.Context, h *harness, cases []testCase) (unsteady int, failed []testCase) {
	fmt.Printf("# %d failed; retrying each once\n", len(cases))
	if err := h.stopShared(); err != nil {
		fmt.Println("#", err)
	}
	failed, _ = runCases(ctx, h, cases)
	return len(cases) - len(failed), failed
}

// runBoth runs the waiting cases beside the others, in each group one after the other. Each group has a harness of its own. `err` is of
// the cleanup of the waiting cases.
func runBoth(ctx context.Context, h *harness, cases []testCase) (failed []testCase, skipped int, err error) {
	var waiting, busy []testCase
	for _, c := range cases {
		if c.isWaiting {
			waiting = append(waiting, c)
		} else {
			busy = append(busy, c)
		}
	}
	beside := *h
	beside.work = filepath.Join(h.work, "waiting")
	var failedBeside []testCase
	var skippedBeside int
	done := make(chan error)
	go func() {
		failedBeside, skippedBeside = runCases(ctx, &beside, waiting)
		done <- beside.stopAll()
	}()
	failed, skipped = runCases(ctx, h, busy)
	err = <-done
	return append(failed, failedBeside...), skipped + skippedBeside, err
}

// skippedError is the reason why a case cannot run on this machine.
type skippedError string

func (e skippedError) Error() string { return string(e) }

// runCases returns the failed cases and the number of skipped ones.
func runCases(ctx context.Context, h *harness, cases []testCase) (failed []testCase, skipped int) {
	for _, c := range cases {
		if ctx.Err() != nil {
			return failed, skipped
		}
		started := time.Now()
		err := runCase(ctx, h, c)
		if ctx.Err() != nil {
			return failed, skipped
		}
		var skip skippedError
		if errors.As(err, &skip) {
			skipped++
			fmt.Printf("skipped %s: %s\n", c.name, skip)
			continue
		}
		if err == nil {
			fmt.Printf("ok %s (%.1fs)\n", c.name, time.Since(started).Seconds())
			continue
		}
		failed = append(failed, c)
		fmt.Printf("not ok %s: %s\n", c.name, strings.ReplaceAll(err.Error(), "\n", "\n# "))
	}
	return failed, skipped
}

func runCase(ctx context.Context, h *harness, c testCase) error {
	deadline := cmp.Or(c.deadline, caseDeadline)
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	h.beginCase(c.name)
	err := c.run(ctx, h)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not done within %s: %w", deadline, err)
	}
	return errors.Join(err, h.endCase(err != nil))
}
