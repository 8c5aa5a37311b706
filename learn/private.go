package learn

import (
	"path"
	"strings"
)

// secretPaths are files and directories of the host that hold secrets, or the sockets of services that obey every user
// who may connect. Files that not every user may read are private as well, and need not be listed.
var secretPaths = []string{"/boot", "/dev", "/proc", "/sys", "/root", "/lost+found",
	"/etc/shadow", "/etc/gshadow", "/etc/passwd", "/etc/group", "/etc/sudoers", "/etc/sudoers.d", "/etc/machine-id",
	"/etc/hostname", "/etc/krb5.keytab", "/etc/ssh", "/etc/ssl/private", "/etc/pki/private", "/etc/wireguard",
	"/etc/NetworkManager", "/etc/wpa_supplicant", "/etc/openvpn", "/etc/ipsec.secrets", "/etc/security/opasswd",
	"/etc/docker", "/etc/kubernetes", "/etc/letsencrypt", "/etc/crontab", "/etc/environment", "/etc/gitconfig",
	"/etc/npmrc", "/etc/pip.conf",
	"/run/user", "/run/docker.sock", "/run/docker", "/run/containerd", "/run/podman", "/run/crio", "/run/libvirt",
	"/run/dbus", "/run/systemd", "/run/udev", "/run/secrets", "/run/credentials", "/run/snapd.socket", "/run/lxd",
	"/run/screen", "/run/tmux", "/run/pcscd", "/run/cups", "/tmp/.X11-unix", "/tmp/.ICE-unix",
	"/var/log", "/var/mail", "/var/spool", "/var/backups", "/var/crash", "/var/lib/docker", "/var/lib/containers",
	"/var/lib/containerd", "/var/lib/kubelet", "/var/lib/libvirt", "/var/lib/lxd", "/var/lib/mysql",
	"/var/lib/postgresql", "/var/lib/redis", "/var/lib/systemd", "/var/lib/dbus", "/var/lib/NetworkManager",
	"/var/lib/sss", "/var/lib/samba", "/var/lib/private", "/var/lib/sudo", "/var/lib/jenkins", "/var/lib/vault"}

// secretNames are names that hold secrets wherever they are; a * at the end or the beginning matches any text.
var secretNames = []string{".env", ".env.*", ".envrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials",
	".npmrc", ".pypirc", ".yarnrc.yml", ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker", ".oci",
	".config", ".local", ".cache", ".mozilla", ".thunderbird", ".password-store", ".vault-token", ".terraform.d",
	".terraformrc", ".boto", ".s3cfg", ".databricks", ".claude", ".codex", ".gemini", ".bash_history", ".zsh_history",
	".python_history", ".psql_history", ".htpasswd", ".Xauthority", ".ICEauthority", ".pki", "id_rsa*", "id_dsa*",
	"id_ecdsa*", "id_ed25519*", "*.kdbx", "*.keytab", "*.pfx", "*.p12", "*.ovpn", "*.tfstate", "docker.sock",
	"podman.sock", "credentials", "credentials.json", "secrets.json", "secrets.yaml", "secrets.yml",
	"service-account.json", "keyrings", "ssh-*.agent", "agent.sock"}

// SecretName reports whether a file of this name usually holds a secret.
func SecretName(name string) bool {
	for _, n := range secretNames {
		start, open := strings.CutSuffix(n, "*")
		end, any := strings.CutPrefix(n, "*")
		switch {
		case open && strings.HasPrefix(name, start), any && strings.HasSuffix(name, end), name == n:
			return true
		}
	}
	return strings.HasPrefix(name, "ssh-") && strings.Contains(name, "agent")
}

// Private returns why a path of the host must not be shown, or "". dir is the caller's directory: unless it is a home
// directory or above one, the files in it are not private just because they are below a home directory. homes lists
// home directories; an entry that ends in / is a directory of home directories.
func Private(host, dir string, homes []string) (why string) {
	for part := range strings.SplitSeq(strings.Trim(host, "/"), "/") {
		if SecretName(part) {
			return "it may hold secrets: " + part
		}
	}
	for _, s := range secretPaths {
		if under(host, s) && !(under(host, dir) && s == "/root" && dir != "/root") {
			return "it is private to the host"
		}
	}
	named := dir != "/"
	for _, h := range homes {
		named = named && !under(path.Clean(h), dir) && path.Dir(dir)+"/" != h
	}
	if named && under(host, dir) {
		return ""
	}
	for _, h := range homes {
		if under(host, path.Clean(h)) || under(path.Clean(h), host) {
			return "it is in a home directory"
		}
	}
	return ""
}

// under reports whether p is dir or below it. It compares whole path components.
func under(p, dir string) bool {
	return dir == "/" || p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// join returns the path of a name below a directory.
func join(dir, rel string) string { return path.Join(dir, strings.TrimPrefix(rel, "/")) }
