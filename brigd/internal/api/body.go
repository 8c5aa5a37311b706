package api

import (
	"mime"
	"strings"

	"brig/brigd/internal/front"
	"brig/brigd/internal/schema"
)

// mediaType refuses a body of another type, which excludes those that a browser's form can send for a foreign page. It
// also refuses a compressed body, whose expanded size is unknown.
func (c *call) mediaType(want string) error {
	values := c.R.Header.Values("Content-Type")
	if len(values) == 1 {
		got, params, err := mime.ParseMediaType(values[0])
		charset := strings.ToLower(params["charset"])
		if err == nil && got == want && (charset == "" || charset == "utf-8") {
			return c.plain()
		}
	}
	return no("request", "unsupported_media_type", "Content-Type", "the body is not marked as "+want,
		"send Content-Type: "+want)
}

func (c *call) plain() error {
	if e := c.R.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return no("request", "unsupported_media_type", "Content-Encoding", "bodies are not taken compressed",
			"send the body as it is")
	}
	return nil
}

// body decodes the request's JSON into the value that v points to.
func (c *call) body(v any) error {
	if c.route.bare && c.R.ContentLength == 0 {
		return nil
	}
	if err := c.mediaType("application/json"); err != nil {
		return err
	}
	text, err := c.ReadBody()
	if err != nil {
		return err
	}
	return schema.Command(schema.Decode(text, v), text)
}

// yes reports whether a parameter of the query is 1 or true.
func (c *call) yes(name string) bool { return c.query.Get(name) == "1" || c.query.Get(name) == "true" }

// ran records a run's id in the answer's headers and in the log.
func (c *call) ran(id string) {
	if !c.Wrote() && front.ID.MatchString(id) {
		c.Run = id
		c.Header().Set("X-Run-Id", id)
	}
}
