package api

import (
	"encoding/json"
	"fmt"
)

// streams sets the headers of an answer of events of a media type.
func (c *call) streams(kind string) {
	c.Header().Set("Content-Type", kind)
	c.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the events
}

// event writes one event, which the client need not receive before a flush.
func (c *call) event(kind, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	before, after := "", "\n"
	if kind == sseType {
		before, after = "event: "+name+"\ndata: ", "\n\n"
	}
	_, err = fmt.Fprintf(c, "%s%s%s", before, text, after)
	return err
}
