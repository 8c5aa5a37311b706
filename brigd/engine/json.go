package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"brig/nsjail"
)

// Seconds is a time span: in JSON a number of seconds or a text like "1m30s".
type Seconds = nsjail.Duration

// Size is a number of bytes: in JSON a number or a text like "512m".
type Size = nsjail.Bytes

// fileObject is a File whose content is no text, or that is executable.
type fileObject struct {
	Text       *string `json:"text,omitempty"`
	Base64     *string `json:"base64,omitempty"`
	Executable bool    `json:"executable,omitempty"`
}

// MarshalJSON encodes a file as a string if possible, and otherwise as an object.
func (f File) MarshalJSON() ([]byte, error) {
	text := string(f.Data)
	switch {
	case !utf8.Valid(f.Data):
		code := base64.StdEncoding.EncodeToString(f.Data)
		return json.Marshal(fileObject{Base64: &code, Executable: f.Executable})
	case f.Executable:
		return json.Marshal(fileObject{Text: &text, Executable: true})
	}
	return json.Marshal(text)
}

// UnmarshalJSON decodes a string, or an object with text or base64, and executable.
func (f *File) UnmarshalJSON(j []byte) error {
	var o fileObject
	if len(j) > 0 && j[0] == '"' {
		if err := json.Unmarshal(j, &o.Text); err != nil {
			return err
		}
	} else {
		d := json.NewDecoder(bytes.NewReader(j))
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil {
			return fmt.Errorf("a file is a text, or an object with text or base64, and executable: %w", err)
		}
	}
	switch {
	case (o.Text == nil) == (o.Base64 == nil):
		return errors.New("a file has either text or base64; write one of them")
	case o.Text != nil:
		*f = File{[]byte(*o.Text), o.Executable}
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(*o.Base64)
	if err != nil {
		return fmt.Errorf("base64: %w; encode it as RFC 4648 says, with padding", err)
	}
	*f = File{data, o.Executable}
	return nil
}

// File is the content of a file in JSON: a text, or {"base64": "..."} for bytes that are none.
type File struct {
	Data []byte
	// Executable makes the mode 0555 instead of 0444.
	Executable bool
}
