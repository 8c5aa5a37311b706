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
	"math/big"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
)

// certificate makes NAME.pem and NAME.key in d, signed by parent, or by itself.
func certificate(t *testing.T, d, name string, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 9, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature}
	if parent == nil {
		c.IsCA, c.KeyUsage, c.ExtKeyUsage = true, x509.KeyUsageCertSign, nil
		parent, by = c, key
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by))(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	file(t, d+"/"+name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	file(t, d+"/"+name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c, key
}

// With certificates alone, TCP serves those who have one of the authority's, each as the agent that it names.
func TestMutualTLS(t *testing.T) {
	d := dir(t)
	ca, caKey := certificate(t, d, "ca", nil, nil)
	certificate(t, d, "server", ca, caKey)
	certificate(t, d, "builder", ca, caKey)
	certificate(t, d, "no agent", ca, caKey)
	certificate(t, d, "stranger", nil, nil)
	p := begin(t, nil, "serve", "--listen", "tcp:127.0.0.1:0", "--tls-cert", d+"/server.pem", "--tls-key", d+"/server.key", "--client-ca", d+"/ca.pem")
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	p.url = "https://127.0.0.1"
	for name, want := range map[string]int{"builder": 201, "no agent": 401, "stranger": 0, "": 0} {
		c := &tls.Config{RootCAs: pool}
		if name != "" {
			pair := must.Get(tls.LoadX509KeyPair(d+"/"+name+".pem", d+"/"+name+".key"))(t)
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: c, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(p.addr, "tcp:"))
		}}}
		status, a := p.do("POST", "/v1/sandboxes", map[string]any{})
		if status != want || want == 201 && a["agent_id"] != name {
			t.Errorf("%q: %d, not %d: %v\n%s", name, status, want, a, p.logged())
		}
	}
	p.signal(syscall.SIGTERM)
	p.end()
}
