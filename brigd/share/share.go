// Package share holds the directories of the host that an operator names for requests to mount: "--share
// data=/srv/data:ro". A request knows their names and never their paths.
//
// A Set opens each directory once and holds the descriptor. What a request names is resolved from there, with
// openat2(2) and RESOLVE_BENEATH|RESOLVE_NO_SYMLINKS|RESOLVE_NO_MAGICLINKS, so that nothing outside of the directory
// can be reached, whatever a payload or another user has put into it. The jail mounts the file that was found, or fails
// (spec.Held). A directory that has been moved away or replaced since the Set was made is refused.
package share

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"brig/brigd/policy"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Max is how many shares there may be, and maxProtect how many protected paths one may have.
const (
	Max        = 64
	maxProtect = 32
)

// Bounds of what one run may write to a share in mode cow, if Size and Inodes do not say so.
const (
	DefaultSize   = nsjail.Bytes(256 << 20)
	DefaultInodes = 1 << 16
)

// Share is a directory of the host, under a name.
type Share struct {
	Name string
	Dir  string // absolute and clean; symbolic links in it are not resolved
	Mode string // one of policy.ShareModes
	// Size and Inodes bound what one run may write in mode cow; 0 means DefaultSize and DefaultInodes.
	Size   nsjail.Bytes
	Inodes int64
	Store  string // of mode cow: nsjail.Mount.Store
	// Protect are paths below Dir that no run can change, whether they exist or not: nsjail.Spec.Protect.
	Protect []string
}

// Parse reads NAME=DIR:MODE, and options after it: ",protect=PATH", which may be repeated, and for mode cow
// ",size=64m", ",inodes=10000" and ",store=disk".
func Parse(text string) (s Share, err error) {
	name, rest, ok := strings.Cut(text, "=")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || colon <= 0 {
		return s, fmt.Errorf("%s is not NAME=DIR:MODE; write as in data=/srv/data:ro", words.Quote(text))
	}
	options := strings.Split(rest[colon+1:], ",")
	s = Share{Name: name, Dir: rest[:colon], Mode: options[0]}
	switch {
	case !policy.ValidShareName(name):
		return s, fmt.Errorf("%s is not a share's name; write 1 to 32 lower-case letters, digits, - and _", words.Quote(name))
	case !slices.Contains(policy.ShareModes, s.Mode):
		return s, fmt.Errorf("%s: %s is not a mode; write ro (read-only), cow (a copy whose changes are kept) or rw "+
			"(writable)", name, words.Quote(s.Mode))
	}
	if s.Dir, err = sys.Abs(s.Dir); err != nil {
		return s, fmt.Errorf("%s: %w; write an absolute path", name, err)
	}
	for _, o := range options[1:] {
		if err := s.option(o); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// option reads one option.
func (s *Share) option(text string) (err error) {
	key, value, _ := strings.Cut(text, "=")
	switch {
	case key == "protect" && s.Mode == "ro":
		return errors.New("protect: nothing in a read-only share can change; leave it out")
	case key == "protect":
		s.Protect = append(s.Protect, value)
		if why, fix := BadProtect(s.Protect); why != "" {
			return fmt.Errorf("protect: %s; %s", why, fix)
		}
	case !slices.Contains([]string{"size", "inodes", "store"}, key):
		return fmt.Errorf("%s is not an option; write size=SIZE, inodes=N, store=disk or protect=PATH", words.Quote(text))
	case s.Mode == "rw":
		return fmt.Errorf("%s: nothing holds a quota for a directory of the host; use cow, or put the directory into a file "+
			"system of its own size", key)
	case s.Mode == "ro":
		return fmt.Errorf("%s bounds what is written, and a read-only share takes nothing; leave it out", key)
	case key == "store" && value != "memory" && value != spec.StoreDisk:
		return fmt.Errorf("store: %s is not where changes are kept; write memory or disk", words.Quote(value))
	case key == "store":
		s.Store = value
	case key == "size":
		if s.Size, err = spec.ParseBytes(value); err == nil && s.Size < 1<<16 {
			err = fmt.Errorf("size: %s is less than 64k; write more", s.Size)
		}
	default:
		if s.Inodes, err = strconv.ParseInt(value, 10, 64); err != nil || s.Inodes < 16 || s.Inodes > 1<<30 {
			err = fmt.Errorf("inodes: %s is not a number from 16 to %d; write one", words.Quote(value), 1<<30)
		}
	}
	return err
}

// BadProtect returns why the last of a list of paths cannot be protected in a share, and what to write; "" if it can.
func BadProtect(list []string) (why, fix string) {
	switch p := list[len(list)-1]; {
	case !local(p):
		return words.Quote(p) + " is not a path below the directory", "write it as in .git/hooks"
	case p == spec.ProtectGit:
		return p + " is a set of paths", "write each of them, as in .git/hooks"
	case len(list) > maxProtect:
		return fmt.Sprintf("there are more than %d paths", maxProtect), "protect a directory of them"
	}
	return "", ""
}

// local reports whether a path is clean, and below the directory that it is relative to.
func local(p string) bool {
	return len(p) <= maxPath && filepath.IsLocal(p) && filepath.Clean(p) == p && p != "." && !strings.ContainsRune(p, 0)
}
