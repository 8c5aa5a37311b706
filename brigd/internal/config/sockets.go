package config

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"brig/brigd/internal/listen"
	"brig/internal/cli"
	"brig/internal/words"
)

// Sockets are the settings of where brigd listens, and of how who connects proves who it is.
type Sockets struct {
	Listen       []string // an empty list means the default Unix socket
	AllowUIDs    []string // each is agent "uid-N"
	UIDs         []int    // the numbers of AllowUIDs
	TokenKeys    []string // files
	APIKeyFile   string
	RequireToken bool
	TLS          listen.TLSFiles
}

func (s *Sockets) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "listen", Path: "listen", Args: "WHERE", To: &s.Listen,
			Help: "unix:PATH, unix for the default path, or tcp:HOST:PORT, which needs proof of who calls; may be repeated"},
		{Name: "allow-uid", Path: "allow_uids", Args: "UID", To: &s.AllowUIDs,
			Help: "let this user connect to Unix sockets, too, as agent uid-UID; may be repeated"},
		{Name: "token-key", Path: "auth.token_keys", Args: "FILE", To: &s.TokenKeys,
			Help: "accept capability tokens signed with this public key (brigd token); may be repeated"},
		{Name: "api-key-file", Path: "auth.api_key_file", Args: "FILE", To: &s.APIKeyFile,
			Help: "accept the bearer keys in this file: a line AGENT KEY, or AGENT sha256:HEX, for each"},
		{Name: "require-token", Path: "auth.require_token", To: &s.RequireToken,
			Help: "ask for a token or key at Unix sockets, too"},
		{Name: "tls-cert", Path: "tls.cert", Args: "FILE", To: &s.TLS.Cert,
			Help: "TCP speaks TLS, with this certificate and its chain, in PEM"},
		{Name: "tls-key", Path: "tls.key", Args: "FILE", To: &s.TLS.Key, Help: "the certificate's private key, in PEM"},
		{Name: "client-ca", Path: "tls.client_ca", Args: "FILE", To: &s.TLS.ClientCA,
			Help: "ask TCP clients for a certificate of this authority; its common name is the agent if no token names one"},
	}
}

func (s *Sockets) checkTLS() error {
	if s.TLS.Cert == "" && s.TLS != (listen.TLSFiles{}) {
		return errors.New("--tls-key and --client-ca are of no use without a certificate; add --tls-cert FILE")
	}
	return wrong(s.TLS.Cert != "" && s.TLS.Key == "", "tls.cert", " needs its private key; add --tls-key FILE")
}

// proof reports whether the settings allow a caller to authenticate a request.
func (s *Sockets) proof() bool { return len(s.TokenKeys) > 0 || s.APIKeyFile != "" }

// checkListen refuses, above all, an open port without authentication.
func (s *Sockets) checkListen(g given) error {
	tcp := false
	for _, where := range s.Listen {
		kind, rest, _ := strings.Cut(where, ":")
		switch {
		case where == "unix", kind == "unix" && rest != "":
		case kind == "tcp":
			tcp = true
			addr, err := listen.Address(rest)
			if err == nil {
				err = s.CheckTCP(addr.Addr().IsLoopback())
			}
			if err != nil {
				return wrong(true, "listen", ": %w", err)
			}
		default:
			return wrong(true, "listen", ": %s is no place to listen at; write unix:PATH, unix or tcp:HOST:PORT",
				words.Quote(where))
		}
	}
	// without a --listen the service manager's sockets may be TCP
	return g.useless(len(s.Listen) > 0 && !tcp, " is about TCP, and nothing listens there; add --listen tcp:HOST:PORT",
		"tls.cert", "http.hosts", "http.origins")
}

// CheckTCP refuses a TCP port without authentication, and one without TLS that other machines can reach. It also
// applies to sockets of a service manager.
func (s *Sockets) CheckTCP(loopback bool) error {
	switch {
	case !s.proof() && s.TLS.ClientCA == "":
		return errors.New("a TCP port is open to anybody who reaches it, and brigd serves none like that; add --token-key " +
			"FILE, --api-key-file FILE, " +
			"or --tls-cert, --tls-key and --client-ca for clients' certificates, or listen at a Unix socket")
	case !loopback && s.TLS.Cert == "":
		return errors.New("it is no loopback address, and a token sent there can be read on the way; add --tls-cert and " +
			"--tls-key, or listen at 127.0.0.1")
	}
	return nil
}

// checkUIDs parses AllowUIDs.
func (s *Sockets) checkUIDs() error {
	for _, text := range s.AllowUIDs {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 1<<32-1 {
			return wrong(true, "allow_uids", ": %s is not the number of a user; id -u NAME prints it", words.Quote(text))
		}
		s.UIDs = append(s.UIDs, int(n))
	}
	return nil
}

// checkTokens refuses tokens that nothing remembers, and a demand for tokens that nothing can check.
func (s *Sockets) checkTokens(stateDir string) error {
	return cmp.Or(
		wrong(len(s.TokenKeys) > 0 && stateDir == "", "auth.token_keys",
			" needs a place that remembers tokens' runs and revocations; add --state-dir DIR"),
		wrong(s.RequireToken && !s.proof(), "auth.require_token",
			" has nothing to check a token with; add --token-key FILE or --api-key-file FILE"))
}
