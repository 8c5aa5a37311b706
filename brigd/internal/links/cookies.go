package links

import (
	"net/http"
	"strings"
	"time"
)

// The names of brigd's cookie. A browser takes the first one over TLS only, without a Domain and for all paths (RFC
// 6265bis).
const (
	secureName = "__Host-brig-port"
	plainName  = "brig-port"
)

// own reports whether a cookie is brigd's.
func own(name string) bool {
	return strings.EqualFold(name, secureName) || strings.EqualFold(name, plainName)
}

func (s *Site) cookieName() string {
	if s.scheme == "https" {
		return secureName
	}
	return plainName
}

// cookie returns one that a browser sends to the name that has set it, and to no other.
func (s *Site) cookie(key string, life time.Duration) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(), Value: key, Path: "/", MaxAge: int(life.Seconds()), HttpOnly: true,
		Secure: s.scheme == "https", SameSite: http.SameSiteLaxMode}
}

// keys returns the values of brigd's cookie: there are several if a page below the same name has added some.
func (s *Site) keys(h http.Header) (list []string) {
	for _, line := range h["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); name == s.cookieName() {
				list = append(list, value)
			}
		}
	}
	return list
}

// Cut removes brigd's cookies from a request.
func Cut(h http.Header) {
	var left []string
	for _, line := range h["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if name, _, _ := strings.Cut(pair, "="); !own(strings.TrimSpace(name)) && strings.TrimSpace(pair) != "" {
				left = append(left, strings.TrimSpace(pair))
			}
		}
	}
	h.Del("Cookie")
	if len(left) > 0 {
		h.Set("Cookie", strings.Join(left, "; "))
	}
}

// Tame removes from an answer the cookies that are for more than the host that the answer comes from, or that could
// be taken for brigd's.
func Tame(h http.Header, host string) {
	lines := h["Set-Cookie"]
	h.Del("Set-Cookie")
	for _, line := range lines {
		if !reaches(line, bare(host)) {
			h.Add("Set-Cookie", line)
		}
	}
}

// reaches reports whether a cookie is for more than a host, or has no name but brigd's. A cookie without a name is sent
// as its value alone, which can look like a name and a value.
func reaches(line, host string) bool {
	pair, rest, _ := strings.Cut(line, ";")
	name, _, has := strings.Cut(pair, "=")
	if name = strings.TrimSpace(name); !has || name == "" || own(name) {
		return true
	}
	for attribute := range strings.SplitSeq(rest, ";") {
		key, value, _ := strings.Cut(attribute, "=")
		if !strings.EqualFold(strings.TrimSpace(key), "domain") {
			continue
		}
		if of := strings.TrimPrefix(strings.TrimSpace(value), "."); of != "" && !strings.EqualFold(of, host) {
			return true
		}
	}
	return false
}
