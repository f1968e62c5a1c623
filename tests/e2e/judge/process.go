// A program that the judge started, with its output by lines and its log. The kernel ends the program when the judge ends.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
