package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestSourceErrors: each source that cannot be shown is refused by its field, with what the caller can do.
func TestSourceErrors(t *testing.T) {
	away(t)
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "f", "d/x", "secret", "loop -> loop", "pipes/d/p\n/", "socks/", "a\nb/")
	must.Do(t, errors.Join(unix.Mkfifo(dir+"/fifo", 0o600), unix.Mkfifo(dir+"/pipes/d/p\n/q", 0o600), os.Truncate(dir+"/f", spec.MaxFileCopy+1)))
	for _, name := range []string{"s", "socks/live"} {
		l := must.Get(net.Listen("unix", filepath.Join(dir, name)))(t)
		defer l.Close()
	}
	file := func(source string) spec.Mount { return spec.Mount{Type: spec.MountFile, Source: source, Target: "/f"} }
	const sockets = `remove it, share the tree with mounts: {"type":"bind","target":"/input"}, or list sockets under optional`
	for name, c := range map[string]struct {
		mount spec.Mount
		want  string
	}{
		"not there":           {bind("$/gone", "/d", false), `mounts[0].source: "$/gone": no such file or directory; name a path that exists, or make a directory first: mkdir -p "$/gone"`},
		"below a file":        {bind("$/secret/x", "/d", false), `mounts[0].source: "$/secret/x": not a directory; name a path that exists`},
		"a loop":              {bind("$/loop", "/d", false), `mounts[0].source: "$/loop": too many levels of symbolic links; name a path that exists`},
		"a socket":            {bind("$/s", "/d", false), `mounts[0].source: "$/s": is a socket: the payload could talk to the host through it; do not share it`},
		"a FIFO":              {bind("$/fifo", "/d", false), `mounts[0].source: "$/fifo": is neither a directory nor a regular file; share a directory or a file`},
		"a device":            {bind("/dev/null", "/d", true), `mounts[0].source: "/dev/null": is neither a directory nor a regular file; share a directory or a file`},
		"a cow of a file":     {cow("$/secret", "/d"), `mounts[0].source: "$/secret": not a directory; name a directory, or show the file with mounts: {"type":"file"}`},
		"a cow of nothing":    {cow("$/a\nb/c", "/d"), "mounts[0].source: \"$/a\nb/c\": no such file or directory; name a path that exists, or make a directory first: mkdir -p \"$/a\nb/c\""},
		"a FIFO in it":        {bind("$/pipes", "/d", true), `mounts[0].source: "$/pipes": holds a FIFO, "d/p\n/q": the payload could talk to the host through it; ` + sockets},
		"a socket in it":      {bind("$/socks", "/d", true), `mounts[0].source: "$/socks": holds a socket of a running process, "live": the payload could talk to the host through it; ` + sockets},
		"a copy of nothing":   {file("$/gone"), `mounts[0].source: "$/gone": no such file or directory; name a readable file`},
		"a copy of a tree":    {file("$/d"), `mounts[0].source: "$/d": is not a regular file; name a regular file, or bind it`},
		"a copy of a FIFO":    {file("$/fifo"), `mounts[0].source: "$/fifo": is not a regular file; name a regular file, or bind it`},
		"a copy of too much":  {file("$/f"), `mounts[0].source: "$/f": is larger than ` + spec.Bytes(spec.MaxFileCopy).String() + `; bind it with mounts: {"type":"bind"} instead`},
		"a directory":         {bind("$/d", "/d", true), ""},
		"a file":              {bind("$/secret", "/d", true), ""},
		"a small copy":        {file("$/secret"), ""},
		"sockets, read-only":  {bind("$/socks", "/d", false), ""},
		"a name with newline": {bind("$/a\nb", "/d", false), ""},
	} {
		m := c.mount
		m.Source = strings.ReplaceAll(m.Source, "$", dir)
		l := looks(t, &spec.Spec{Mounts: []spec.Mount{m}})
		must.Do(t, l.lookTable())
		err := l.lookSources()
		if name == "sockets, read-only" && l.Sources.Of(0).NoOverlay != "" {
			continue // it is shared live then
		}
		if (err != nil) != (c.want != "") || err != nil && err.Error() != at(dir, c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, at(dir, c.want))
		}
		if name == "a name with newline" && l.Sources.Of(0).NoOverlay != "its name has a newline" {
			t.Errorf("%s: %q", name, l.Sources.Of(0).NoOverlay)
		}
	}
}

// A user who may not pass a directory is told what it lacks.
func TestSourceDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root is denied nothing")
	}
	away(t)
	dir := t.TempDir()
	grow(t, dir, "shut/f", "unread")
	must.Do(t, errors.Join(os.Chmod(dir+"/shut", 0o600), os.Chmod(dir+"/unread", 0)))
	defer os.Chmod(dir+"/shut", 0o700)
	l := looks(t, &spec.Spec{})
	if _, err := l.open(SourceOf(0), dir+"/shut/f"); err == nil || err.Error() != at(dir, `mounts[0].source: "$/shut/f": permission denied; give this user search permission on every directory of the path`) {
		t.Error(err)
	}
	src := must.Get(l.open(SourceOf(1), dir+"/unread"))(t)
	if must.Do(t, l.copyBound(src)); src.Copied || src.NoOverlay != "this user cannot read it" {
		t.Errorf("%+v", src)
	}
	if err := l.copyFile(SourceOf(2), dir+"/unread"); err == nil || err.Error() != at(dir, `mounts[2].source: "$/unread": permission denied; name a readable file`) {
		t.Error(err)
	}
}

