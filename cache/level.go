package cache

import (
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/spec"
)

// Level returns what a jail is trusted with beyond an ordinary one, in words; "" is nothing. What an ordinary payload
// has left in a cache would have that, too, as soon as the tool executes it. So such runs have caches of their own,
// unless the caller has named a key for them: Key.Level.
func Level(s *spec.Spec) string {
	var list []string
	add := func(has bool, what string) {
		if has {
			list = append(list, what)
		}
	}
	add(namesSecret(s), "credentials in variables")
	add(s.Net == spec.NetHost, "the network of the host")
	add(s.Git == spec.GitRW, "git directories")
	add(unprotected(s), "protected paths")
	add(slices.Contains(s.Optional, "sockets"), "sockets of the host")
	add(s.Seccomp != "" && s.Seccomp != "default", "seccomp "+words.Printable(s.Seccomp))
	return strings.Join(list, ", ")
}

// unprotected reports whether a jail may write what the host acts on: a directory of the host is writable, and the
// paths that are protected there by default are not, or not all of them.
func unprotected(s *spec.Spec) bool {
	taken := func(entry string) bool { return strings.HasPrefix(entry, "!") }
	writes := func(m spec.Mount) bool { return m.Writes() && !m.Internal() }
	return slices.ContainsFunc(s.Mounts, writes) &&
		(!slices.Contains(s.Protect, spec.ProtectGit) || slices.ContainsFunc(s.Protect, taken))
}

// namesSecret reports whether a jail has a variable that usually holds a secret. Those by which tools find their caches
// hold none.
func namesSecret(s *spec.Spec) bool {
	return slices.ContainsFunc(slices.Concat(s.Env, s.PassEnv), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return spec.Sensitive(name) && !slices.ContainsFunc(tools(), func(t Tool) bool { return t.has(name) })
	})
}
