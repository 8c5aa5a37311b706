package front

import (
	"time"

	"brig/brigd/engine"
)

// Link is the answer to POST /v1/sandboxes/{id}/ports/{name}.
type Link struct {
	// URL is where the port is reached. With --port-host it is of an origin of its own, and has a key that opens it once:
	// whoever opens it has the caller's rights at this port. Else it is a path of brigd's, for calls like any other.
	URL string `json:"url"`
	// Expires is until when the URL can be opened; left out if it has no key.
	Expires *time.Time `json:"expires,omitempty"`
}

// OpenPort returns a link to a port of a sandbox. It returns nil if no port has an origin of its own.
func (o *Options) OpenPort(c engine.Caller, id string, port int) (*Link, error) {
	if err := o.Engine.OpenPort(c, id, port); err != nil || o.Links == nil {
		return nil, err
	}
	url, until, no := o.Links.Open(c, id, port)
	if no != nil {
		return nil, no
	}
	until = until.UTC().Truncate(time.Second)
	return &Link{URL: url, Expires: &until}, nil
}
