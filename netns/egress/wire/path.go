package wire

import (
	"strings"
	"unicode/utf8"
)

// lookAlikes are characters beyond ASCII that some servers fold into . / \ % ; ?
const lookAlikes = "．／＼％；？․‥…﹒﹔﹖﹨﹪∕∖⁄"

// CleanPath is the percent-decoded path of a request target, without the query, for comparison with path prefixes. ok is
// false for what servers read in different ways, so that no guess decides about access: empty, "." and ".." segments (and
// those of dots and blanks only), a backslash, ";", "%" before anything but two hexadecimal digits, an encoded letter, digit,
// "." "/" "\" "%" ";" "?" "#" or control byte, and bytes that are not UTF-8. One encoded "/" that is in honest use, npm's
// /@scope%2fname, is refused with the rest: a rule with path prefixes cannot let it through.
func CleanPath(target string) (path string, ok bool) {
	raw, _, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(raw, "/") {
		return "", false
	}
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`\;#`, c) >= 0 {
			return "", false
		}
		if c == '%' {
			if c, ok = hexByte(raw[i+1:]); !ok || refusedEncoded(c) {
				return "", false
			}
			i += 2
		}
		b = append(b, c)
	}
	path = string(b)
	if !utf8.ValidString(path) || strings.ContainsAny(path, lookAlikes) {
		return "", false
	}
	for rest, more := path[1:], true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		if strings.Trim(segment, ". ") == "" && (segment != "" || more) { // the last may be empty: "/", "/a/"
			return "", false
		}
	}
	return path, true
}

// refusedEncoded says whether c should not come as %XX: a client has no reason to encode it, or the server's reading of
// it depends on how often, and when, it decodes.
func refusedEncoded(c byte) bool {
	return c < ' ' || c == 0x7f || 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9' || strings.IndexByte(`./\%;?#`, c) >= 0
}

func hexByte(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	hi, lo := hexDigit(s[0]), hexDigit(s[1])
	return byte(hi<<4 | lo), hi >= 0 && lo >= 0
}

// hexDigit is the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int { return strings.IndexByte("0123456789abcdef", lower(c)) }
