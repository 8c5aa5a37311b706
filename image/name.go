package image

import (
	"fmt"
	"strings"

	"brig/internal/words"
)

const (
	// maxName bounds the full name of an image in bytes: it is the name of a file.
	maxName = 255

	maxTag       = 128
	maxRepo      = 255
	hexBytes     = 64
	sha256Prefix = "sha256:"
)

// Name is a name of an image, as docker's: python:3.12-slim is docker.io/library/python:3.12-slim.
type Name struct {
	Registry   string // a host, and a port after a colon
	Repository string
	Tag        string // "" if there is a digest
	Digest     string // sha256:HEX, or ""
}

// ParseName parses a name. Without a registry it is of docker.io, and without a tag or digest it has the tag latest; a
// digest replaces a tag, as with docker.
func ParseName(text string) (n Name, err error) {
	rest, digest, pinned := strings.Cut(text, "@")
	if pinned {
		if hex, ok := strings.CutPrefix(digest, sha256Prefix); !ok || !isHex(hex, hexBytes) {
			return n, wrong(text, "the digest is not sha256: and 64 of the digits 0-9 and a-f")
		}
		n.Digest = digest
	}
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		if n.Tag = rest[i+1:]; !isTag(n.Tag) {
			return n, wrong(text, "the tag is not of at most 128 letters, digits, _ . and -")
		}
		rest = rest[:i]
	}
	switch {
	case pinned:
		n.Tag = ""
	case n.Tag == "":
		n.Tag = "latest"
	}
	first, after, two := strings.Cut(rest, "/")
	if n.Registry, n.Repository = first, after; !two || !strings.ContainsAny(first, ".:") && first != "localhost" {
		n.Registry, n.Repository = "docker.io", rest
	}
	if n.Registry == "index.docker.io" {
		n.Registry = "docker.io"
	}
	if n.Registry == "docker.io" && !strings.Contains(n.Repository, "/") {
		n.Repository = "library/" + n.Repository
	}
	switch {
	case !isHost(n.Registry):
		return n, wrong(text, "the registry is not a host, or a host and a port")
	case !isRepository(n.Repository):
		return n, wrong(text, "write a name like python:3.12-slim, in lower case")
	case len(n.String()) > maxName:
		return n, wrong(text, fmt.Sprintf("it is longer than %d bytes", maxName))
	}
	return n, nil
}

func wrong(text, why string) error {
	return fmt.Errorf("the image name %s: %s", words.Quote(text), why)
}

// String returns the full name, with registry, and tag or digest.
func (n Name) String() string {
	if n.Digest != "" {
		return n.Registry + "/" + n.Repository + "@" + n.Digest
	}
	return n.Registry + "/" + n.Repository + ":" + n.Tag
}

// Familiar returns the name as people write it: without docker.io and library.
func (n Name) Familiar() string {
	s := n.String()
	if short, ok := strings.CutPrefix(s, "docker.io/"); ok {
		return strings.TrimPrefix(short, "library/")
	}
	return s
}

// file returns the name as that of a file: no name has a %.
func (n Name) file() string { return strings.ReplaceAll(n.String(), "/", "%") }

func nameOfFile(file string) (Name, error) { return ParseName(strings.ReplaceAll(file, "%", "/")) }

// isHex reports whether s is the beginning of a digest, of at least some digits.
func isHex(s string, least int) bool {
	return len(s) >= least && len(s) <= hexBytes && only(s, "0123456789abcdef")
}

func only(s, alphabet string) bool { return strings.Trim(s, alphabet) == "" }

const (
	lower = "abcdefghijklmnopqrstuvwxyz0123456789"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func isTag(s string) bool {
	return s != "" && len(s) <= maxTag && only(s, lower+upper+"_.-") && s[0] != '.' && s[0] != '-'
}

// isHost reports whether a registry is a name or an address, perhaps with a port.
func isHost(s string) bool {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		if host, port = s[:i], s[i+1:]; port == "" || len(port) > 5 || !only(port, "0123456789") {
			return false
		}
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return len(host) > 2 && only(host[1:len(host)-1], "0123456789abcdefABCDEF:.")
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' || !only(label, lower+upper+"-") {
			return false
		}
	}
	return true
}

// isRepository reports whether each component is of lower case letters and digits, with one separator between runs of
// them: a dot, one or two underscores, or any number of dashes.
func isRepository(s string) bool {
	if len(s) > maxRepo {
		return false
	}
	for c := range strings.SplitSeq(s, "/") {
		if !only(c, lower+"._-") || strings.Trim(c, "._-") != c || c == "" {
			return false
		}
		for sep := range strings.FieldsFuncSeq(c, func(r rune) bool { return strings.ContainsRune(lower, r) }) {
			if sep != "." && sep != "_" && sep != "__" && strings.Trim(sep, "-") != "" {
				return false
			}
		}
	}
	return true
}
