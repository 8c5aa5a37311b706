package peers

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brig/nsjail/explain"
	"brig/nsjail/spec"
)

// scratch are the writable directories of brig's default jail.
var scratch = []string{"/dev/shm", "/tmp", "/work", "/output", spec.DefaultHome}

// rlimits are those of brig's default jail that tools take.
var rlimits = func() (list []rlimit) {
	for _, name := range []string{"core", "nofile", "memlock", "stack"} {
		r := spec.DefaultRlimits[name]
		list = append(list, rlimit{name, r.Soft, r.Hard})
	}
	return list
}()

type rlimit struct {
	name       string
	soft, hard int64
}

// tree is what the root of brig's default jail has from the host.
type tree struct {
	Links              [][]string // name, text
	Dirs               []string   // shown read-only
	Files              []string   // of /etc; brig's copy of each is the same on every host
	Hidden, HiddenDirs []string   // of /proc
	ReadOnly           []string   // of /proc
}

// look reads the host for the tree.
func look() (t tree) {
	t.Dirs = []string{"/usr"}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if to, err := os.Readlink(name); err == nil {
			t.Links = append(t.Links, []string{name, to})
		} else if isDir(name) {
			t.Dirs = append(t.Dirs, name)
		}
	}
	for _, name := range []string{"/etc/alternatives", "/etc/ssl/certs"} {
		if isDir(name) {
			t.Dirs = append(t.Dirs, name)
		}
	}
	for _, name := range []string{"ld.so.cache", "services", "protocols", "ssl/openssl.cnf"} {
		if exists("/etc/" + name) {
			t.Files = append(t.Files, "/etc/"+name)
		}
	}
	hidden, readOnly := explain.Masks()
	for _, name := range hidden {
		if name = "/proc/" + name; isDir(name) {
			t.HiddenDirs = append(t.HiddenDirs, name)
		} else if exists(name) {
			t.Hidden = append(t.Hidden, name)
		}
	}
	for _, name := range readOnly {
		if name = "/proc/" + name; exists(name) {
			t.ReadOnly = append(t.ReadOnly, name)
		}
	}
	return t
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// outsideEtc returns the directories that a jail with an /etc as one mount still lacks.
func (t tree) outsideEtc() []string {
	return slices.DeleteFunc(slices.Clone(t.Dirs), func(name string) bool { return strings.HasPrefix(name, "/etc/") })
}

// etc are the files that brig writes into each jail, and the one that podman mounts over and cannot make.
var etc = []struct{ name, text string }{
	{"/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nbrig:x:1000:1000::/home/brig:/bin/sh\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
	{"/etc/group", "root:x:0:\nbrig:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/hosts", "127.0.0.1\tlocalhost brig\n::1\tlocalhost ip6-localhost ip6-loopback\n"},
	{"/etc/hostname", "brig\n"},
	{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n" +
		"services: files\nprotocols: files\n"},
	{"/etc/resolv.conf", ""},
	{"/etc/shells", "/bin/sh\n/bin/bash\n"},
	{"/run/.containerenv", ""},
}

// write makes the tree as a directory, with an empty one in place of each that is mounted: the root of tools that want
// one. Files whose content a jail cannot tell from brig's are written once, before all starts.
func (t tree) write(root string) error {
	errs := []error{os.MkdirAll(root, 0o755)}
	mkdir := func(names ...string) {
		for _, name := range names {
			errs = append(errs, os.MkdirAll(filepath.Join(root, name), 0o755))
		}
	}
	mkdir("/etc", "/proc", "/dev", "/sys", "/input", "/run", "/root", "/home", "/var")
	mkdir(t.Dirs...)
	mkdir(scratch[1:]...)
	for _, name := range scratch[1:] { // runc gives a tmpfs the mode of what is below it
		errs = append(errs, os.Chmod(filepath.Join(root, name), os.ModeSticky|0o777))
	}
	for _, l := range slices.Concat(t.Links, [][]string{{"/var/tmp", "/tmp"}, {"/etc/mtab", "/proc/self/mounts"}}) {
		errs = append(errs, os.Symlink(l[1], filepath.Join(root, l[0])))
	}
	for _, name := range t.Dirs {
		if strings.HasPrefix(name, "/etc/") { // for those that show /etc as one mount
			errs = append(errs, os.CopyFS(filepath.Join(root, name), os.DirFS(name)))
		}
	}
	for _, f := range etc {
		errs = append(errs, os.WriteFile(filepath.Join(root, f.name), []byte(f.text), 0o644))
	}
	for _, name := range t.Files {
		text, err := os.ReadFile(name)
		mkdir(filepath.Dir(name))
		errs = append(errs, err, os.WriteFile(filepath.Join(root, name), text, 0o644))
	}
	return errors.Join(errs...)
}
