package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"brig/nsjail"
)

// What brig's default jail has, for tools that must be told.
const (
	jailPath = "PATH=" + nsjail.DefaultPath
	jailHome = "HOME=" + nsjail.DefaultHome
)

// scratch are the writable directories of brig's default jail: each is a tmpfs for tools that cannot share one.
var scratch = []string{"/dev/shm", "/tmp", "/work", "/output", nsjail.DefaultHome}

// rlimits are those of brig's default jail that tools take.
var rlimits = func() (list []rlimit) {
	for _, name := range []string{"core", "nofile", "memlock", "stack"} {
		r := nsjail.DefaultRlimits[name]
		list = append(list, rlimit{name, r.Soft, r.Hard})
	}
	return list
}()

type rlimit struct {
	name       string
	soft, hard int64
}

// tree is what a jail's root has from the host, in brig's default jail: rooted names.
type tree struct {
	Links            [][2]string // name, text
	Dirs             []string    // shown read-only
	Files            []string    // of /etc; brig's copy of each says nothing about the host
	Hidden, ReadOnly []string    // of /proc
	HiddenDirs       map[string]bool
}

// look reads the host for the tree.
func look() tree {
	t := tree{Dirs: []string{"/usr"}, HiddenDirs: map[string]bool{}}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if to, err := os.Readlink(name); err == nil {
			t.Links = append(t.Links, [2]string{name, to})
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
		if _, err := os.Stat("/etc/" + name); err == nil {
			t.Files = append(t.Files, "/etc/"+name)
		}
	}
	hidden, readOnly := nsjail.Masks()
	for _, name := range hidden {
		if st, err := os.Stat("/proc/" + name); err == nil {
			t.Hidden = append(t.Hidden, "/proc/"+name)
			t.HiddenDirs["/proc/"+name] = st.IsDir()
		}
	}
	for _, name := range readOnly {
		if _, err := os.Stat("/proc/" + name); err == nil {
			t.ReadOnly = append(t.ReadOnly, "/proc/"+name)
		}
	}
	return t
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// ownEtc are the files of /etc that brig writes into each jail.
var ownEtc = []struct{ name, text string }{
	{"/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nbrig:x:1000:1000::/home/brig:/bin/sh\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
	{"/etc/group", "root:x:0:\nbrig:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/hosts", "127.0.0.1\tlocalhost brig\n::1\tlocalhost ip6-localhost ip6-loopback\n"},
	{"/etc/hostname", "brig\n"},
	{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nservices: files\nprotocols: files\n"},
	{"/etc/resolv.conf", ""},
	{"/etc/shells", "/bin/sh\n/bin/bash\n"},
}

// write makes the tree as a directory, with an empty one in place of each that is mounted: the root of the tools that want
// one. What a jail cannot be told from brig's is written once, ahead of all starts.
func (t tree) write(root string) error {
	errs := []error{os.MkdirAll(root, 0o755)}
	mkdir := func(name string) { errs = append(errs, os.MkdirAll(filepath.Join(root, name), 0o755)) }
	for _, name := range append([]string{"/etc", "/proc", "/dev", "/sys", "/input", "/run", "/root", "/home", "/var"}, append(t.Dirs, scratch[1:]...)...) {
		mkdir(name)
	}
	for _, name := range scratch[1:] { // runc gives a tmpfs the mode of what is below it
		errs = append(errs, os.Chmod(filepath.Join(root, name), os.ModeSticky|0o777))
	}
	for _, l := range append(t.Links, [2]string{"/var/tmp", "/tmp"}, [2]string{"/etc/mtab", "/proc/self/mounts"}) {
		errs = append(errs, os.Symlink(l[1], filepath.Join(root, l[0])))
	}
	for _, f := range ownEtc {
		errs = append(errs, os.WriteFile(filepath.Join(root, f.name), []byte(f.text), 0o644))
	}
	for _, name := range t.Files {
		text, err := os.ReadFile(name)
		mkdir(filepath.Dir(name))
		errs = append(errs, err, os.WriteFile(filepath.Join(root, name), text, 0o644))
	}
	return errors.Join(errs...)
}

// targets makes, in a tree that write has made, what binds are mounted on.
func targets(root string, binds []Bind) error {
	for _, b := range binds {
		name := filepath.Join(root, b.Target)
		if isDir(b.Source) {
			if err := os.MkdirAll(name, 0o755); err != nil {
				return err
			}
		} else if _, err := os.Stat(name); err != nil {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644)); err != nil {
				return err
			}
		}
	}
	return nil
}

// docker's words for limits, which podman and brig have, too.
func (l Limits) flags() (args []string) {
	if l.Memory > 0 {
		args = append(args, "--memory", fmt.Sprint(l.Memory))
	}
	if l.CPUs > 0 {
		args = append(args, "--cpus", strings.TrimSuffix(fmt.Sprintf("%.2f", l.CPUs), ".00"))
	}
	if l.Processes > 0 {
		args = append(args, "--pids-limit", fmt.Sprint(l.Processes))
	}
	return args
}

// none says that there is no limit.
func (l Limits) none() bool { return l == Limits{} }
