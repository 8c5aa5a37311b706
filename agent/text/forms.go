package text

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MinSecret is the length in bytes from which on a value is masked, without the white space around it.
const MinSecret = 4

const (
	minForm = 8  // bytes of an encoded form: a shorter one would be found in somebody else's base64
	minLine = 16 // bytes of a line of a value that has several
	space   = " \t\r\n"
)

// forms are the patterns of secrets, each once.
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
		add(fix(s), MinSecret)                             // as it is shown where it is no UTF-8
		add(Clean(s, Options{StripANSI: true}), MinSecret) // as it is shown on a terminal
		encoded(s, func(form string) { add(form, minForm) })
		if strings.ContainsAny(s, "\r\n") {
			for l := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\r' || r == '\n' }) {
				if l = strings.Trim(l, space); !strings.HasPrefix(l, "-----") { // the first and the last of PEM
					add(l, minLine)
				}
			}
		}
	}
	return list
}

// encoded returns the ways in which programs write a value into headers, URLs and JSON.
func encoded(s string, add func(string)) {
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // bytes in front of it, as in base64("user:" + s)
			text := e.EncodeToString(append(make([]byte, before), s...))
			skip := []int{0, 2, 3}[before]                   // characters that the bytes in front share
			known := (before+len(s))/3*4 + (before+len(s))%3 // the character after it depends on what follows
			add(text[skip:max(skip, known)])
		}
		add(e.EncodeToString([]byte(s))) // where nothing follows
	}
	x := hex.EncodeToString([]byte(s))
	add(x)
	add(strings.ToUpper(x))
	add(url.QueryEscape(s))
	add(url.PathEscape(s))
	if !utf8.ValidString(s) {
		return // JSON has no form of it but that of fix
	}
	for _, html := range []bool{true, false} { // \u0026 and &
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(s) == nil { // of a string there is no error
			text := strings.TrimSuffix(b.String(), "\n")
			add(text[1 : len(text)-1])
			add(ascii(text[1 : len(text)-1]))
			add(strings.ReplaceAll(ascii(text[1:len(text)-1]), "/", `\/`)) // PHP
		}
	}
}

// ascii writes a JSON text as Python does, with \u00e9 for what is not ASCII.
func ascii(s string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		units := utf16.AppendRune(nil, r)
		for _, u := range units {
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[u>>shift&15])
			}
		}
	}
	return b.String()
}

// holdReplacement reports whether UTF-8 being made may bring about one of the patterns.
func holdReplacement(patterns [][]byte) bool {
	return slices.ContainsFunc(patterns,
		func(p []byte) bool { return utf8.Valid(p) && bytes.Contains(p, replacementBytes) })
}

// freeMask is what stands for a secret: a text of which no pattern has a byte, so that it cannot be a part of another
// one. Where there is none, it is the first.
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
