package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/certs"
)

// With certificates alone, TCP serves those who have one of the authority's, each as the agent that it names.
func TestMutualTLS(t *testing.T) {
	d := dir(t)
	ca := certs.New(t, d, "ca")
	for _, name := range []string{"server", "builder", "no agent"} {
		ca.Issue(name)
	}
	certs.New(t, d, "stranger")
	p := begin(t, nil, "serve", "--listen", "tcp:127.0.0.1:0", "--tls-cert", d+"/server.pem", "--tls-key", d+"/server.key", "--client-ca", d+"/ca.pem")
	p.url = "https://127.0.0.1"
	for name, want := range map[string]int{"builder": 201, "no agent": 401, "stranger": 0, "": 0} {
		c := &tls.Config{RootCAs: ca.Pool}
		if name != "" {
			pair := ca.Load(name)
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
