// The time for which a server keeps an idle connection. If the server closes the connection while a client sends a request on it, the client
// cannot safely retry a request that changes something. So `kinformer serve` must keep idle connections long enough.
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

// idlePause is longer than the pauses of a client that makes a request every 30 s. The real server closes idle connections after 90 s.
const idlePause = 40 * time.Second

var idleCases = []testCase{
	{name: "serve-idle-connection", kinformerOnly: true, isWaiting: true, run: func(ctx context.Context, h *harness) error {
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
		// The identity of the server does not matter here. Without ALPN the protocol is HTTP/1.1.
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
		return fmt.Errorf("%s: the server closed the idle connection within %s: %w", url, idlePause, err)
	}
	return nil
}
