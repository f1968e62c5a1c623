// A program that the judge started, with its output by lines and its log. The kernel ends the program when the judge ends.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopDeadline is the time from SIGTERM to SIGKILL. A program that needs SIGKILL fails the case.
const stopDeadline = 20 * time.Second

// shownLogLines is the number of lines of each log that a failed case shows.
const shownLogLines = 12

type process struct {
	name    string
	logPath string
	command *exec.Cmd
	ended   chan struct{} // closed once the program has exited and its output is read
	err     error         // valid once ended is closed
	killed  bool          // the judge killed the program: its exit status is no failure
}

// startProcess starts a program. It calls onLine with each line of standard output. Standard error goes to a log file.
func startProcess(dir, name string, onLine func([]byte), argv ...string) (*process, error) {
	p := &process{name: name, logPath: filepath.Join(dir, name+".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.command = exec.Command(argv[0], argv[1:]...)
	p.command.Stderr = log
	p.command.Env = childEnvironment()
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		readErr := readLines(out, onLine)
		p.err = errors.Join(p.command.Wait(), readErr)
	}()
	return p, nil
}

// childEnvironment returns the environment of the judge without kubeconfigs and proxies.
func childEnvironment() []string {
	kept := []string{"KUBECONFIG=/nonexistent/kubeconfig"} // hides ~/.kube/config
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch strings.ToUpper(name) {
		case "KUBECONFIG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY":
		default:
			kept = append(kept, entry)
		}
	}
	return kept
}

func readLines(in io.Reader, onLine func([]byte)) error {
	reader := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 && onLine != nil {
			onLine(line)
		}
		if err == io.EOF || errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop sends SIGTERM and waits. It fails if the program needs SIGKILL or exits with an error.
func (p *process) stop() error {
	if p.running() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		_ = p.command.Process.Signal(syscall.SIGCONT) // a case that failed may have left the program stopped
	}
	select {
	case <-p.ended:
	case <-time.After(stopDeadline):
		_ = p.command.Process.Signal(syscall.SIGKILL)
		<-p.ended
		return fmt.Errorf("%s did not exit within %s after SIGTERM", p.name, stopDeadline)
	}
	if p.err != nil && !p.killed {
		return fmt.Errorf("%s failed: %w", p.name, p.err)
	}
	return nil
}

func (p *process) kill() {
	p.killed = true
	_ = p.command.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// logTail returns the last lines of the program's standard error.
func (p *process) logTail() string {
	data, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-shownLogLines):], "\n  ")
}

// lines are the lines of a program's output, in order.
type lines struct {
	mu      sync.Mutex
	all     []string
	updated chan struct{}
}

func newLines() *lines { return &lines{updated: make(chan struct{})} }

func (l *lines) addLine(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// One blank between words, however many the program prints between columns.
	l.all = append(l.all, strings.Join(strings.Fields(string(text)), " "))
	close(l.updated)
	l.updated = make(chan struct{})
}

// withPrefix returns the lines that begin with a prefix.
func (l *lines) withPrefix(prefix string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.HasPrefix(line, prefix) {
			found = append(found, line)
		}
	}
	return found
}

// await waits for a line that begins with a prefix, and returns the first one.
func (l *lines) await(ctx context.Context, p *process, prefix string) (string, error) {
	for {
		l.mu.Lock()
		updated, count := l.updated, len(l.all)
		l.mu.Unlock()
		ended := !p.running() // before the search: a program that has exited prints no more lines
		if found := l.withPrefix(prefix); len(found) > 0 {
			return found[0], nil
		}
		if ended {
			return "", fmt.Errorf("%s exited without a line that begins with %q: %w", p.name, prefix, p.err)
		}
		select {
		case <-updated:
		case <-p.ended:
		case <-ctx.Done():
			return "", fmt.Errorf("%s: none of %d lines begins with %q: %w", p.name, count, prefix, ctx.Err())
		}
	}
}

// memory is that of a program, as the kernel reports it when the program exits, in KiB: the peak of the resident memory (VmHWM), and at the exit the proportional (Pss) and the private memory.
type memory struct{ peak, share, private int64 }

var (
	peakLine    = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)
	shareLine   = regexp.MustCompile(`(?m)^Pss:\s*(\d+) kB`)
	privateLine = regexp.MustCompile(`(?m)^Private_(?:Clean|Dirty):\s*(\d+) kB`)
)

func sumOf(text []byte, line *regexp.Regexp) (sum int64) {
	for _, found := range line.FindAllSubmatch(text, -1) {
		kib, _ := strconv.ParseInt(string(found[1]), 10, 64)
		sum += kib
	}
	return sum
}

// peakMemory runs a command and returns its memory. The rusage of wait4 is no use: it includes the memory of the judge before the exec.
func peakMemory(command *exec.Cmd) (memory, error) {
	const traceExit, exitEvent = 0x40, 6 // PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT
	runtime.LockOSThread()               // ptrace is bound to a thread
	defer runtime.UnlockOSThread()
	command.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := command.Start(); err != nil {
		return memory{}, err
	}
	pid, found, isFirst := command.Process.Pid, memory{}, true
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
			return memory{}, err
		}
		if status.Exited() || status.Signaled() {
			_ = command.Process.Release()
			if !status.Exited() || status.ExitStatus() != 0 {
				return memory{}, fmt.Errorf("%s failed: wait status %v", command.Path, status)
			}
			return found, nil
		}
		signal := 0 // the signal to deliver; 0: none
		switch {
		case isFirst: // the stop after exec
			isFirst = false
			if err := syscall.PtraceSetOptions(pid, traceExit); err != nil {
				return memory{}, err
			}
		case status.StopSignal() == syscall.SIGTRAP && status.TrapCause() == exitEvent:
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err != nil {
				return memory{}, err
			}
			maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
			if err != nil {
				return memory{}, err
			}
			found = memory{sumOf(status, peakLine), sumOf(maps, shareLine), sumOf(maps, privateLine)}
		case status.StopSignal() != syscall.SIGTRAP:
			signal = int(status.StopSignal())
		}
		if err := syscall.PtraceCont(pid, signal); err != nil {
			return memory{}, err
		}
	}
}
