package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"time"
)

// CA signs a certificate for any name. Safe for concurrent use.
type CA struct {
	key   *ecdsa.PrivateKey
	cert  *x509.Certificate
	mu    sync.Mutex
	made  map[string]*tls.Certificate
	count int64
}

func newCA() (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &CA{key: key, made: map[string]*tls.Certificate{}, count: 1}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the rig's authority"},
		IsCA:                  true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	ca.cert, err = x509.ParseCertificate(der)
	return ca, err
}

// PEM returns the authority's certificate.
func (ca *CA) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
}

// certificate returns that of hello's server name, or of nameless.example.
func (ca *CA) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" {
		name = "nameless.example"
	}
	ca.mu.Lock()
	defer ca.mu.Unlock()
	if c := ca.made[name]; c != nil {
		return c, nil
	}
	ca.count++
	template := &x509.Certificate{SerialNumber: big.NewInt(ca.count), Subject: pkix.Name{CommonName: "site"},
		DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &ca.key.PublicKey, ca.key)
	if err != nil {
		return nil, err
	}
	if len(ca.made) > 1000 {
		clear(ca.made)
	}
	ca.made[name] = &tls.Certificate{Certificate: [][]byte{der, ca.cert.Raw}, PrivateKey: ca.key}
	return ca.made[name], nil
}
