package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"brig/cmd/brigd/internal/listen"
	"brig/internal/words"
)

// check refuses contradictory settings, above all an open port without authentication.
func (c *Config) check(command string) error {
	checks := []func() error{c.checkTLS, c.checkListen, c.checkPages, c.checkUIDs, c.checkJails,
		c.checkSandboxes, c.checkQueue}
	for _, f := range checks {
		if err := f(); err != nil {
			return err
		}
	}
	if len(c.TokenKeys) > 0 && c.StateDir == "" {
		return fmt.Errorf("%s needs a place that remembers tokens' runs and revocations; add --state-dir DIR",
			c.name("auth.token_keys"))
	}
	if c.RequireToken && !c.proof() {
		return fmt.Errorf("%s has nothing to check a token with; add --token-key FILE or --api-key-file FILE",
			c.name("auth.require_token"))
	}
	for _, path := range []string{"audit.sync", "audit.max_bytes", "audit.keep", "audit.key", "audit.argv"} {
		if c.Set(path) && c.AuditPath == "" {
			return fmt.Errorf("%s is about an audit log, and there is none; add --audit FILE", c.name(path))
		}
	}
	if command != "mcp" {
		return nil
	}
	if !c.HTTP {
		for _, path := range []string{"listen", "allow_uids", "auth.api_key_file", "auth.require_token", "tls.cert",
			"http.hosts", "http.origins"} {
			if c.Set(path) {
				return fmt.Errorf("%s is about sockets, and MCP is served on stdin and stdout; add --http, or leave it out",
					c.name(path))
			}
		}
	} else if c.Agent != "" {
		return fmt.Errorf("%s is for stdin and stdout; by HTTP the socket, key or token says who asks: leave it out",
			c.name("mcp.agent"))
	}
	if c.Agent != "" && !listen.GoodAgent(c.Agent) {
		return fmt.Errorf("%s: %s is no agent's name; write letters, digits and . _ -, beginning with a letter or digit, "+
			"at most 64", c.name("mcp.agent"), words.Quote(c.Agent))
	}
	return nil
}

// proof reports whether the settings allow a caller to authenticate a request.
func (c *Config) proof() bool { return len(c.TokenKeys) > 0 || c.APIKeyFile != "" }

func (c *Config) checkTLS() error {
	switch {
	case c.TLSCert != "" && c.TLSKey == "":
		return fmt.Errorf("%s needs its private key; add --tls-key FILE", c.name("tls.cert"))
	case c.TLSCert == "" && (c.TLSKey != "" || c.ClientCA != ""):
		return errors.New("--tls-key and --client-ca are of no use without a certificate; add --tls-cert FILE")
	}
	return nil
}

func (c *Config) checkListen() error {
	tcp := false
	for _, where := range c.Listen {
		kind, rest, _ := strings.Cut(where, ":")
		switch {
		case where == "unix", kind == "unix" && rest != "":
		case kind == "tcp":
			tcp = true
			addr, err := listen.Address(rest)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name("listen"), err)
			}
			if err := c.CheckTCP(addr.Addr().IsLoopback()); err != nil {
				return fmt.Errorf("%s: %w", c.name("listen"), err)
			}
		default:
			return fmt.Errorf("%s: %s is no place to listen at; write unix:PATH, unix or tcp:HOST:PORT", c.name("listen"),
				words.Quote(where))
		}
	}
	for _, path := range []string{"tls.cert", "http.hosts", "http.origins"} {
		if c.Set(path) && len(c.Listen) > 0 && !tcp { // the service manager's sockets are not known yet
			return fmt.Errorf("%s is about TCP, and nothing listens there; add --listen tcp:HOST:PORT", c.name(path))
		}
	}
	return nil
}

