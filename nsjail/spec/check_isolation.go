package spec

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"brig/internal/words"
)

// isolation checks the network mode and the system-call filter.
func (c *checker) isolation(s *Spec) {
	switch s.Net {
	case "", NetNone, NetLoopback, NetEgress, NetHost:
	default:
		c.add("net", words.Quote(string(s.Net))+" is not a network mode", words.DidYouMean(string(s.Net),
			[]string{"none", "loopback", "egress", "host"}))
	}
	c.network(s)
	// Package seccomp knows the presets, so Resolve reports an unknown one.
	if FileProfile(s.Seccomp) {
		c.hostPath("seccomp", s.Seccomp)
	} else {
		c.text("seccomp", s.Seccomp)
	}
}

// mechanisms checks the names in Require and Optional.
func (c *checker) mechanisms(s *Spec) {
	if len(s.Require)+len(s.Optional) == 0 {
		return
	}
	all, asked := Mechanisms(), s.Limits.Asked()
	asked["apparmor"], asked["selinux"] = s.AppArmor != "", s.SELinuxLabel != ""
	for _, list := range []struct {
		field string
		names []string
	}{{"require", s.Require}, {"optional", s.Optional}} {
		for i, name := range list.names {
			field := Index(list.field, i)
			m := slices.IndexFunc(all, func(m Mechanism) bool { return m.Name == name })
			switch {
			case m < 0:
				c.add(field, words.Quote(name)+" is not a mechanism", words.DidYouMean(name, mechanismNames()))
			case list.field == "optional" && name == "cow":
				c.add(field, "without it a cow mount would change its source", "remove it here, or leave out the cow mount")
			case list.field == "require" && slices.Contains(s.Optional, name):
				c.add(field, words.Quote(name)+" is also listed under optional", "remove one of the two")
			case list.field == "require" && name == "overlay" && s.Rootfs.System == SystemShared:
				c.add(field, "a shared /usr is no overlay", "remove it here, or write private as rootfs.system")
			case list.field == "require" && all[m].OnDemand && !asked[name]:
				c.add(field, words.Quote(name)+" is required, and the spec does not set it", "set it, or remove it here")
			}
		}
	}
}

// env checks the form of the variables. word checks what execve(2) can carry.
func (c *checker) env(s *Spec) {
	for i, e := range s.Env {
		field := Index("env", i)
		name, _, ok := strings.Cut(e, "=")
		switch {
		case !ok:
			c.add(field, words.Quote(e)+" has no =", "write NAME=value, or list the name under pass_env")
		case name == "":
			c.add(field, words.Quote(e)+" has no name", "write NAME=value")
		default:
			c.envName(field, name)
		}
	}
	for i, p := range s.PassEnv {
		field := Index("pass_env", i)
		if _, err := path.Match(p, ""); err != nil {
			c.add(field, words.Quote(p)+" is not a pattern", `close the [, or write \[ for a plain one`)
		} else if p == "" {
			c.add(field, "is empty", "name a variable, as in LC_ALL or LC_*")
		} else if strings.Contains(p, "=") {
			c.add(field, words.Quote(p)+" has a value", "put it under env")
		} else {
			c.envName(field, p)
		}
	}
}

// envName checks a variable's name. POSIX allows anything but = and NUL; blanks and control bytes are always mistakes.
func (c *checker) envName(field, name string) {
	if i := strings.IndexByte(name, 0); i >= 0 && strings.HasPrefix(field, "env") {
		return // word has reported it
	}
	if c.text(field, name) && strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) ||
			!unicode.IsPrint(r)
	}) {
		c.add(field, words.Quote(name)+" is not a name: it has a blank or a control byte", "remove that")
	}
}

// OwnedEtc are the files of /etc that every jail generates.
var OwnedEtc = []string{"passwd", "group", "hosts", "hostname", "nsswitch.conf", "resolv.conf", "shells", "mtab"}

// PrivateEtc are names in /etc that hold accounts, keys and identities. They are refused even if readable by all.
var PrivateEtc = []string{".pwd.lock", "NetworkManager", "cloud", "credstore", "credstore.encrypted", "crypttab",
	"docker", "environment", "exim4", "fstab", "group-", "gshadow", "gshadow-", "hostid", "ipsec.d", "ipsec.secrets",
	"kerberos", "krb5.keytab", "krb5.conf.d", "kubernetes", "letsencrypt", "machine-id", "netplan", "openvpn", "opt",
	"passwd-", "pki/tls/private", "pki/private", "ppp", "rancher", "security", "shadow", "shadow-", "ssh", "ssl/private",
	"subgid", "subuid", "sudoers", "sudoers.d", "wireguard", "wpa_supplicant"}

// etcNames checks Spec.Etc.
func (c *checker) etcNames(s *Spec) {
	if len(s.Etc) > 0 && s.Rootfs.Path != "" {
		c.add("etc", "a rootfs has its own /etc", "remove it, or bind what is missing there")
	}
	if len(s.Etc) > maxMounts {
		c.add("etc", fmt.Sprintf("%d is more than %d", len(s.Etc), maxMounts), "name directories")
		return
	}
	for i, name := range s.Etc {
		field := Index("etc", i)
		within := func(n string) bool {
			return name == n || strings.HasPrefix(name, n+"/") || strings.HasPrefix(n, name+"/")
		}
		switch {
		case !c.text(field, name):
		case name == "" || !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." || len(name) > maxName:
			c.add(field, words.Quote(name)+" is not a name in /etc", "write a plain name such as fonts or apache2/mime.types")
		case slices.ContainsFunc(OwnedEtc, within):
			c.problems = append(c.problems, Problem{field, "the jail makes its own /etc/" + name,
				"replace it by a file of yours: " + Show(Shown{Type: "file",
					Source: "SRC", Target: "/etc/" + name})})
		case slices.ContainsFunc(PrivateEtc, within):
			c.problems = append(c.problems, Problem{field, words.Quote(name) +
				" is or holds accounts, keys or the machine's identity",
				"name what is needed of it, or bind it if that is meant: " + ShowReadOnly("/etc/"+name, "/etc/"+name)})
		}
	}
}

// FileProfile reports whether the value of Spec.Seccomp is the path of a profile.
func FileProfile(name string) bool { return strings.Contains(name, "/") }
