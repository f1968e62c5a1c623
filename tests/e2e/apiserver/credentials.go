// The certificates, tokens and kubeconfigs of the server. They are made once for a directory and kept over restarts.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The audit log has the requests of the user kinformer only.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: [kinformer]
- level: None
`

func writeCredentials(dir, server string) error {
	if _, err := os.Stat(filepath.Join(dir, "kubeconfig-cert-data")); err == nil {
		return nil
	}
	ca, caKey, err := writeCertificate(dir, "ca", &x509.Certificate{
		Subject:               pkix.Name{CommonName: "e2e-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil, nil)
	if err != nil {
		return err
	}
	if _, _, err := writeCertificate(dir, "server", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, caKey); err != nil {
		return err
	}
	for _, name := range []string{"admin", "kinformer"} {
		if _, _, err := writeCertificate(dir, name, &x509.Certificate{
			Subject:     pkix.Name{CommonName: name, Organization: []string{"system:masters"}},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, ca, caKey); err != nil {
			return err
		}
	}
	serviceAccountKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, "service-account.key"), serviceAccountKey); err != nil {
		return err
	}
	adminToken, kinformerToken := rand.Text(), rand.Text()
	nobodyToken := rand.Text()
	caFile := filepath.Join(dir, "ca.crt")
	caText, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	certText, err := os.ReadFile(filepath.Join(dir, "kinformer.crt"))
	if err != nil {
		return err
	}
	keyText, err := os.ReadFile(filepath.Join(dir, "kinformer.key"))
	if err != nil {
		return err
	}
	encode := base64.StdEncoding.EncodeToString
	caData := "certificate-authority-data: " + encode(caText)
	files := map[string]string{
		"audit-policy.yaml": auditPolicy,
		"tokens.csv": adminToken + ",admin,1,system:masters\n" +
			kinformerToken + ",kinformer,2,system:masters\n" +
			nobodyToken + ",nobody,3\n",
		"kinformer.token":      kinformerToken,
		"nobody.token":         nobodyToken,
		"kubeconfig-admin":     kubeconfig(server, caData, "token: "+adminToken),
		"kubeconfig-kinformer": kubeconfig(server, caData, "token: "+kinformerToken),
		// Relative paths: kubectl resolves them against the directory of the kubeconfig.
		"kubeconfig-cert-files": kubeconfig(server, "certificate-authority: ca.crt",
			"client-certificate: kinformer.crt", "client-key: kinformer.key"),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	// Written last: if this file exists, the directory is complete.
	return os.WriteFile(filepath.Join(dir, "kubeconfig-cert-data"), []byte(kubeconfig(server, caData,
		"client-certificate-data: "+encode(certText), "client-key-data: "+encode(keyText))), 0o600)
}

// copyCredentials copies the credentials of another server. The copied kubeconfigs have the URL of this server.
func copyCredentials(from, dir, server string) error {
	if _, err := os.Stat(filepath.Join(dir, "kubeconfig-cert-data")); err == nil {
		return nil
	}
	port, err := os.ReadFile(filepath.Join(from, "port"))
	if err != nil {
		return err
	}
	other := "https://127.0.0.1:" + strings.TrimSpace(string(port))
	for _, pattern := range []string{"*.crt", "*.key", "*.token", "tokens.csv", "audit-policy.yaml", "kubeconfig-*"} {
		paths, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = bytes.ReplaceAll(text, []byte("server: "+other+"\n"), []byte("server: "+server+"\n"))
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func kubeconfig(server, ca string, user ...string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: e2e
clusters:
- name: e2e
  cluster:
    server: %s
    %s
users:
- name: e2e
  user:
    %s
contexts:
- name: e2e
  context:
    cluster: e2e
    user: e2e
`, server, ca, strings.Join(user, "\n    "))
}

// writeCertificate writes NAME.crt and NAME.key. Without a parent, the certificate is self-signed.
func writeCertificate(dir, name string, template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (
	*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial := make([]byte, 16)
	if _, err := rand.Read(serial); err != nil {
		return nil, nil, err
	}
	template.SerialNumber, _ = new(big.Int).SetString(hex.EncodeToString(serial), 16)
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(24 * time.Hour)
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), text, 0o600); err != nil {
		return nil, nil, err
	}
	return certificate, key, writeKey(filepath.Join(dir, name+".key"), key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

func adminClient(dir string) (*http.Client, error) {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "admin.crt"), filepath.Join(dir, "admin.key"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", filepath.Join(dir, "ca.crt"))
	}
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}},
	}}, nil
}