// CheckTCP refuses a TCP port without authentication, and one without TLS that other machines can reach. It also
// applies to sockets of a service manager.
func (c *Config) CheckTCP(loopback bool) error {
	switch {
	case !c.proof() && c.ClientCA == "":
		return errors.New("a TCP port is open to anybody who reaches it, and brigd serves none like that; add --token-key " +
			"FILE, --api-key-file FILE, " +
			"or --tls-cert, --tls-key and --client-ca for clients' certificates, or listen at a Unix socket")
	case !loopback && c.TLSCert == "":
		return errors.New("it is no loopback address, and a token sent there can be read on the way; add --tls-cert and " +
			"--tls-key, or listen at 127.0.0.1")
	}
	return nil
}

// checkPages normalizes Hosts and Origins to the form that browsers send: a host in lower case, an origin without a
// path.
func (c *Config) checkPages() error {
	for i, h := range c.Hosts {
		if strings.ContainsAny(h, "/:@[]* ") {
			return fmt.Errorf("%s: %s is no host name; write it without scheme and port, as in build.example.org",
				c.name("http.hosts"), words.Quote(h))
		}
		c.Hosts[i] = strings.ToLower(h)
	}
	for i, o := range c.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
			u.Scheme+"://"+u.Host != o {
			return fmt.Errorf("%s: %s is no web page's origin; write scheme, host and port alone, as in https://example.org",
				c.name("http.origins"), words.Quote(o))
		}
		c.Origins[i] = strings.ToLower(o)
	}
	return nil
}

func (c *Config) checkUIDs() error {
	for _, s := range c.AllowUIDs {
		if n, err := strconv.ParseUint(s, 10, 32); err != nil || n == 1<<32-1 {
			return fmt.Errorf("%s: %s is not the number of a user; id -u NAME prints it", c.name("allow_uids"), words.Quote(s))
		}
	}
	return nil
}

// UIDs returns the numbers of AllowUIDs.
func (c *Config) UIDs() (list []int) {
	for _, s := range c.AllowUIDs {
		if n, err := strconv.Atoi(s); err == nil { // checked
			list = append(list, n)
		}
	}
	return list
}

func (c *Config) checkJails() error {
	if c.Timeout > c.MaxTimeout {
		return fmt.Errorf("%s is %s, more than --max-timeout %s; change one",
			c.name("jails.timeout"), c.Timeout, c.MaxTimeout)
	}
	return nil
}

func (c *Config) checkSandboxes() error {
	switch {
	case c.SandboxSize > c.SandboxMax:
		return fmt.Errorf("%s is %s, more than --sandbox-max-size %s; change one", c.name("sandboxes.size"),
			c.SandboxSize, c.SandboxMax)
	case c.SandboxMax > c.AgentBytes():
		return fmt.Errorf("%s is %s, more than --sandbox-bytes-per-agent %s, which one agent's have together; change one",
			c.name("sandboxes.max_size"), c.SandboxMax, c.AgentBytes())
	case c.SandboxBytesPerAgent > c.SandboxBytes:
		return fmt.Errorf("%s is %s, more than --sandbox-bytes %s, which all have together; change one",
			c.name("sandboxes.bytes_per_agent"), c.SandboxBytesPerAgent, c.SandboxBytes)
	case c.SandboxTTL > c.SandboxMaxTTL:
		return fmt.Errorf("%s is %s, more than --sandbox-max-ttl %s; change one", c.name("sandboxes.ttl"), c.SandboxTTL,
			c.SandboxMaxTTL)
	}
	return nil
}

func (c *Config) checkQueue() error {
	switch {
	case c.PerCaller > c.Places():
		return fmt.Errorf("%s is %d, more than --running %d, which all have together; change one",
			c.name("queue.per_caller"), c.PerCaller, c.Places())
	case c.Set("queue.waiting_per_caller") && c.QueuePerCaller > c.Queue:
		return fmt.Errorf("%s is %d, more than --queue %d, which all have together; change one",
			c.name("queue.waiting_per_caller"), c.QueuePerCaller, c.Queue)
	case c.Burst > 0 && c.Rate == 0:
		return fmt.Errorf("%s needs a rate; add --rate N", c.name("queue.burst"))
	}
	return nil
}
