// The memory that a program had, as the kernel tells it when the program ends.
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

// memory is in KiB: the most that was resident at once; and at the end what was its own, and that with its share of what several programs map.
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

// peakMemory runs a command and gives its memory. What wait4 tells would not do: it counts the judge's own memory, from before the exec.
func peakMemory(command *exec.Cmd) (memory, error) {
	const traceExit, exitEvent = 0x40, 6 // PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT
	runtime.LockOSThread()               // a tracer is a thread
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
				return memory{}, fmt.Errorf("%s ended with %v", command.Path, status)
			}
			return found, nil
		}
		signal := 0 // the signal that it was stopped by
		switch {
		case isFirst: // the exec
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
