// The memory of a program, as the kernel reports it when the program exits.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
)

// memory is in KiB: the peak of the resident memory (VmHWM), and at the exit the proportional (Pss) and the private memory.
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
