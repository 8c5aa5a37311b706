package rootfs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/test/golden"

	"golang.org/x/sys/unix"
)

const firstSlot = 5 // descriptors 0 to 4 are the program, the report socket and the standard streams; 5 is passed

// source is a directory of the caller: it has an inode number, which the jail must check.
func source(path string) Source {
	return Source{Path: path, Dev: 0x801, Ino: 42, Dir: true}
}

func skeleton() []Entry {
	return []Entry{
		{Kind: Overlay, Target: "usr", Source: Source{Path: "/usr", Dir: true}, Attr: rdonly | nosuid | nodev},
		{Kind: Symlink, Target: "bin", Text: "usr/bin"},
		{Kind: File, Label: "etc", Target: "etc/passwd", Text: "root:x:0:0\n", Mode: 0o444},
		{Kind: Copy, Label: "etc", Target: "etc/services", Source: Source{Path: "/etc/services"}, Size: 1 << 20, Mode: 0o444},
		{Kind: Tmpfs, Label: "dev", Target: "dev", Size: 65536, Inodes: 64, Mode: 0o755, Attr: nosuid},
		{Kind: Bind, Label: "dev", Target: "dev/null", Source: Source{Path: "/dev/null"}, Attr: nosuid | noexec},
		{Kind: Devpts, Label: "dev", Target: "dev/pts", Inodes: 64},
		{Kind: Proc, Label: "proc", Target: "proc"},
		{Kind: Mask, Label: "proc", Target: "proc/kcore"},
		{Kind: Mask, Label: "proc", Target: "proc/acpi", SourceIsDir: true},
		{Kind: Sealed, Label: "proc", Target: "proc/sys"},
		{Kind: Dir, Target: "home/a", Mode: 0o700},
	}
}

// mounts are one of each kind below a directory that others may have shaped.
func mounts() []Entry {
	passed := source("/srv/out")
	passed.Passed, passed.FD = true, firstSlot
	file := source("/srv/cfg")
	file.Dir = false
	return []Entry{
		{Kind: Bind, Label: "mounts[0]", Target: "w", Source: source("/srv/w"), Attr: nosuid | nodev, Guarded: true},
		{Kind: Bind, Label: "mounts[1]", Target: "w/a/b", Source: passed, Attr: nosuid},
		{Kind: Bind, Label: "mounts[2]", Target: "w/cfg", Source: file, Attr: rdonly},
		{Kind: Overlay, Label: "mounts[3]", Target: "w/in", Source: source("/srv/in"), Attr: rdonly | nosuid | nodev},
		{Kind: Tmpfs, Label: "mounts[4]", Target: "w/tmp", Size: 4096, Inodes: 9, Mode: 0o1777, Attr: nosuid | nodev},
		{Kind: Dir, Label: "mounts[5]", Target: "w/d/e/f", Mode: 0o755},
		{Kind: Symlink, Label: "mounts[6]", Target: "w/l/link", Text: "../x"},
		{Kind: File, Label: "mounts[7]", Target: "w/f/file", Text: "text", Mode: 0o444},
		{Kind: Symlink, Label: "mounts[8]", Target: "top", Text: "/etc"},
		{Kind: Dir, Label: "mounts[9]", Target: "new", Mode: 0o755},
	}
}

func roots() map[string]*Root {
	image := func(overlay, writable bool) *Image {
		return &Image{Source: source("/srv/image"), Overlay: overlay, Writable: writable, Carried: []string{"dev", "proc"}}
	}
	complete := image(true, false)
	complete.Complete = true
	tops := image(false, false)
	tops.Tops = []Top{{Name: "bin", Link: "usr/bin"}, {Name: "init"}, {Name: "usr", Dir: true}}
	noUsr := skeleton()[1:]
	inImage := append(slices.Clone(skeleton()[4:11]), Entry{Kind: ImageTree, Label: "image"},
		Entry{Kind: File, Label: "etc", Target: "etc/hosts", Text: "127.0.0.1 localhost\n", Mode: 0o444},
		Entry{Kind: Scratch, Target: "tmp", Mode: 0o1777})
	return map[string]*Root{
		"minimal":        {Size: 1 << 24, Inodes: 4096, Entries: skeleton()},
		"mounts":         {Size: 1 << 24, Inodes: 4096, Entries: append(skeleton()[:4], mounts()...)},
		"image-overlay":  {Size: 1 << 30, Inodes: 1 << 20, Image: image(true, false), Entries: append(slices.Clone(inImage), mounts()...)},
		"image-complete": {Size: 1 << 30, Inodes: 1 << 20, Image: complete, Entries: inImage},
		"image-writable": {Size: 1 << 30, Inodes: 1 << 20, Image: image(true, true), Entries: inImage},
		"image-plain":    {Size: 1 << 30, Inodes: 1 << 20, Image: image(false, false), Entries: inImage},
		"image-tops":     {Size: 1 << 30, Inodes: 1 << 20, Image: tops, Entries: append(slices.Clone(inImage), mounts()...)},
		"no-overlay":     {Size: 1 << 24, Inodes: 4096, Entries: append(noUsr, mounts()...)},
	}
}

