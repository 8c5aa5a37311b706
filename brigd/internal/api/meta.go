package api

import (
	"net/http"
	"runtime"
	"strconv"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
)

// offerHandlers list what a request may name.
type offerHandlers struct{ offers front.Offers }

func (h *offerHandlers) languages(c *call) (any, error) {
	return LanguageList{append([]engine.Language{}, h.offers.Languages()...)}, nil
}

func (h *offerHandlers) images(c *call) (any, error) {
	return ImageList{h.offers.Images(c.Caller)}, nil
}

func (h *offerHandlers) shares(c *call) (any, error) {
	return ShareList{h.offers.Shares(c.Caller)}, nil
}

// metaHandlers answer requests about this brigd.
type metaHandlers struct {
	of         string // its version
	ready      func() bool
	details    func() map[string]string // of its health
	prometheus http.Handler
	openapi    []byte
}

func (h *metaHandlers) version(c *call) (any, error) {
	return Version{h.of, "v1", runtime.Version()}, nil
}

// health answers GET /healthz: for everyone with the status, for authenticated callers also with details.
func (h *metaHandlers) health(c *call) (any, error) {
	is := Health{Status: "ok", Live: true, Ready: h.ready()}
	status := http.StatusOK
	if !is.Ready {
		is.Status = "not_ready"
		if c.query.Get("probe") != "live" {
			status = http.StatusServiceUnavailable
			c.Header().Set("Retry-After", "1")
		}
	}
	if c.authenticate() == nil {
		is.Details = h.details()
	}
	c.Answer(status, is)
	return nil, nil
}

func (h *metaHandlers) metrics(c *call) (any, error) {
	h.prometheus.ServeHTTP(c, c.R)
	return nil, nil
}

func (h *metaHandlers) description(c *call) (any, error) {
	c.Header().Set("Content-Type", jsonType)
	c.Header().Set("Content-Length", strconv.Itoa(len(h.openapi)))
	_, c.Failed = c.Write(h.openapi)
	return nil, nil
}
