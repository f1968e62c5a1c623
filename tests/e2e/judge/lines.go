// The lines of a program's output, in order, and functions that wait for a line.
package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

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
