package api

import (
	"net/http"
	"runtime"
	"strconv"

	"brig/brigd/engine"
)

func (c *call) languages() (any, error) {
	return LanguageList{append([]engine.Language{}, c.Engine.Languages()...)}, nil
}

func (c *call) images() (any, error) { return ImageList{c.Engine.Images(c.Caller)}, nil }

func (c *call) shares() (any, error) { return ShareList{c.Engine.Shares(c.Caller)}, nil }

func (c *call) version() (any, error) { return Version{c.Version, "v1", runtime.Version()}, nil }

// health answers GET /healthz: for everyone with the status, for authenticated callers also with details.
func (c *call) health() (any, error) {
	h := Health{Status: "ok", Live: true, Ready: c.Ready()}
	status := http.StatusOK
	if !h.Ready {
		h.Status = "not_ready"
		if c.query.Get("probe") != "live" {
			status = http.StatusServiceUnavailable
			c.Header().Set("Retry-After", "1")
		}
	}
	if c.authenticate() == nil {
		h.Details = c.Health()
	}
	c.Answer(status, h)
	return nil, nil
}

func (c *call) metrics() (any, error) {
	c.Metrics.ServeHTTP(c, c.R)
	return nil, nil
}

func (c *call) description() (any, error) {
	c.Header().Set("Content-Type", jsonType)
	c.Header().Set("Content-Length", strconv.Itoa(len(c.openapi)))
	_, c.Failed = c.Write(c.openapi)
	return nil, nil
}
