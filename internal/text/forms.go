package text

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MinSecret is the minimum length in bytes of a value that is masked, without white space around it.
const MinSecret = 4

const (
	minForm = 8  // minimum bytes of an encoded form: shorter ones occur in unrelated base64
	minLine = 16 // minimum bytes of a line of a multi-line value
	space   = " \t\r\n"
)

// forms returns the patterns for all secrets without duplicates.
func forms(secrets []string) (list [][]byte) {
	seen := map[string]bool{}
	add := func(s string, least int) {
		if len(s) >= least && !seen[s] {
			seen[s] = true
			list = append(list, []byte(s))
		}
	}
	for _, s := range secrets {
		if s = strings.Trim(s, space); len(s) < MinSecret {
			continue
		}
		add(s, MinSecret)
		add(fix(s), MinSecret)                             // as shown if it is not valid UTF-8
		add(Clean(s, Options{StripANSI: true}), MinSecret) // as shown on a terminal
		encoded(s, func(form string) { add(form, minForm) })
		if strings.ContainsAny(s, "\r\n") {
			for l := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\r' || r == '\n' }) {
				if l = strings.Trim(l, space); !strings.HasPrefix(l, "-----") { // not the first and last line of PEM
					add(l, minLine)
				}
			}
		}
	}
	return list
}

// encoded adds the encodings of a value that programs use in headers, URLs and JSON.
func encoded(s string, add func(string)) {
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // bytes before it, as in base64("user:" + s)
			text := e.EncodeToString(append(make([]byte, before), s...))
			skip := []int{0, 2, 3}[before]                   // characters that depend on the bytes before
			known := (before+len(s))/3*4 + (before+len(s))%3 // the character after these depends on the bytes that follow
			add(text[skip:max(skip, known)])
		}
		add(e.EncodeToString([]byte(s))) // if no bytes follow
	}
	x := hex.EncodeToString([]byte(s))
	add(x)
	add(strings.ToUpper(x))
	add(url.QueryEscape(s))
	add(url.PathEscape(s))
	if !utf8.ValidString(s) {
		return // in JSON it can occur only as fix returns it
	}
	for _, html := range []bool{true, false} { // \u0026 and &
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(s) == nil { // cannot fail for a string
			text := strings.TrimSuffix(b.String(), "\n")
			add(text[1 : len(text)-1])
			add(ascii(text[1 : len(text)-1]))
			add(strings.ReplaceAll(ascii(text[1:len(text)-1]), "/", `\/`)) // PHP
		}
	}
}

// ascii escapes the non-ASCII characters of a JSON text, as Python does: \u00e9.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// holdReplacement reports whether the conversion to UTF-8 can produce one of the patterns.
func holdReplacement(patterns [][]byte) bool {
	return slices.ContainsFunc(patterns,
		func(p []byte) bool { return utf8.Valid(p) && bytes.Contains(p, replacementBytes) })
}

// freeMask returns the mask for secrets: a text that has no byte in common with any pattern, so that it cannot be part
// of another match. If there is none, it returns the first choice.
func freeMask(patterns [][]byte) string {
	var used [256]bool
	for _, p := range patterns {
		for _, c := range p {
			used[c] = true
		}
	}
	masks := []string{"***", "###", "~~~", "...", "|||", "^^^", "!!!", ";;;", "???", "<<<>>>", "\u2588\u2588\u2588"}
	for _, m := range masks {
		if !slices.ContainsFunc([]byte(m), func(c byte) bool { return used[c] }) {
			return m
		}
	}
	return masks[0]
}
