package spec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"brig/internal/words"
)

// OwnedEtc are the files of /etc that every jail generates.
var OwnedEtc = []string{"passwd", "group", "hosts", "hostname", "nsswitch.conf", "resolv.conf", "shells", "mtab"}

// PrivateEtc are names in /etc that hold accounts, keys and identities. They are refused even if readable by all.
var PrivateEtc = []string{".pwd.lock", "NetworkManager", "cloud", "credstore", "credstore.encrypted", "crypttab",
	"docker", "environment", "exim4", "fstab", "group-", "gshadow", "gshadow-", "hostid", "ipsec.d", "ipsec.secrets",
	"kerberos", "krb5.keytab", "krb5.conf.d", "kubernetes", "letsencrypt", "machine-id", "netplan", "openvpn", "opt",
	"passwd-", "pki/tls/private", "pki/private", "ppp", "rancher", "security", "shadow", "shadow-", "ssh", "ssl/private",
	"subgid", "subuid", "sudoers", "sudoers.d", "wireguard", "wpa_supplicant"}

// checkEtc checks Spec.Etc.
func checkEtc(names []string, rootfs Rootfs) (c problems) {
	if len(names) > 0 && rootfs.Path != "" {
		c.add("etc", "a rootfs has its own /etc", "remove it, or bind what is missing there")
	}
	if len(names) > MaxMounts {
		c.add("etc", fmt.Sprintf("%d is more than %d", len(names), MaxMounts), "name directories")
		return c
	}
	for i, name := range names {
		field := Index("etc", i)
		within := func(n string) bool {
			return name == n || strings.HasPrefix(name, n+"/") || strings.HasPrefix(n, name+"/")
		}
		switch {
		case !c.text(field, name):
		case name == "" || !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." || len(name) > maxName:
			c.add(field, words.Quote(name)+" is not a name in /etc", "write a plain name such as fonts or apache2/mime.types")
		case slices.ContainsFunc(OwnedEtc, within):
			c.refer(field, "the jail makes its own /etc/"+name, "replace it by a file of yours: "+
				Show(Shown{Type: "file", Source: "SRC", Target: "/etc/" + name}))
		case slices.ContainsFunc(PrivateEtc, within):
			c.refer(field, words.Quote(name)+" is or holds accounts, keys or the machine's identity",
				"name what is needed of it, or bind it if that is meant: "+ShowReadOnly("/etc/"+name, "/etc/"+name))
		}
	}
	return c
}
