package rig

import (
	"cmp"
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
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	mu   sync.Mutex
	made map[string]*tls.Certificate
}

func newCA() (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &CA{key: key, made: map[string]*tls.Certificate{}}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "the rig's authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	ca.cert, err = ca.sign(root, root)
	return ca, err
}

// sign returns the template as a certificate with the next serial number, valid for a day.
func (ca *CA) sign(template, parent *x509.Certificate) (*x509.Certificate, error) {
	template.SerialNumber = big.NewInt(int64(len(ca.made)) + 1)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &ca.key.PublicKey, ca.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// PEM returns the authority's certificate.
func (ca *CA) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
}

// certificate returns that of hello's server name, or of nameless.example.
func (ca *CA) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := cmp.Or(hello.ServerName, "nameless.example")
	ca.mu.Lock()
	defer ca.mu.Unlock()
	if c := ca.made[name]; c != nil {
		return c, nil
	}
	ca.made[name] = nil // counts
	cert, err := ca.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "site"}, DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, ca.cert)
	if err != nil {
		return nil, err
	}
	ca.made[name] = &tls.Certificate{Certificate: [][]byte{cert.Raw, ca.cert.Raw}, PrivateKey: ca.key}
	return ca.made[name], nil
}