func whole(p *program.Program, r *Root) [][]string {
	tree := Begin(p, r)
	tree.Add(r.Entries)
	tree.Enter()
	tree.Seal()
	return tree.Disks()
}

func build(r *Root) *program.Program {
	p := program.New(firstSlot + 1)
	r.Watched = true
	whole(p, r)
	return p
}

func TestGolden(t *testing.T) {
	for name, r := range roots() {
		golden.File(t, filepath.Join("testdata", name+".txt"), build(r).String())
	}
}

// TestNoPlainPathBelowAnImage checks the rule that keeps mount points inside the root: once the tree holds what others
// may have shaped, a path of it is looked up by openat2(2) with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS, and every
// other call gets the descriptor, with no path or with one name that it does not follow.
func TestNoPlainPathBelowAnImage(t *testing.T) {
	for name, r := range roots() {
		p := build(r)
		if _, err := p.Encode(program.Request{Cgroup: -1}); err != nil {
			t.Fatal(name, err)
		}
		guarded := false
		for i := range p.Ops {
			o := &p.Ops[i]
			guarded = guarded || o.Label == "image" || strings.HasPrefix(o.Label, "mounts[")
			if guarded && o.Label != "pivot" && o.Label != "image" {
				checkLookup(t, name, o)
			}
		}
	}
}

func checkLookup(t *testing.T, name string, o *program.Op) {
	t.Helper()
	call := o.Call()
	if strings.Contains(call, `".points-`) {
		return // in the staging tmpfs
	}
	args := strings.Split(call[strings.IndexByte(call, '(')+1:], ", ")
	at := map[uint32]int{unix.SYS_MKDIRAT: 0, unix.SYS_MKNODAT: 0, unix.SYS_SYMLINKAT: 1}
	// the staging tmpfs holds these for as long as it takes to mount them; nobody else can make a name there
	ours := len(args) > 1 && (args[1] == `".file"` || strings.HasPrefix(args[1], `"scratch-`))
	switch k, isName := at[o.NR]; {
	case ours && (o.NR == unix.SYS_OPENAT && strings.Contains(call, "O_CREAT|O_EXCL") || o.NR == unix.SYS_OPEN_TREE || o.NR == unix.SYS_UNLINKAT):
	case isName:
		if p := args[k+1]; args[k] == "AT_FDCWD" || strings.Contains(p, "/") || p == `""` || p == `".."` {
			t.Errorf("%s: %s: %s takes a path", name, o.Label, call)
		}
	case o.NR == unix.SYS_OPENAT2:
		if !strings.Contains(call, "RESOLVE_IN_ROOT|RESOLVE_NO_MAGICLINKS") {
			t.Errorf("%s: %s: %s is not confined", name, o.Label, call)
		}
	case o.NR == unix.SYS_MOVE_MOUNT && args[3] == `""`: // of a detached mount, or of one in the staging tmpfs
		if args[1] != `""` && strings.Contains(args[1], "/") {
			t.Errorf("%s: %s: %s attaches by a path", name, o.Label, call)
		}
	case o.NR == unix.SYS_OPEN_TREE || o.NR == unix.SYS_OPENAT: // a source of the host, by its absolute path
		if args[0] == "AT_FDCWD" != strings.HasPrefix(args[1], `"/`) || args[0] != "AT_FDCWD" && args[1] != `""` {
			t.Errorf("%s: %s: %s names a path of the jail", name, o.Label, call)
		}
	case o.NR == unix.SYS_MOUNT_SETATTR:
		if args[1] != `""` {
			t.Errorf("%s: %s: %s takes a path", name, o.Label, call)
		}
	case strings.Contains("close dup3 write sendfile fsopen fsconfig fsmount fchdir same_file", strings.SplitN(call, "(", 2)[0]):
	default:
		t.Errorf("%s: %s: the test does not know %s", name, o.Label, call)
	}
}