// TestClosed: a FIFO or a socket of another user's, which the payload can neither read nor write, is no channel.
func TestClosed(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, unix.Mkfifo(dir+"/p", 0o600))
	fd := must.Get(unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	uid := os.Geteuid() // the owner
	for name, c := range map[string]struct {
		mode     uint32
		change   func(h *Host, src *Source)
		optional []string
		want     bool
	}{
		"root, of a third user":         {0o600, func(*Host, *Source) {}, nil, true},
		"root, of the source's owner":   {0o600, func(_ *Host, src *Source) { src.UID = uid }, nil, false},
		"root, of the payload's user":   {0o600, func(h *Host, _ *Source) { h.PayloadUID = uid }, nil, false},
		"root, for others to write":     {0o602, func(*Host, *Source) {}, nil, false},
		"root, for others to read":      {0o604, func(*Host, *Source) {}, nil, false},
		"root, for a group":             {0o620, func(*Host, *Source) {}, nil, false},
		"root, for others to execute":   {0o611, func(*Host, *Source) {}, nil, true},
		"root without mappings":         {0o600, func(h *Host, _ *Source) { h.Missing["idmap"] = "no" }, nil, false},
		"root, mappings are optional":   {0o600, func(*Host, *Source) {}, []string{"idmap"}, false},
		"a user's own":                  {0o600, func(h *Host, _ *Source) { h.Drop = false }, nil, false},
		"a user's own, without a right": {0, func(h *Host, _ *Source) { h.Drop = false }, nil, false}, // it can take the right
	} {
		must.Do(t, os.Chmod(dir+"/p", os.FileMode(c.mode)))
		l := looks(t, &spec.Spec{Optional: c.optional})
		l.Drop, l.PayloadUID = true, uid+2
		src := &Source{UID: uid + 1}
		c.change(l.Host, src)
		if got := l.closed(l.spec, src, fd, "p"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	l := looks(t, &spec.Spec{})
	if l.closed(l.spec, &Source{}, fd, "gone") {
		t.Error("what has gone is closed")
	}
	if os.Geteuid() == 0 {
		return
	}
	l.UID = uid + 1 // the caller is another user than the owner, and lacks what the mode denies
	for mode, want := range map[uint32]bool{0: true, 0o400: false, 0o200: false} {
		must.Do(t, os.Chmod(dir+"/p", os.FileMode(mode)))
		if got := l.closed(l.spec, &Source{}, fd, "p"); got != want {
			t.Errorf("%o of another user: %v", mode, got)
		}
	}
}

// TestAlive: a socket that a process has counts in whatever state it is; what cannot be asked counts, too.
func TestAlive(t *testing.T) {
	dir := t.TempDir()
	listening := must.Get(net.Listen("unix", dir+"/listening"))(t)
	defer listening.Close()
	datagram := must.Get(net.ListenPacket("unixgram", dir+"/datagram"))(t)
	defer datagram.Close()
	dead(t, dir+"/dead")
	bound := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(bound)
	must.Do(t, unix.Bind(bound, &unix.SockaddrUnix{Name: dir + "/bound"}))
	grow(t, dir, "link -> dead")
	fd := must.Get(unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	for name, want := range map[string]bool{"listening": true, "datagram": true, "bound": true, "dead": false, "gone": false} {
		if got := alive(fd, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !alive(fd, strings.Repeat("n", unix.NAME_MAX+1)) {
		t.Error("what cannot be opened is dead")
	}
}

// TestBlockDevice: a limit is for a whole disk, which a path is on or names.
func TestBlockDevice(t *testing.T) {
	for path, want := range map[string]string{"/proc": "its file system has no block device of its own", "/dev/null": "is a character device", "/gone\n": "no such file or directory", "": "no such file or directory"} {
		if d, err := blockDevice(path); err == nil || err.Error() != want {
			t.Errorf("%q: %+v, %v, want %s", path, d, err, want)
		}
	}
	for _, class := range must.Get(filepath.Glob("/sys/class/block/*"))(t) {
		var st unix.Stat_t
		if node := "/dev/" + filepath.Base(class); unix.Stat(node, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK {
			disk := must.Get(filepath.EvalSymlinks(class))(t)
			if _, err := os.Stat(disk + "/partition"); err == nil {
				disk = filepath.Dir(disk)
			}
			d, err := blockDevice(node)
			if got := fmt.Sprintf("%d:%d", d.Major, d.Minor); err != nil || got != ReadText(disk+"/dev") {
				t.Errorf("%s: %s, %v; want %s", node, got, err, ReadText(disk+"/dev"))
			}
		}
	}
}

// TestLookGroups: groups are looked at only where something needs them, and a path of a limit is named in its error.
func TestLookGroups(t *testing.T) {
	var g Groups
	if must.Do(t, g.look(&spec.Spec{}, nil)); g.Cgroup != nil || WantsGroup(&spec.Spec{}) {
		t.Errorf("%+v", g)
	}
	for name, s := range map[string]spec.Spec{"processes": {Limits: spec.Limits{Processes: 5}}, "memory": {Limits: spec.Limits{Memory: 1 << 20}}, "a parent": {CgroupParent: "x"}} {
		if !WantsGroup(&s) {
			t.Errorf("%s wants no group", name)
		}
	}
	s := &spec.Spec{Limits: spec.Limits{IO: []spec.IOLimit{{Path: "/proc/a\nb"}, {Path: "/proc"}}}}
	if err := g.look(s, must.Get(sys.Mounts())(t)); err == nil || err.Error() != `limits.io[0]: "/proc/a\nb": no such file or directory; name a block device, or a file or directory on one` {
		t.Error(err)
	}
	s.Limits.IO = s.Limits.IO[1:]
	if err := g.look(s, must.Get(sys.Mounts())(t)); err == nil || err.Error() != `limits.io[0]: "/proc": its file system has no block device of its own; name a block device, or a file or directory on one` {
		t.Error(err)
	}
}
