// A program that the judge started: its output line by line, its log, its end. None outlives the judge.
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

// A program that was asked to end and has not after this long is killed, which fails the case.
const stopDeadline = 20 * time.Second

// Lines of a failed case's logs that are shown.
const shownLogLines = 12

type process struct {
	name    string
	logPath string
	command *exec.Cmd
	ended   chan struct{} // closed once the program has ended and its output has been read
	err     error         // after ended
	killed  bool          // by the judge: then its end is no failure
}

// startProcess runs a program; onLine gets each line of its standard output, standard error goes to a log file.
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

// childEnvironment is the judge's own without what would lead a client to another cluster or through a proxy.
func childEnvironment() []string {
	kept := []string{"KUBECONFIG=/nonexistent/kubeconfig"} // nor the one at home
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

// stop asks the program to end; a program that has to be killed or that fails is an error.
func (p *process) stop() error {
	if p.running() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		_ = p.command.Process.Signal(syscall.SIGCONT) // a case may have failed with it frozen
	}
	select {
	case <-p.ended:
	case <-time.After(stopDeadline):
		_ = p.command.Process.Signal(syscall.SIGKILL)
		<-p.ended
		return fmt.Errorf("%s did not end within %s of SIGTERM", p.name, stopDeadline)
	}
	if p.err != nil && !p.killed {
		return fmt.Errorf("%s ended with: %w", p.name, p.err)
	}
	return nil
}

func (p *process) kill() {
	p.killed = true
	_ = p.command.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// logTail is the end of the program's standard error.
func (p *process) logTail() string {
	data, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-shownLogLines):], "\n  ")
}
