// The most memory that a program had at once, as the kernel tells it when the program ends.
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

var peakLine = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// peakMemory runs a command and gives its peak in KiB. What wait4 tells would not do: it counts the judge's own memory, from before the exec.
func peakMemory(command *exec.Cmd) (int64, error) {
	const traceExit, exitEvent = 0x40, 6 // PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT
	runtime.LockOSThread()               // a tracer is a thread
	defer runtime.UnlockOSThread()
	command.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := command.Start(); err != nil {
		return 0, err
	}
	pid, peak, isFirst := command.Process.Pid, int64(0), true
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
			return 0, err
		}
		if status.Exited() || status.Signaled() {
			_ = command.Process.Release()
			if !status.Exited() || status.ExitStatus() != 0 {
				return 0, fmt.Errorf("%s ended with %v", command.Path, status)
			}
			return peak, nil
		}
		pass := 0 // the signal that it was stopped by
		switch {
		case isFirst: // the exec
			isFirst = false
			if err := syscall.PtraceSetOptions(pid, traceExit); err != nil {
				return 0, err
			}
		case status.StopSignal() == syscall.SIGTRAP && status.TrapCause() == exitEvent:
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err != nil {
				return 0, err
			}
			if found := peakLine.FindSubmatch(text); found != nil {
				peak, _ = strconv.ParseInt(string(found[1]), 10, 64)
			}
		case status.StopSignal() != syscall.SIGTRAP:
			pass = int(status.StopSignal())
		}
		if err := syscall.PtraceCont(pid, pass); err != nil {
			return 0, err
		}
	}
}
