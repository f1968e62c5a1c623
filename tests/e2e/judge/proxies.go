// HTTP and SOCKS5 proxies that require a user name and a password.
package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

const proxyUser, proxyPassword = "me", "pass%word"

type testProxy struct {
	listener  net.Listener
	mu        sync.Mutex
	forwarded int    // number of connections that the proxy forwarded
	rejected  int    // number of connections with a wrong user name or password
	leak      string // why the case must fail: the proxy got credentials for the server
}

// openProxy starts a proxy. The caller closes its listener.
func (h *harness) openProxy(serve func(*testProxy, net.Conn) (string, error)) (*testProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &testProxy{listener: listener}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go f.forward(client, serve)
		}
	}()
	return f, nil
}

func (f *testProxy) forward(client net.Conn, serve func(*testProxy, net.Conn) (string, error)) {
	defer client.Close()
	to, err := serve(f, client)
	if err != nil {
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	f.mu.Lock()
	f.forwarded++
	f.mu.Unlock()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func (f *testProxy) reject() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rejected++
	return errors.New("refused")
}

// serveConnect serves the CONNECT request of an HTTP proxy, and returns the target.
func serveConnect(f *testProxy, client net.Conn) (string, error) {
	// A client sends nothing before the response, so the reader buffers no bytes of the tunnel.
	request, err := http.ReadRequest(bufio.NewReader(client))
	if err != nil {
		return "", err
	}
	if request.Header.Get("Authorization") != "" || request.Header.Get("Impersonate-User") != "" {
		f.mu.Lock()
		f.leak = "the proxy got credentials for the server"
		f.mu.Unlock()
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+proxyPassword))
	if request.Method != http.MethodConnect || request.Header.Get("Proxy-Authorization") != want {
		_, _ = io.WriteString(client, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
		return "", f.reject()
	}
	_, err = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	return request.Host, err
}

// serveSocks serves the handshake of a SOCKS5 proxy (RFC 1928, RFC 1929), with host names and IPv4 addresses, and returns the target.
func serveSocks(f *testProxy, client net.Conn) (string, error) {
	read := func(n int) ([]byte, error) {
		data := make([]byte, n)
		_, err := io.ReadFull(client, data)
		return data, err
	}
	counted := func() ([]byte, error) { // one byte with the length, then the bytes
		n, err := read(1)
		if err != nil {
			return nil, err
		}
		return read(int(n[0]))
	}
	if _, err := read(1); err != nil {
		return "", err
	}
	if _, err := counted(); err != nil {
		return "", err
	}
	if _, err := client.Write([]byte{5, 2}); err != nil { // method 2: user name and password
		return "", err
	}
	if _, err := read(1); err != nil {
		return "", err
	}
	user, err := counted()
	if err != nil {
		return "", err
	}
	password, err := counted()
	if err != nil {
		return "", err
	}
	if string(user) != proxyUser || string(password) != proxyPassword {
		_, _ = client.Write([]byte{1, 1})
		return "", f.reject()
	}
	if _, err := client.Write([]byte{1, 0}); err != nil {
		return "", err
	}
	head, err := read(4)
	if err != nil {
		return "", err
	}
	var host string
	if head[3] == 3 {
		name, err := counted()
		if err != nil {
			return "", err
		}
		host = string(name)
	} else {
		address, err := read(4)
		if err != nil {
			return "", err
		}
		host = net.IP(address).String()
	}
	port, err := read(2)
	if err != nil {
		return "", err
	}
	_, err = client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	return (&net.TCPAddr{IP: net.ParseIP(host), Port: int(port[0])<<8 | int(port[1])}).String(), err
}
