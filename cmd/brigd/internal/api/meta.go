package api

import (
	"net/http"
	"runtime"
	"strconv"

	"brig/agent/engine"
)

// handleLanguages answers GET /v1/languages.
func (c *call) handleLanguages() error {
	list := c.Engine.Languages()
	if list == nil {
		list = []engine.Language{}
	}
	c.answer(http.StatusOK, LanguageList{list})
	return nil
}

// handleVersion answers GET /v1/version.
func (c *call) handleVersion() error {
	c.answer(http.StatusOK, Version{c.Version, "v1", runtime.Version()})
	return nil
}

// handleHealth answers GET /healthz: for everyone with the status, for authenticated callers also with details.
func (c *call) handleHealth() error {
	h := Health{Status: "ok", Live: true, Ready: c.Ready == nil || c.Ready()}
	status := http.StatusOK
	if !h.Ready {
		h.Status = "not_ready"
		if c.query.Get("probe") != "live" {
			status = http.StatusServiceUnavailable
			c.w.Header().Set("Retry-After", "1")
		}
	}
	if c.Health != nil && c.authenticate() == nil {
		h.Details = c.Health()
	}
	c.answer(status, h)
	return nil
}

// handleMetrics answers GET /metrics.
func (c *call) handleMetrics() error {
	if c.Metrics == nil {
		return no("request", "route_not_found", "path", "there are no metrics here", "start brigd with metrics")
	}
	c.status, c.wrote = http.StatusOK, true // promhttp writes the header
	c.writeTime()
	c.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

// handleOpenAPI answers GET /openapi.json.
func (c *call) handleOpenAPI() error {
	h := c.w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Content-Length", strconv.Itoa(len(c.openapi)))
	c.writeTime()
	c.head(http.StatusOK)
	_, c.failed = c.w.Write(c.openapi)
	return nil
}
