package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

func TestLeads(t *testing.T) {
	for _, c := range [][3]string{
		{"/etc/localtime", "/usr/share/zoneinfo/UTC", "/usr/share/zoneinfo/UTC"}, {"/etc/localtime", "../usr/share/x", "/usr/share/x"},
		{"/etc/a/b", "c", "/etc/a/c"}, {"/etc/x", "../../../usr/y", "/usr/y"}, {"/etc/x", "/usr/../root/.ssh", "/root/.ssh"}, {"/etc/x", "", "/etc"},
	} {
		if got := Leads(c[0], c[1]); got != c[2] {
			t.Errorf("%s -> %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// TestCopied: what a jail copies of /etc everybody may read, and it is a small file.
func TestCopied(t *testing.T) {
	for _, c := range []struct {
		mode uint32
		size int64
		want bool
	}{
		{unix.S_IFREG | 0o644, 10, true}, {unix.S_IFREG | 0o004, MaxEtcFile, true}, {unix.S_IFREG | 0o644, MaxEtcFile + 1, false},
		{unix.S_IFREG | 0o640, 10, false}, {unix.S_IFDIR | 0o755, 10, false}, {unix.S_IFIFO | 0o666, 0, false}, {unix.S_IFLNK | 0o777, 1, false},
		{unix.S_IFREG | unix.S_ISUID | 0o755, 10, true}, {unix.S_IFSOCK | 0o777, 0, false},
	} {
		if got := copied(&unix.Stat_t{Mode: c.mode, Size: c.size}); got != c.want {
			t.Errorf("%o, %d: %v", c.mode, c.size, got)
		}
	}
}

// TestLookEtcName: public configuration is shown; what is not for everybody, or leads elsewhere, has a reason.
func TestLookEtcName(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "file", "secret", "open/x", "closed/x", "unlisted/x", "unpassable/x", "usr -> /usr/share/x", "out -> /root/.ssh", "climbs -> /usr/../root", "big")
	must.Do(t, os.Chmod(dir, 0o755))
	for name, mode := range map[string]os.FileMode{"file": 0o644, "secret": 0o640, "open": 0o755, "closed": 0o750, "unlisted": 0o711, "unpassable": 0o754} {
		must.Do(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	must.Do(t, os.Truncate(dir+"/big", MaxEtcFile+1))
	must.Do(t, unix.Mkfifo(dir+"/fifo", 0o644))
	at := strings.TrimPrefix(dir, "/")
	for name, c := range map[string]struct{ why, as string }{
		"file": {"", "file"}, "open": {"", "system"}, "usr": {"", "system"},
		"secret": {"is no file of at most 1m that everybody may read", ""}, "big": {"is no file of at most 1m that everybody may read", ""}, "fifo": {"is no file of at most 1m that everybody may read", ""},
		"closed": {"is not for everybody to read", ""}, "unlisted": {"is not for everybody to read", ""}, "unpassable": {"is not for everybody to read", ""},
		"out": {"is a link that leads out of /usr", ""}, "climbs": {"is a link that leads out of /usr", ""},
		"gone": {"does not exist", ""}, "file/x": {"does not exist", ""},
	} {
		r := Root{NoEtcOverlay: unasked}
		for range 2 { // a name is shown once
			if why, err := r.lookEtcName(at+"/"+name, overlays{}); why != c.why || err != nil {
				t.Errorf("%s: %q, %v", name, why, err)
			}
		}
		if files, system := len(r.Files), len(r.System); files != count(c.as == "file") || system != count(c.as == "system") {
			t.Errorf("%s: %+v", name, r)
		}
		if asked := name == "open"; (r.NoEtcOverlay != unasked) != asked {
			t.Errorf("%s: overlays of /etc: %q", name, r.NoEtcOverlay)
		}
	}
	r := Root{NoEtcOverlay: unasked} // a directory gets a layer of its own where /etc can be none
	if _, err := r.lookEtcName(at+"/open", overlays{missing: "none here"}); err != nil || r.NoEtcOverlay != "none here" || r.System[0].NoOverlay != "none here" {
		t.Errorf("%+v, %v", r, err)
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestLookEtc: what Spec.Etc names must be there, and the host's network brings its files.
func TestLookEtc(t *testing.T) {
	var r Root
	must.Do(t, r.lookEtc(&spec.Spec{}, overlays{}))
	for _, name := range append(slices.Clone(r.Files), names(r.System)...) {
		if base := strings.TrimPrefix(name, "etc/"); name == base || slices.Contains([]string{"passwd", "shadow", "hostname", "hosts", "resolv.conf", "machine-id"}, base) {
			t.Errorf("%s is shown", name)
		}
	}
	err := r.lookEtc(&spec.Spec{Etc: []string{"no-such\nfile"}}, overlays{})
	if want := `etc[0]: "/etc/no-such\nfile" does not exist; name public configuration that this machine has`; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	var st unix.Stat_t
	if unix.Stat("/etc/hosts", &st) == nil && copied(&st) {
		var net Root
		if must.Do(t, net.lookEtc(&spec.Spec{Net: spec.NetHost}, overlays{})); !slices.Contains(net.Files, "etc/hosts") {
			t.Errorf("%q", net.Files)
		}
	}
}

func names(dirs []SystemDir) (list []string) {
	for _, d := range dirs {
		list = append(list, d.Name)
	}
	return list
}

// TestCopyEtc: a copy of a directory of /etc has what everybody may read, and none of the modes of the original.
func TestCopyEtc(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "c/file", "c/sub/f", "c/link -> ../../etc/shadow", "c/private/f", "c/key", "big/f")
	must.Do(t, unix.Mkfifo(dir+"/c/fifo", 0o644))
	for name, mode := range map[string]os.FileMode{"c": 0o755, "c/sub": 0o777, "c/file": 0o666, "c/sub/f": 0o4755, "c/private": 0o700, "c/key": 0o600, "big": 0o755} {
		must.Do(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	at := "etc/.." + dir // of which the walk leaves dir in the names below it
	list, ok := copyEtc(at + "/c")
	got := map[string]rootfs.Entry{}
	for _, e := range list {
		got[strings.TrimPrefix(strings.TrimPrefix("/"+e.Target, "/etc/.."), dir+"/c")] = e
	}
	if !ok || len(got) != 5 || got[""].Kind != rootfs.Dir || got["/sub"].Mode != 0o755 || got["/file"].Mode != 0o444 || got["/sub/f"].Mode != 0o444 ||
		got["/link"].Kind != rootfs.Symlink || got["/link"].Text != "../../etc/shadow" || got["/file"].Source.Path != dir+"/c/file" || got["/file"].Size != MaxEtcFile {
		t.Errorf("%v %+v", ok, got)
	}
	for _, name := range []string{"usr/share", at + "/gone", "usr"} {
		if list, ok := copyEtc(name); ok {
			t.Errorf("%s: %+v", name, list)
		}
	}
	for i := range maxEtcBytes/MaxEtcFile + 1 { // each may be copied, and all are too large
		name := filepath.Join(dir, "big", string(rune('a'+i)))
		must.Do(t, os.WriteFile(name, nil, 0o644))
		must.Do(t, os.Truncate(name, MaxEtcFile))
		must.Do(t, os.Chmod(name, 0o644))
	}
	if _, ok := copyEtc(at + "/big"); ok {
		t.Error("more bytes are copied than a prepared tree may have")
	}
	all := CopyEtc(&Host{Root: Root{System: []SystemDir{{Name: at + "/c"}, {Name: at + "/l", Link: "/usr/l"}, {Name: "usr"}, {Name: at + "/big"}}}})
	if len(all) != 1 || len(all[at+"/c"]) != 5 {
		t.Errorf("%+v", all)
	}
}

// TestComplete: a tree without every mount point of a jail needs a layer of the jail's own.
func TestComplete(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, "dev/", "proc/", "tmp/", "work/", "srv/data", "bin -> /usr/bin", "usr/bin/")
	tmpfs := func(target string) []spec.Mount { return []spec.Mount{{Type: spec.MountTmpfs, Target: target}} }
	for name, c := range map[string]struct {
		spec  spec.Spec
		lacks []string
		gone  string
		want  bool
	}{
		"all":                    {spec.Spec{}, nil, "", true},
		"no /work":               {spec.Spec{}, nil, "work", false},
		"a file for a directory": {spec.Spec{}, nil, "dev", false},
		"a mount there":          {spec.Spec{Mounts: tmpfs("/srv/data")}, nil, "", true},
		"a mount by a link":      {spec.Spec{Mounts: tmpfs("/bin")}, nil, "", true}, // in the tree, not the host's
		"a mount not there":      {spec.Spec{Mounts: tmpfs("/srv/gone")}, nil, "", false},
		"a mount above the root": {spec.Spec{Mounts: tmpfs("/../../srv")}, nil, "", true},
		"a directory to be made": {spec.Spec{Mounts: []spec.Mount{{Type: spec.MountDir, Target: "/srv"}}}, nil, "", false},
		"a link to be made":      {spec.Spec{Mounts: []spec.Mount{{Type: spec.MountSymlink, Target: "/srv"}}}, nil, "", false},
		"something protected":    {spec.Spec{Protect: []string{"x"}}, nil, "", false},
		"no /etc/hosts":          {spec.Spec{}, []string{"etc/hosts"}, "", false},
		"empty, and the host's":  {spec.Spec{Net: spec.NetHost}, []string{"srv/data"}, "", false},
		"an empty one":           {spec.Spec{}, []string{"srv/data"}, "", true},
	} {
		tree := dir
		if c.gone != "" {
			tree = t.TempDir()
			grow(t, tree, "dev/", "proc/", "tmp/", "work/")
			must.Do(t, os.Remove(filepath.Join(tree, c.gone)))
			if name == "a file for a directory" {
				grow(t, tree, c.gone)
			}
		}
		fd := must.Get(unix.Open(tree, unix.O_PATH|unix.O_CLOEXEC, 0))(t)
		r := &Root{ImageLacks: c.lacks}
		if got := r.complete(&Source{Fd: fd}, &c.spec); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		must.Do(t, unix.Close(fd))
	}
}

// TestLacking: a tree gets the files of NetEtc that it lacks where the payload may make them.
func TestLacking(t *testing.T) {
	uid := os.Geteuid()
	for name, c := range map[string]struct {
		files []string
		empty string
		owner int // of the caller, relative to the tree's
		drop  bool
		idmap spec.Text
		want  []string
	}{
		"both":                     {[]string{"etc/"}, "", 0, false, "", NetEtc},
		"one":                      {[]string{"etc/hosts"}, "", 0, false, "", NetEtc[1:]},
		"an empty one":             {[]string{"etc/hosts", "etc/resolv.conf"}, "etc/hosts", 0, false, "", NetEtc[:1]},
		"a link":                   {[]string{"etc/hosts -> gone", "etc/resolv.conf -> /proc/x"}, "", 0, false, "", nil},
		"a directory":              {[]string{"etc/hosts/", "etc/resolv.conf"}, "", 0, false, "", nil},
		"no /etc":                  {[]string{"usr/"}, "", 0, false, "", nil},
		"a file":                   {[]string{"etc"}, "", 0, false, "", nil},
		"by a link in the tree":    {[]string{"usr/etc/hosts", "etc -> /usr/etc"}, "", 0, false, "", NetEtc[1:]},
		"another user's":           {[]string{"etc/"}, "", 1, false, "", nil},
		"root with mappings":       {[]string{"etc/"}, "", 1, true, "", NetEtc},
		"root that cannot map ids": {[]string{"etc/"}, "", 0, true, "no", nil},
	} {
		dir := t.TempDir()
		grow(t, dir, c.files...)
		if c.empty != "" {
			must.Do(t, os.Truncate(filepath.Join(dir, c.empty), 0))
		}
		fd := must.Get(unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0))(t)
		h := &Host{Machine: Machine{Missing: map[string]spec.Text{}}, Caller: Caller{UID: uid + c.owner, Drop: c.drop}}
		if c.idmap != "" {
			h.Missing["idmap"] = c.idmap
		}
		if got := h.lacking(&Source{Fd: fd, UID: uid}, spec.NetNone); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		must.Do(t, unix.Close(fd))
	}
}
