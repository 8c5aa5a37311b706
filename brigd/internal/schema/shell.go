package schema

import (
	"encoding/json"
	"strings"
)

// ShellStep returns advice on how to pass a command line as a list of words.
func ShellStep(line string) string {
	if len(line) > 1000 {
		line = "..."
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // the text is for a model, not for a web page
	_ = e.Encode(line)     // every string has a JSON form
	return `You mean {"cmd": ["sh", "-c", ` + strings.TrimSpace(text.String()) + "]}."
}

// Command completes the error of a request whose command is a line and no list of words.
func Command(err error, data []byte) error {
	e, ok := err.(*Error)
	var r struct {
		Cmd string `json:"cmd"`
	}
	if !ok || e.Path != "cmd" || e.Code != "wrong_type" {
		return err
	}
	_ = json.Unmarshal(data, &r) // the other fields may be wrong, too
	if r.Cmd == "" {
		return err
	}
	return &Error{e.Code, e.Path, "it is a string, and no shell reads cmd", ShellStep(r.Cmd)}
}
