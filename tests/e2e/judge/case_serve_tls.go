// client-go's shared informers against `kinformer serve` over TLS, with the token of its kubeconfig, and with a client certificate that a CA of
// the judge has signed.
package main

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var serveTLSCases = []testCase{
	{name: "serve-informers-tls", kinformerOnly: true, run: serveInformersTLS},
}

var servedLoad = []string{"--pods", "200", "--nodes", "5", "--churn", "100"}

func serveInformersTLS(ctx context.Context, h *harness) error {
	if err := servedWithToken(ctx, h); err != nil {
		return fmt.Errorf("with a token: %w", err)
	}
	if err := servedWithCertificate(ctx, h); err != nil {
		return fmt.Errorf("with a client certificate: %w", err)
	}
	return nil
}

func servedWithToken(ctx context.Context, h *harness) error {
	s, err := h.serve(ctx, append([]string{"--tls", "--rbac"}, servedLoad...)...)
	if err != nil {
		return err
	}
	config, err := restConfig(s.kubectl.kubeconfig)
	if err != nil {
		return err
	}
	wrong := rest.AnonymousClientConfig(config)
	wrong.BearerToken = "wrong"
	if err := checkListError(ctx, wrong, apierrors.IsUnauthorized); err != nil {
		return err
	}
	if err := checkListError(ctx, rest.AnonymousClientConfig(config), apierrors.IsForbidden); err != nil {
		return err
	}
	return informerAgainstLists(ctx, config, true)
}

// checkListError checks that a list of pods fails with the wanted kind of error.
func checkListError(ctx context.Context, config *rest.Config, as func(error) bool) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1}); !as(err) {
		return fmt.Errorf("list of pods with wrong or no credentials: unexpected result %v", err)
	}
	return nil
}

func servedWithCertificate(ctx context.Context, h *harness) error {
	ca, caPEM, _, err := (*issuer)(nil).issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "e2e-ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	if err != nil {
		return err
	}
	_, serverPEM, serverKey, err := ca.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "e2e-server"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return err
	}
	_, clientPEM, clientKey, err := ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "jane", Organization: []string{"dev"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(h.caseDir, name) }
	err = errors.Join(os.WriteFile(file("ca.pem"), caPEM, 0o600), os.WriteFile(file("server.pem"), serverPEM, 0o600),
		os.WriteFile(file("server.key"), serverKey, 0o600))
	if err != nil {
		return err
	}
	s, err := h.serve(ctx, append([]string{"--tls-cert", file("server.pem"), "--tls-key", file("server.key"), "--tls-ca",
		file("ca.pem"), "--allow", "group=dev,resource=pods"}, servedLoad...)...)
	if err != nil {
		return err
	}
	config, err := restConfig(s.kubectl.kubeconfig)
	if err != nil {
		return err
	}
	config = rest.AnonymousClientConfig(config)
	config.QPS = -1
	config.TLSClientConfig.CertData, config.TLSClientConfig.KeyData = clientPEM, clientKey
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Secrets("").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		return fmt.Errorf("list of secrets as a member of dev: %v, wanted forbidden", err)
	}
	return informerAgainstLists(ctx, config, true)
}
