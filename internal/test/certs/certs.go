// Package certs makes TLS certificates for tests.
package certs

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
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"brig/internal/test/must"
)

// Authority signs certificates. Each is in NAME.pem, with its key in NAME.key, in one directory.
type Authority struct {
	Pool *x509.CertPool // has the authority's own certificate, which is that of its name

	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New returns an authority of a name, with its files in dir.
func New(t testing.TB, dir, name string) *Authority {
	a := &Authority{t: t, dir: dir, Pool: x509.NewCertPool()}
	a.cert, a.key = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true,
		KeyUsage: x509.KeyUsageCertSign})
	a.Pool.AddCert(a.cert)
	return a
}

// Issue makes a certificate for a server at localhost, 127.0.0.1 or 10.9.0.1, or for a client of this name.
func (a *Authority) Issue(name string) {
	a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 9, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
}

// sign makes a certificate and its files. The first one signs itself.
func (a *Authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(a.t)
	c.SerialNumber, c.BasicConstraintsValid = big.NewInt(time.Now().UnixNano()), true
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der := must.Get(x509.CreateCertificate(rand.Reader, c, cmp.Or(a.cert, c), &key.PublicKey, cmp.Or(a.key, key)))(a.t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(a.t)
	name := a.Path(c.Subject.CommonName)
	must.Do(a.t, os.WriteFile(name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must.Do(a.t, os.WriteFile(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return must.Get(x509.ParseCertificate(der))(a.t), key
}

// Path returns the path of a file of the authority's directory.
func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

// Load reads a certificate and its key.
func (a *Authority) Load(name string) tls.Certificate {
	a.t.Helper()
	return must.Get(tls.LoadX509KeyPair(a.Path(name+".pem"), a.Path(name+".key")))(a.t)
}
