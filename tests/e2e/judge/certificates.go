// Certificates that the judge makes to replace those of a server.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issue makes a certificate that the issuer signs, and returns the certificate as an issuer, the certificate as PEM, and its key as PEM. A nil
// issuer makes a self-signed certificate.
func (from *issuer) issue(template *x509.Certificate) (*issuer, []byte, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	if from == nil {
		from = &issuer{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, from.certificate, key.Public(), from.key)
	if err != nil {
		return nil, nil, nil, err
	}
	keyDer, keyErr := x509.MarshalECPrivateKey(key)
	certificate, err := x509.ParseCertificate(der)
	return &issuer{certificate, key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDer}), errors.Join(err, keyErr)
}

// readIssuer reads NAME.crt and NAME.key.
func readIssuer(dir, name string) (*issuer, error) {
	certText, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	keyText, keyErr := os.ReadFile(filepath.Join(dir, name+".key"))
	if err := errors.Join(err, keyErr); err != nil {
		return nil, err
	}
	certBlock, _ := pem.Decode(certText)
	keyBlock, _ := pem.Decode(keyText)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("%s.crt or %s.key in %s is not PEM", name, name, dir)
	}
	certificate, err := x509.ParseCertificate(certBlock.Bytes)
	key, keyErr := x509.ParseECPrivateKey(keyBlock.Bytes)
	return &issuer{certificate, key}, errors.Join(err, keyErr)
}

// renew replaces the certificate of the server by one of a new CA, and updates the CA in kubectl's kubeconfig. In the directory of the case,
// ca.crt becomes the new CA alone, and kinformer.crt and kinformer.key a new pair that the old CA signed: the server still accepts clients
// of the old CA. renew returns the new CA.
func (s *server) renew(h *harness) (*x509.CertPool, error) {
	old, err := readIssuer(s.dir, "ca")
	if err != nil {
		return nil, err
	}
	var none *issuer
	authority, authorityText, _, err := none.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "e2e-ca-2"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature})
	if err != nil {
		return nil, err
	}
	_, serverText, serverKey, err := authority.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return nil, err
	}
	_, clientText, clientKey, err := old.issue(&x509.Certificate{
		Subject:  pkix.Name{CommonName: "kinformer", Organization: []string{"system:masters"}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return nil, err
	}
	oldText, err := os.ReadFile(s.file("ca.crt"))
	if err != nil {
		return nil, err
	}
	admin, err := os.ReadFile(s.file("kubeconfig-admin"))
	if err != nil {
		return nil, err
	}
	admin = bytes.ReplaceAll(admin, encodePEM(oldText), encodePEM(authorityText))
	pool := x509.NewCertPool()
	pool.AddCert(authority.certificate)
	return pool, errors.Join(
		replaceFile(s.file("server.key"), string(serverKey)),
		replaceFile(s.file("server.crt"), string(serverText)),
		replaceFile(s.file("kubeconfig-admin"), string(admin)),
		replaceFile(filepath.Join(h.caseDir, "kinformer.key"), string(clientKey)),
		replaceFile(filepath.Join(h.caseDir, "kinformer.crt"), string(clientText)),
		replaceFile(filepath.Join(h.caseDir, "ca.crt"), string(authorityText)))
}

func isUnauthorized(ctx context.Context, config *rest.Config) bool {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return false
	}
	_, err = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(ctx, metav1.ListOptions{Limit: 1})
	return apierrors.IsUnauthorized(err)
}
