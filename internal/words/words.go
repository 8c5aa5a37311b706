// Package words writes messages: foreign text made safe to print, and suggestions for misspelt names.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxShown bounds, in bytes, how much of a foreign text a message repeats.
const MaxShown = 64

// Quote quotes a foreign text for one line, as strconv.Quote. A text over MaxShown bytes is cut, and its length added.
func Quote(s string) string { return quote(s, strconv.Quote) }

// QuoteASCII is Quote with every other character escaped.
func QuoteASCII(s string) string { return quote(s, strconv.QuoteToASCII) }

func quote(s string, quoted func(string) string) string {
	if len(s) <= MaxShown {
		return quoted(s)
	}
	return quoted(Clip(s, MaxShown)) + "... (" + strconv.Itoa(len(s)) + " bytes)"
}

// Clip returns the first bytes of s, at most n. It cuts no character in two.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Short is Clip with three dots for what is missing.
func Short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Clip(s, n) + "..."
}

// Size returns a number of bytes for people, with three digits at most.
func Size(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	f, unit := float64(n)/1024, 0
	for ; f >= 1000 && unit < 3; unit++ {
		f /= 1024
	}
	if f < 10 {
		return fmt.Sprintf("%.1f %ciB", f, "KMGT"[unit])
	}
	return fmt.Sprintf("%.0f %ciB", f, "KMGT"[unit])
}

// Times returns "once" or "N times".
func Times[N int | int64](n N) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(int64(n), 10) + " times"
}

// UTF8 returns a foreign text as valid UTF-8: each invalid byte becomes \xNN. A text over most bytes is cut, and ends
// with the number of bytes that are left out, as in [+9 bytes].
func UTF8(s string, most int) string {
	if len(s) <= most && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if b.Len() >= most {
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

// Printable escapes what would steer a terminal, begin another line or is not UTF-8, as \xNN or \uNNNN.
func Printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// Shell quotes a word for sh(1), bash and zsh. If it has no backslash, fish reads it too.
func Shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Hide replaces a path in a message by a name, also where Quote has cut it off or escaped it, or Shell escaped it.
func Hide(text, path, name string) string {
	quoted, shell := strconv.Quote(Clip(path, MaxShown)), Shell(path)
	for _, form := range []string{path, quoted[1 : len(quoted)-1], shell[1 : len(shell)-1]} {
		text = strings.ReplaceAll(text, form, name)
	}
	return text
}

// JSON writes unprintable characters as \uNNNN, so that they cannot steer a terminal. JSON remains valid JSON.
func JSON(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !unprintable(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }

// Or lists alternatives: "a", "a or b", "a, b or c".
func Or(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// Plural returns a number with its noun.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
