// The lines of a program's output, kept in order, and waited for.
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
	// Columns are separated by any number of blanks.
	l.all = append(l.all, strings.Join(strings.Fields(string(text)), " "))
	close(l.updated)
	l.updated = make(chan struct{})
}

// with gives the lines that begin with a prefix.
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

// await waits for a line that begins with a prefix.
func (l *lines) await(ctx context.Context, p *process, prefix string) (string, error) {
	for {
		l.mu.Lock()
		updated, count := l.updated, len(l.all)
		l.mu.Unlock()
		ended := !p.running() // asked first: a line that came before the end is found below
		if found := l.withPrefix(prefix); len(found) > 0 {
			return found[0], nil
		}
		if ended {
			return "", fmt.Errorf("%s ended without a line %q: %w", p.name, prefix, p.err)
		}
		select {
		case <-updated:
		case <-p.ended:
		case <-ctx.Done():
			return "", fmt.Errorf("%s: no line %q among %d: %w", p.name, prefix, count, ctx.Err())
		}
	}
}
