package links

import (
	"net/http"
	"strings"
)

// Origin returns the origin that a request to a name below the site's is for, as its browser writes it.
func (s *Site) Origin(r *http.Request) string { return s.scheme + "://" + strings.ToLower(r.Host) }

// Exchange takes the key of a link out of a request's address, and reports whether there is one. It returns the address
// without it, and the cookie that it becomes; nil if it opens nothing, or nothing any more.
func (l *Links) Exchange(r *http.Request) (to string, cookie *http.Cookie, asked bool) {
	query, key, asked := keyOf(r.URL.RawQuery)
	if !asked {
		return "", nil, false
	}
	to = l.Origin(r) + "/" + strings.TrimLeft(r.URL.EscapedPath(), "/") + strings.TrimSuffix("?"+query, "?")
	if r.Method != http.MethodGet {
		return to, nil, true // what looks at links, by HEAD, does not use them up
	}
	return to, l.redeem(r.Host, key), true
}

// keyOf takes the key of a link out of a query.
func keyOf(query string) (rest, key string, has bool) {
	var left []string
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); name == param {
			key, has = value, true
		} else {
			left = append(left, pair)
		}
	}
	return strings.Join(left, "&"), key, has
}
