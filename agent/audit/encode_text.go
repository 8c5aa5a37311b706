package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"brig/nsjail"
)

// writer appends the fields of a JSON object, without the braces around it.
type writer struct {
	out    []byte
	inside bool // a field is there already: a comma goes before the next
	failed error
}

// key begins a field.
func (w *writer) key(name string) {
	if w.inside {
		w.out = append(w.out, ',')
	}
	w.inside = true
	w.out = append(w.out, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, '"', ':')
}

func (w *writer) open(name string) {
	w.key(name)
	w.out, w.inside = append(w.out, '{'), false
}

func (w *writer) close() { w.out, w.inside = append(w.out, '}'), true }

func (w *writer) boolean(name string, v bool) {
	w.key(name)
	w.out = strconv.AppendBool(w.out, v)
}

func (w *writer) integer(name string, v int64) {
	w.key(name)
	w.out = strconv.AppendInt(w.out, v, 10)
}

// intField leaves a zero out.
func (w *writer) intField(name string, v int64) {
	if v != 0 {
		w.integer(name, v)
	}
}

// count leaves out what is unknown.
func (w *writer) count(name string, v nsjail.Count) {
	if v >= 0 {
		w.integer(name, int64(v))
	}
}

// known leaves out what is unknown.
func (w *writer) known(name string, v nsjail.Millis) {
	if v >= 0 {
		w.millis(name, v)
	}
}

// millis writes milliseconds with up to three decimals, as nsjail.Millis does.
func (w *writer) millis(name string, v nsjail.Millis) {
	w.key(name)
	µs := time.Duration(v).Microseconds()
	if µs < 0 || µs >= 1e15 { // from here on a float64 has other digits
		w.out = strconv.AppendFloat(w.out, float64(µs)/1000, 'f', -1, 64)
		return
	}
	w.out = strconv.AppendInt(w.out, µs/1000, 10)
	if rest := µs % 1000; rest > 0 {
		w.out = append(w.out, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
		w.out = bytes.TrimRight(w.out, "0")
	}
}

// textField leaves an empty text out.
func (w *writer) textField(name, s string, size int) {
	if s != "" {
		w.key(name)
		w.text(s, size)
	}
}

// text writes at most so many bytes of a text.
func (w *writer) text(s string, size int) {
	if len(s) > size || !utf8.ValidString(s) {
		s = clean(s, size)
	}
	w.quote(s)
}

// list leaves an empty one out.
func (w *writer) list(name string, list []string, size int) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	for i, s := range list {
		w.out = append(w.out, "[,"[min(i, 1)])
		if i == maxList {
			w.more(len(list) - i)
			break
		}
		w.text(s, size)
	}
	w.out = append(w.out, ']')
}

// argv bounds the arguments together.
func (w *writer) argv(argv []string) {
	if len(argv) == 0 {
		return
	}
	w.key("argv")
	left := maxArgv
	for i, a := range argv {
		w.out = append(w.out, "[,"[min(i, 1)])
		if left <= 0 || i == 1024 {
			w.more(len(argv) - i)
			break
		}
		a = clean(a, left)
		w.quote(a)
		left -= len(a)
	}
	w.out = append(w.out, ']')
}

func (w *writer) more(n int) {
	w.out = append(w.out, `"[+`...)
	w.out = strconv.AppendInt(w.out, int64(n), 10)
	w.out = append(w.out, `]"`...)
}

// raw writes what a caller of Append gives as JSON, or as a type that no run's event has.
func (w *writer) raw(name string, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		w.failed = fmt.Errorf("an event as JSON: %w", err)
		return
	}
	w.key(name)
	for _, r := range string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))) {
		w.rune(r) // outside strings JSON has only characters that stay
	}
}

// quote writes a text as JSON. What JSON must escape is escaped as package encoding/json does it, and so is every character
// that is not printable: control characters of both ranges, what turns the direction of writing, line separators, invisible
// ones.
func (w *writer) quote(s string) {
	w.out = append(w.out, '"')
	done := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		w.out = append(w.out, s[done:i]...)
		r, n := utf8.DecodeRuneInString(s[i:])
		switch short := strings.IndexByte("\"\\\b\f\n\r\t", s[i]); {
		case short >= 0:
			w.out = append(w.out, '\\', `"\bfnrt`[short])
		case r == utf8.RuneError && n == 1:
			w.out = append(w.out, `\ufffd`...)
		default:
			w.rune(r)
		}
		i += n
		done = i
	}
	w.out = append(w.out, s[done:]...)
	w.out = append(w.out, '"')
}

// rune writes a character, or \uNNNN for one that is not printable.
func (w *writer) rune(r rune) {
	switch {
	case r >= 0x20 && r < 0x7f || r >= utf8.RuneSelf && unicode.IsPrint(r):
		w.out = utf8.AppendRune(w.out, r)
	case r > 0xffff:
		hi, lo := utf16.EncodeRune(r)
		w.unit(hi)
		w.unit(lo)
	default:
		w.unit(r)
	}
}

// unit writes one of UTF-16.
func (w *writer) unit(u rune) {
	const digits = "0123456789abcdef"
	w.out = append(w.out, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}

// clean cuts a text to so many bytes, and writes bytes that are not UTF-8 as \xNN: JSON cannot carry them.
func clean(s string, size int) string {
	if len(s) <= size && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if b.Len() >= size {
			fmt.Fprintf(&b, "[+%d bytes]", len(s)-i)
			break
		}
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
