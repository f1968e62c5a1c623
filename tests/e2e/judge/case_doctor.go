// `kinformer doctor` against the real server: a working connection, and several that fail. The case prints the output of the doctor.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os/exec"
	"strings"
	"time"
)

var doctorCases = []testCase{{name: "doctor", kinformerOnly: true, run: doctor}}

// doctorScenario is a connection, and the expected output of the doctor.
type doctorScenario struct {
	name          string
	flags         []string
	status        int
	contains      []string
	neverContains string
}

func doctor(ctx context.Context, h *harness) error {
	s, err := h.realServer(ctx)
	if err != nil {
		return err
	}
	nobody, closed, err := s.nobodyAndClosedPort()
	if err != nil {
		return err
	}
	expired, err := expiredFront(ctx, s)
	if err != nil {
		return err
	}
	flags := func(server, token string) []string {
		return []string{"--server", server, "--token", token, "--certificate-authority", s.file("ca.crt")}
	}
	k := h.kubectl(s)
	if err := k.runAll(ctx, "create clusterrole doctor-one --verb=get,list,watch --resource=pods --resource-name=app",
		"create clusterrolebinding doctor-one --clusterrole=doctor-one --user=nobody"); err != nil {
		return err
	}
	defer k.runAll(context.WithoutCancel(ctx), "delete clusterrole doctor-one", "delete clusterrolebinding doctor-one")
	var errs []error
	for _, scenario := range []doctorScenario{ // the server's certificate expires in a day, so the doctor always warns
		{name: "a good cluster", flags: []string{"--kubeconfig", s.file("kubeconfig-kinformer")}, contains: []string{
			"✔ configuration", "✔ name resolution", "✔ TCP connection", "! TLS", "valid for 2", " hours", "✔ HTTP ", "HTTP/2, status 200",
			"✔ credentials", "kinformer, groups", "✔ server version", " v1.", "✔ may list", "allowed: list pods in all namespaces",
			"✔ may watch", "✔ list ", "first byte after", "✔ streaming list", "✔ bookmarks", "all steps succeeded, with 1 warning"}},
		{name: "a wrong token", flags: flags(s.url, "wrong-secret"), status: 3, contains: []string{
			"! TLS", "✘ credentials", "the token is wrong or has expired", "failed: credentials; fix this step first"}, neverContains: "wrong-secret"},
		{name: "a missing permission", flags: flags(s.url, nobody), status: 1, contains: []string{
			"✔ credentials", "nobody", "✘ may list", "not allowed: list pods", "kubectl create clusterrolebinding"},
			neverContains: nobody},
		{name: "a permission for one name", flags: append(flags(s.url, nobody), "--field-selector", "metadata.name=app"),
			contains: []string{"✔ may list", "✔ may watch", "✔ list ", "0 pods in all namespaces", "✔ streaming list"}, neverContains: nobody},
		{name: "a permission for another name", flags: append(flags(s.url, nobody), "--field-selector", "metadata.name=web"),
			status: 1, contains: []string{"✘ may list", "not allowed: list pods"}, neverContains: nobody},
		{name: "an expired certificate", flags: flags(expired, nobody), status: 3, contains: []string{
			"✔ TCP connection", "✘ TLS", "renew the server's certificate, which expired 2 days ago"}, neverContains: nobody},
		{name: "a closed port", flags: flags(closed, nobody), status: 3, contains: []string{
			"✘ TCP connection", "refused", "that the server is running"}, neverContains: nobody},
	} {
		out, status, err := h.runDoctor(ctx, scenario.flags)
		if err != nil {
			return err
		}
		fmt.Printf("# kinformer doctor pods -A, %s:\n#   %s\n", scenario.name, strings.ReplaceAll(strings.TrimSpace(out), "\n", "\n#   "))
		if status != scenario.status {
			errs = append(errs, fmt.Errorf("%s: exit status %d, wanted %d", scenario.name, status, scenario.status))
		}
		for _, text := range scenario.contains {
			if !strings.Contains(out, text) {
				errs = append(errs, fmt.Errorf("%s: the output does not contain %q", scenario.name, text))
			}
		}
		if scenario.neverContains != "" && strings.Contains(out, scenario.neverContains) {
			errs = append(errs, fmt.Errorf("%s: the output contains the token", scenario.name))
		}
	}
	return errors.Join(errs...)
}

func (h *harness) runDoctor(ctx context.Context, flags []string) (string, int, error) {
	out, err := h.run(ctx, "", append([]string{h.kinformer, "doctor", "pods", "-A", "--timeout", "60s"}, flags...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out, exit.ExitCode(), nil
	}
	return out, 0, err
}

// expiredFront starts a TLS server whose certificate expired two days ago. The CA and the name in the certificate are right.
func expiredFront(ctx context.Context, s *server) (string, error) {
	authority, err := tls.LoadX509KeyPair(s.file("ca.crt"), s.file("ca.key"))
	if err != nil {
		return "", err
	}
	parent, err := x509.ParseCertificate(authority.Certificate[0])
	if err != nil {
		return "", err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    time.Now().Add(-30 * 24 * time.Hour),
		NotAfter:     time.Now().Add(-60 * time.Hour),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, parent, key.Public(), authority.PrivateKey)
	if err != nil {
		return "", err
	}
	keyDer, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	pair, err := tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDer}))
	if err != nil {
		return "", err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_ = connection.(*tls.Conn).HandshakeContext(ctx)
			}()
		}
	}()
	return "https://" + listener.Addr().String(), nil
}

func closedPort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return "https://" + listener.Addr().String(), listener.Close()
}
