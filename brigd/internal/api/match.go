package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"brig/brigd/internal/front"
)

// maxFilePath is the maximum length of a file's path, in bytes: PATH_MAX of limits.h, less its NUL.
const maxFilePath = 4095

// match finds the route of a request by the path as sent. other holds the methods that the path allows. bad is an error
// in the name of the file.
func (c *call) match(routes []route) (found *route, other []string, bad error) {
	method := c.R.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(c.R.URL.EscapedPath(), "/")
	for i := range routes {
		rt := &routes[i]
		at, ok := rt.matches(segments)
		if !ok {
			continue
		}
		if rt.through {
			other = throughMethods
		} else if !slices.Contains(other, rt.method) {
			other = append(other, rt.method)
		}
		if rt.method == method || rt.through {
			found, c.id, c.name = rt, at.id, at.name
			if at.rest != nil && !rt.through {
				c.path, bad = filePath(at.rest)
			}
		}
	}
	return found, other, bad
}

// throughMethods are those that a browser may be told of for a server that takes any.
var throughMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// place is what a path names. rest holds the segments of the file's name, still encoded.
type place struct {
	id, name string
	rest     []string
}

// matches compares a path with the route's, segment by segment.
func (rt *route) matches(segments []string) (at place, ok bool) {
	i := 0
	for w := range strings.SplitSeq(rt.path, "/") {
		switch {
		case w == "{path}":
			at.rest = segments[i:]
			return at, len(segments) > i
		case i >= len(segments):
			return place{}, false
		case w == "{id}", w == "{name}":
			if !front.ID.MatchString(segments[i]) {
				return place{}, false
			}
			if w == "{id}" {
				at.id = segments[i]
			} else {
				at.name = segments[i]
			}
		case w != segments[i]:
			return place{}, false
		}
		i++
	}
	return at, len(segments) == i
}

// filePath returns the absolute path of a file in the jail. A segment is one name, of any bytes but a slash and NUL.
func filePath(segments []string) (string, error) {
	var path strings.Builder
	for _, s := range segments {
		name, err := url.PathUnescape(s)
		if err != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			return "", no("request", "bad_path", "path",
				"a segment of the path is empty, a dot, two dots, or has a slash or a NUL in it",
				"write /v1/sandboxes/ID/files/work/NAME for /work/NAME, each name percent-encoded for itself")
		}
		path.WriteString("/" + name)
	}
	if path.Len() > maxFilePath {
		return "", no("request", "bad_path", "path", "the path has more than "+strconv.Itoa(maxFilePath)+" bytes",
			"use shorter names")
	}
	return path.String(), nil
}

// checkQuery refuses query parameters that the route does not have.
func (c *call) checkQuery() error {
	if c.route.through {
		return nil
	}
	q, err := url.ParseQuery(c.R.URL.RawQuery)
	if err != nil {
		return no("request", "invalid_query", "query", "the query string cannot be read", "percent-encode the values")
	}
	names := make([]string, len(c.route.query))
	for i, p := range c.route.query {
		names[i] = p.name
	}
	for name, values := range q {
		i := slices.Index(names, name)
		switch {
		case i < 0:
			next := "leave the query out"
			if len(names) > 0 {
				next = "write one of " + strings.Join(names, ", ")
			}
			return no("request", "unknown_parameter", "query", strconv.Quote(shorten(name))+" is no parameter of "+c.route.id,
				next)
		case len(values) > 1:
			return no("request", "duplicate_parameter", name, name+": the parameter is there twice", "remove one")
		case len(c.route.query[i].values) > 0 && !slices.Contains(c.route.query[i].values, values[0]):
			return no("request", "invalid_parameter", name, name+": this is no value of the parameter",
				"write one of "+strings.Join(c.route.query[i].values, ", "))
		}
	}
	c.query = q
	return nil
}

// shorten bounds how much of the input an answer repeats.
func shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), 64)], "") }