// TestSourcesAreChecked: every file of the caller is passed as a mount, or opened and compared before it is cloned. An
// entry of a clone's is no link, and has one name.
func TestSourcesAreChecked(t *testing.T) {
	for name, r := range roots() {
		checked := map[string]bool{} // slots that same_file has compared
		for _, line := range strings.Split(build(r).String(), "\n") {
			_, call, _ := strings.Cut(strings.TrimSpace(line), "  ")
			switch {
			case strings.Contains(call, "same_file("):
				slot := call[strings.Index(call, "same_file(")+len("same_file("):]
				checked[slot[:strings.IndexByte(slot, ',')]] = true
			case strings.Contains(call, `openat(AT_FDCWD, "/srv`):
				delete(checked, call[strings.LastIndexByte(call, '$'):])
			case strings.Contains(call, `open_tree(AT_FDCWD, "/srv`):
				t.Errorf("%s: %s clones the caller's path without a look", name, call)
			case strings.Contains(call, `open_tree($`) && strings.Contains(call, "AT_RECURSIVE|AT_SYMLINK_NOFOLLOW"):
				if name := strings.Split(call, `"`)[1]; strings.Contains(name, "/") {
					t.Errorf("%s: %s clones a path", name, call)
				}
			case strings.Contains(call, `open_tree($`) && strings.Contains(call, "AT_RECURSIVE"):
				slot := call[strings.Index(call, "open_tree(")+len("open_tree("):]
				if slot = slot[:strings.IndexByte(slot, ',')]; !checked[slot] {
					t.Errorf("%s: %s clones %s, which nothing has compared", name, call, slot)
				}
				delete(checked, slot)
			}
		}
	}
}

// The second lower layer of the overlays must be a directory of our own, never one below a mount of the caller.
func TestEmptyLayerIsOurs(t *testing.T) {
	r := &Root{Size: 1 << 24, Inodes: 99, Entries: []Entry{
		{Kind: Bind, Label: "mounts[0]", Target: "var", Source: source("/srv/v"), Guarded: true},
		{Kind: Overlay, Label: "mounts[1]", Target: "in", Source: source("/srv/in"), Attr: rdonly}}}
	bound := false
	for i, o := range build(r).Ops {
		call := o.Call()
		bound = bound || o.NR == unix.SYS_MOVE_MOUNT && o.Label == "mounts[0]"
		if bound && strings.Contains(call, `"empty"`) || bound && strings.Contains(call, "var/empty") {
			t.Errorf("operation %d makes the empty layer in the caller's /var: %s", i+1, call)
		}
	}
}

// Slots are used between their opening and their closing only, and nothing is closed twice.
func TestSlotDiscipline(t *testing.T) {
	for name, r := range roots() {
		p := build(r)
		open := map[program.Slot]bool{}
		for s := range program.Slot(firstSlot + 1) {
			open[s] = true
		}
		for i := range p.Ops {
			o := &p.Ops[i]
			for _, a := range o.Args {
				for s := range program.Slot(32) {
					if a.String() == s.Arg().String() && !open[s] {
						t.Errorf("%s: operation %d uses %s, which is closed: %s", name, i+1, s.Arg(), o.Call())
					}
					if a.String() == s.Arg().String() && o.NR == unix.SYS_CLOSE {
						open[s] = false
					}
				}
			}
			if o.Save >= 0 {
				if open[o.Save] || o.Trial {
					t.Errorf("%s: operation %d overwrites $%d or may leave it as it was: %s", name, i+1, o.Save, o.Call())
				}
				open[o.Save] = true
			}
		}
		for s := range program.Slot(32) {
			if open[s] && s > firstSlot {
				t.Errorf("%s: $%d stays open", name, s)
			}
		}
	}
}

// What stays open for init are the tmpfs mounts that the payload can fill, at most MaxDisks, and only if somebody
// looks.
func TestDisks(t *testing.T) {
	tmpfs := func(target string) Entry { return Entry{Kind: Tmpfs, Target: target, Size: 4096, Inodes: 9} }
	scratch := []Entry{{Kind: Scratch, Target: "tmp"}, tmpfs("t"), {Kind: Scratch, Target: "work"}}
	var many []Entry
	for _, n := range strings.Split("abcdefghijkl", "") {
		many = append(many, tmpfs(n))
	}
	writable := &Image{Source: source("/srv/image"), Overlay: true, Writable: true}
	for name, test := range map[string]struct {
		r    Root
		want string
	}{
		"nothing":        {Root{Watched: true}, "[]"},
		"nobody looks":   {Root{Entries: scratch}, "[]"},
		"scratch, tmpfs": {Root{Watched: true, Entries: scratch}, "[[/tmp /work] [/t]]"},
		"writable root":  {Root{Watched: true, Image: writable, Entries: scratch}, "[[/ /tmp /work] [/t]]"},
		"too many":       {Root{Watched: true, Entries: many}, "[[/a] [/b] [/c] [/d] [/e] [/f] [/g] [/h]]"},
	} {
		p := program.New(firstSlot + 1)
		got := whole(p, &test.r)
		kept := 0
		for i := range p.Ops {
			if o := &p.Ops[i]; o.NR == unix.SYS_DUP3 && strings.Contains(o.Call(), ", "+strconv.Itoa(FirstDisk+kept)+", O_CLOEXEC") {
				kept++
			}
		}
		if fmt.Sprint(got) != test.want || kept != len(got) {
			t.Errorf("%s: %v, %d kept, want %s", name, got, kept, test.want)
		}
	}
}
