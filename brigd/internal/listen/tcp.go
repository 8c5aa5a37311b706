package listen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"

	"brig/brigd/internal/files"
	"brig/internal/words"
)

// TLSFiles are the PEM files for TLS. If all are empty, TLS is not used.
type TLSFiles struct {
	// Cert is the server's certificate with its chain, and Key its private key.
	Cert, Key string
	// ClientCA has the authorities of client certificates, which every client must present; "" requests none.
	ClientCA string
}

// Config loads the files. It returns nil if there are none.
func (f TLSFiles) Config() (*tls.Config, error) {
	if f == (TLSFiles{}) {
		return nil, nil
	}
	certText, err := files.Read(f.Cert, maxFile)
	if err != nil {
		return nil, fmt.Errorf("the server's certificate: %w", err)
	}
	keyText, err := files.ReadSecret(f.Key, maxFile)
	if err != nil {
		return nil, fmt.Errorf("the server's private key: %w", err)
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w; give a certificate and its own key, in PEM", f.Cert, f.Key, err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	if f.ClientCA == "" {
		return c, nil
	}
	caText, err := files.Read(f.ClientCA, maxFile)
	if err != nil {
		return nil, fmt.Errorf("the clients' authority: %w", err)
	}
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(caText) {
		return nil, fmt.Errorf("%s has no certificate in PEM; give the authority that signs the clients' certificates",
			f.ClientCA)
	}
	return c, nil
}

// CertName returns the holder of a verified client certificate: its common name, else its first DNS name.
func CertName(s *tls.ConnectionState) string {
	if s == nil || len(s.VerifiedChains) == 0 || len(s.VerifiedChains[0]) == 0 {
		return ""
	}
	cert := s.VerifiedChains[0][0]
	if cert.Subject.CommonName == "" && len(cert.DNSNames) > 0 {
		return cert.DNSNames[0]
	}
	return cert.Subject.CommonName
}

// TCP listens at HOST:PORT, within a bound. Without TLS the host must be a loopback address, since anyone who reads a
// token on the network could use it.
func TCP(ctx context.Context, address string, c *tls.Config, b *Bound) (net.Listener, error) {
	addr, err := Address(address)
	if err != nil {
		return nil, err
	}
	if c == nil && !addr.Addr().IsLoopback() {
		return nil, fmt.Errorf("tcp:%s is no loopback address, and a token sent there can be read on the way; add "+
			"--tls-cert and --tls-key, or listen at 127.0.0.1", address)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr.String())
	if err != nil {
		return nil, fmt.Errorf("tcp:%s: %w; choose an address and a free port of this machine", address, reason(err))
	}
	return Secure(l, c, b), nil
}

// Secure wraps a listener in a bound and, if c is not nil, in TLS. TLS is outermost because http.Server must see
// *tls.Conn.
func Secure(l net.Listener, c *tls.Config, b *Bound) net.Listener {
	l = b.Listener(l)
	if c != nil {
		l = tls.NewListener(l, c)
	}
	return l
}

// Address parses HOST:PORT. HOST is a literal address or "localhost": a resolver could return any address for another
// name.
func Address(s string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(s)
	if host == "localhost" {
		host = "127.0.0.1"
	}
	a, aErr := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil || aErr != nil {
		return a, fmt.Errorf("%q is no address to listen at; write HOST:PORT, as in 127.0.0.1:8470 or [::1]:8470",
			words.Short(s, words.MaxShown))
	}
	return a, nil
}

// IsLoopback reports whether only this machine can reach the address.
func IsLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
