// Package yamljson writes a YAML document as JSON, for programs without a YAML library: brig convert.
//
// The text may be hostile. Each alias is expanded, so the size of the output is bounded, and not only that of the
// input.
package yamljson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"brig/brigd/internal/files"
	"brig/internal/words"
)

// Bounds in bytes.
const (
	maxIn  = 1 << 20
	maxOut = 4 << 20
)

// Usage is the help text.
const Usage = `Examples:
  brigd yaml compose.yaml

Usage: brigd yaml FILE|-

It prints a YAML document as JSON, as brig convert compose reads it: anchors, aliases and
merge keys are written out.
`

// Run runs brigd yaml and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	text, err := []byte(Usage), error(nil)
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
	case len(args) == 1:
		text, err = read(args[0], stdin)
	default:
		err = errors.New("it reads one file; write brigd yaml FILE, or -")
	}
	if err == nil {
		_, err = stdout.Write(text)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "brigd yaml: "+words.Printable(err.Error()))
		return 125
	}
	return 0
}

func read(name string, stdin io.Reader) (text []byte, err error) {
	if name == "-" {
		text, err = io.ReadAll(io.LimitReader(stdin, maxIn+1))
	} else {
		text, err = files.Read(name, maxIn)
	}
	if err != nil {
		return nil, err
	}
	if text, err = Convert(text); err != nil {
		return nil, fmt.Errorf("%s: %w", words.Quote(name), err)
	}
	return text, nil
}

// Convert returns a document as JSON, with a newline at the end.
func Convert(text []byte) ([]byte, error) {
	if len(text) > maxIn {
		return nil, fmt.Errorf("it has more than %d bytes; shorten it", maxIn)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8; write it in UTF-8")
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second any
	if err := d.Decode(&doc); err == io.EOF || err == nil && doc == nil {
		return nil, errors.New("it is empty; write keys with values")
	} else if err != nil {
		reason := strings.TrimPrefix(err.Error(), "yaml: ")
		return nil, fmt.Errorf("%s; correct the YAML", strings.ReplaceAll(reason, "\n", "; "))
	}
	if err := d.Decode(&second); err != io.EOF {
		return nil, errors.New("a second document follows, or what is no YAML; write one document")
	}
	if _, err := size(doc); err != nil {
		return nil, err
	}
	out, err := json.Marshal(doc)
	if err == nil && len(out) > maxOut {
		err = errTooLarge
	}
	return append(out, '\n'), err
}

var errTooLarge = fmt.Errorf("with its aliases written out, it has more than %d bytes; use fewer", maxOut)

// size returns about how many bytes a value has as JSON: the texts, and four for each value. The library has bounded
// the number of values, but not the texts, which they share.
func size(v any) (total int, err error) {
	total = 4
	add := func(v any) {
		n := 0
		if n, err = size(v); err == nil {
			total += n
		}
	}
	switch v := v.(type) {
	case nil, bool, int, int64, uint64:
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			err = errors.New("a number has no value; write a number, or quote it")
		}
	case string:
		total += len(v)
	case []any:
		for i := 0; err == nil && i < len(v); i++ {
			add(v[i])
		}
	case map[string]any:
		for key, value := range v {
			if total += len(key); err == nil {
				add(value)
			}
		}
	case map[any]any:
		err = errors.New("a key is no text; quote it")
	default: // a date
		err = fmt.Errorf("%s is not a text; quote it", words.Quote(fmt.Sprint(v)))
	}
	if err == nil && total > maxOut {
		err = errTooLarge
	}
	return total, err
}
