package api

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"brig/brigd/internal/front"
)

var agentPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// identify determines the caller. A TCP client must present a certificate, a token or a visitor's cookie, even if the
// authenticator requires none.
func (c *call) identify(visitor bool) error {
	shows := visitor || len(c.R.Header.Values("Authorization")) > 0 || c.R.TLS != nil && len(c.R.TLS.VerifiedChains) > 0
	if !front.Local(c.R) && !shows {
		return no("auth", "authentication_required", "Authorization",
			"by TCP only those may call who show a token or a certificate",
			"send Authorization: Bearer TOKEN", "or use brigd's Unix socket")
	}
	return c.Authenticate()
}

// authenticate determines the caller, and for which agent the request is.
func (c *call) authenticate() error {
	if err := c.identify(false); err != nil {
		return err
	}
	values := c.R.Header.Values("X-Agent-Id")
	if len(values) > 1 {
		return no("request", "invalid_agent", "X-Agent-Id", "the header X-Agent-Id is there twice", "send it once")
	}
	return c.actFor(strings.Join(values, ""), "X-Agent-Id")
}

// actFor sets the agent that the request names.
func (c *call) actFor(agent, field string) error {
	switch {
	case agent == "" || agent == c.Caller.Agent:
		return nil
	case !agentPattern.MatchString(agent):
		return no("request", "invalid_agent", field, field+": this is no agent's name",
			"write a letter or digit, and after it at most 63 letters, digits, dots, hyphens and underscores")
	case c.Caller.Agent != "":
		return no("auth", "agent_mismatch", field,
			fmt.Sprintf("%s: you are %s, and cannot act for %s", field, strconv.Quote(c.Caller.Agent), strconv.Quote(agent)),
			"leave "+field+" out")
	}
	c.Caller.Agent = agent
	return nil
}

// preflight answers a browser's preflight request (the Fetch standard, CORS preflight).
func (c *call) preflight(methods []string) error {
	c.Header().Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	c.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, X-Agent-Id, X-Request-Id")
	c.WriteHeader(http.StatusNoContent)
	return nil
}
