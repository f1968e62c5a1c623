// How long a server keeps a connection on which no request is made. A client sends its next request on it, and cannot repeat one that
// changes something where the server closes at that moment: so it must not close earlier than the real one.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Longer than pauses of a client that looks again twice a minute; the real server waits for 90 s.
const idlePause = 40 * time.Second

var idleCases = []testCase{
	{name: "serve-idle-connection", kinformerOnly: true, run: func(ctx context.Context, h *harness) error {
		real, plain, err := h.bothServers(ctx)
		if err != nil {
			return err
		}
		urls := []string{real.url, plain.url}
		results := make(chan error, len(urls))
		for _, url := range urls {
			go func() { results <- staysOpen(ctx, url) }()
		}
		return errors.Join(<-results, <-results)
	}},
}

// staysOpen makes a request, and fails if the server closes the connection during the pause after the response.
func staysOpen(ctx context.Context, url string) error {
	scheme, address, _ := strings.Cut(url, "://")
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if scheme == "https" {
		// Who the server is does not matter here; HTTP/1.1, since nothing else is offered.
		dialer = &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "GET /version HTTP/1.1\r\nHost: %s\r\n\r\n", address); err != nil {
		return err
	}
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	body := bufio.NewReader(response.Body)
	for err == nil {
		_, err = body.ReadByte()
	}
	if err := connection.SetReadDeadline(time.Now().Add(idlePause)); err != nil {
		return err
	}
	if _, err = reader.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s: the connection ended within %s: %w", url, idlePause, err)
	}
	return nil
}
