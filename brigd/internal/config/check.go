package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"brig/brigd/internal/listen"
	"brig/internal/words"
	"brig/nsjail"
)

// check refuses contradictory settings, above all an open port without authentication.
func (c *Config) check(command string) error {
	return cmp.Or(
		c.wrong(c.TLS.Cert != "" && c.TLS.Key == "", "tls.cert", " needs its private key; add --tls-key FILE"),
		c.checkTLS(), c.checkJetStream(command), c.checkListen(), c.checkPages(), c.checkUIDs(), c.checkBounds(),
		c.checkWarm(),
		c.useless(len(c.Engine.Images) == 0, " is of no use without an image; add --image NAME", "jails.image_store"),
		c.checkShares(), c.checkLanguages(),
		c.useless(!c.HasCOW(), " is about shares in mode cow, and there is none; add --share NAME=DIR:cow, or leave it out",
			"jails.changes_dir", "jails.allow_apply"),
		c.wrong(len(c.TokenKeys) > 0 && c.StateDir == "", "auth.token_keys",
			" needs a place that remembers tokens' runs and revocations; add --state-dir DIR"),
		c.wrong(c.RequireToken && !c.proof(), "auth.require_token",
			" has nothing to check a token with; add --token-key FILE or --api-key-file FILE"),
		c.useless(c.Audit.Path == "", " is about an audit log, and there is none; add --audit FILE",
			"audit.sync", "audit.max_bytes", "audit.keep", "audit.key", "audit.argv"),
		c.useless(c.Engine.Store == "", " is about a store, and there is none; add --sandbox-store DIR",
			"sandboxes.save_every"),
		c.useless(command == "mcp" && !c.HTTP,
			" is about sockets, and MCP is served on stdin and stdout; add --http, or leave it out",
			"listen", "allow_uids", "auth.api_key_file", "auth.require_token", "tls.cert", "http.hosts", "http.origins"),
		c.useless(c.HTTP, " is for stdin and stdout; by HTTP the socket, key or token says who asks: leave it out",
			"mcp.agent"),
		c.wrong(c.Agent != "" && !listen.GoodAgent(c.Agent), "mcp.agent",
			": %s is no agent's name; write letters, digits and . _ -, beginning with a letter or digit, at most 64",
			words.Quote(c.Agent)))
}

// wrong returns an error that begins with the name of a setting, if there is a problem.
func (c *Config) wrong(problem bool, path, text string, args ...any) error {
	if !problem {
		return nil
	}
	return fmt.Errorf("%s"+text, append([]any{c.name(path)}, args...)...)
}

// useless returns an error for the first of the settings that is given, if nothing would read them.
func (c *Config) useless(unread bool, text string, paths ...string) error {
	for _, path := range paths {
		if unread && c.Set(path) {
			return c.wrong(true, path, text)
		}
	}
	return nil
}

// proof reports whether the settings allow a caller to authenticate a request.
func (c *Config) proof() bool { return len(c.TokenKeys) > 0 || c.APIKeyFile != "" }

func (c *Config) checkTLS() error {
	if c.TLS.Cert == "" && c.TLS != (listen.TLSFiles{}) {
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
			if err == nil {
				err = c.CheckTCP(addr.Addr().IsLoopback())
			}
			if err != nil {
				return c.wrong(true, "listen", ": %w", err)
			}
		default:
			return c.wrong(true, "listen", ": %s is no place to listen at; write unix:PATH, unix or tcp:HOST:PORT",
				words.Quote(where))
		}
	}
	// without a --listen the service manager's sockets may be TCP
	return c.useless(len(c.Listen) > 0 && !tcp, " is about TCP, and nothing listens there; add --listen tcp:HOST:PORT",
		"tls.cert", "http.hosts", "http.origins")
}

// CheckTCP refuses a TCP port without authentication, and one without TLS that other machines can reach. It also
// applies to sockets of a service manager.
func (c *Config) CheckTCP(loopback bool) error {
	switch {
	case !c.proof() && c.TLS.ClientCA == "":
		return errors.New("a TCP port is open to anybody who reaches it, and brigd serves none like that; add --token-key " +
			"FILE, --api-key-file FILE, " +
			"or --tls-cert, --tls-key and --client-ca for clients' certificates, or listen at a Unix socket")
	case !loopback && c.TLS.Cert == "":
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
			return c.wrong(true, "http.hosts",
				": %s is no host name; write it without scheme and port, as in build.example.org", words.Quote(h))
		}
		c.Hosts[i] = strings.ToLower(h)
	}
	for i, o := range c.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
			u.Scheme+"://"+u.Host != o {
			return c.wrong(true, "http.origins",
				": %s is no web page's origin; write scheme, host and port alone, as in https://example.org", words.Quote(o))
		}
		c.Origins[i] = strings.ToLower(o)
	}
	return nil
}

// checkUIDs parses AllowUIDs.
func (c *Config) checkUIDs() error {
	for _, s := range c.AllowUIDs {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || n == 1<<32-1 {
			return c.wrong(true, "allow_uids", ": %s is not the number of a user; id -u NAME prints it", words.Quote(s))
		}
		c.UIDs = append(c.UIDs, int(n))
	}
	return nil
}

// checkBounds refuses a bound that is greater than the one above it.
func (c *Config) checkBounds() error {
	e, b, g := &c.Engine, &c.Engine.Sandboxes, &c.Gate
	const more = " is %v, more than --%s %v; change one"
	const all = " is %v, more than --%s %v, which %s have together; change one"
	size, agents, total := nsjail.Bytes(b.MaxSize), nsjail.Bytes(c.AgentBytes()), nsjail.Bytes(b.MaxBytes)
	return cmp.Or(
		c.wrong(e.Timeout > e.MaxTimeout, "jails.timeout", more, e.Timeout, "max-timeout", e.MaxTimeout),
		c.wrong(b.DefaultSize > b.MaxSize, "sandboxes.size", more, nsjail.Bytes(b.DefaultSize), "sandbox-max-size", size),
		c.wrong(size > agents, "sandboxes.max_size", all, size, "sandbox-bytes-per-agent", agents, "one agent's"),
		c.wrong(agents > total, "sandboxes.bytes_per_agent", all, agents, "sandbox-bytes", total, "all"),
		c.wrong(b.DefaultTTL > b.MaxTTL, "sandboxes.ttl", more, b.DefaultTTL, "sandbox-max-ttl", b.MaxTTL),
		c.wrong(g.PerCaller > c.Places(), "queue.per_caller", all, g.PerCaller, "running", c.Places(), "all"),
		c.wrong(c.Set("queue.waiting_per_caller") && g.QueuePerCaller > g.Queue, "queue.waiting_per_caller", all,
			g.QueuePerCaller, "queue", g.Queue, "all"),
		c.wrong(g.Burst > 0 && g.Rate == 0, "queue.burst", " needs a rate; add --rate N"))
}
