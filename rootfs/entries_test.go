package rootfs

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/test/golden"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// calls are a program's system calls from an operation on, one a line.
func calls(p *program.Program, from int) string {
	var b strings.Builder
	for i := range p.Ops[from:] {
		o := &p.Ops[from+i]
		fmt.Fprintf(&b, "  %-12s %s\n", o.Label, o.Call())
	}
	return b.String()
}

// compare compares sections with a file of testdata.
func compare(t *testing.T, name string, sections map[string]string) {
	t.Helper()
	var names []string
	for n := range sections {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "-- %s --\n%s", n, sections[n])
	}
	golden.File(t, filepath.Join("testdata", name), b.String())
}

// one is an entry of each kind, at "t" or below.
func one() map[string]Entry {
	passed := source("/srv/p")
	passed.Passed, passed.FD = true, firstSlot
	file := source("/srv/f")
	file.Dir = false
	return map[string]Entry{
		"bind":            {Kind: Bind, Target: "t", Source: source("/srv/d"), Attr: nosuid | nodev},
		"bind-file":       {Kind: Bind, Target: "a/t", Source: file, Attr: rdonly},
		"bind-passed":     {Kind: Bind, Target: "t", Source: passed, Attr: rdonly},
		"bind-system":     {Kind: Bind, Target: "t", Source: Source{Path: "/dev/null"}},
		"bind-no-links":   {Kind: Bind, Target: "a/t", Source: source("/srv/d"), NoLinks: true},
		"overlay":         {Kind: Overlay, Target: "t", Source: source("/srv/d"), Attr: rdonly | nosuid | nodev},
		"overlay-mounted": {Kind: Overlay, Target: "t", Source: Source{Path: "/usr", Dir: true, Mounted: true}, Attr: rdonly},
		"cover":           {Kind: Cover, Source: Source{Path: "/usr", Dir: true}, Attr: rdonly},
		"cover-mounted":   {Kind: Cover, Source: Source{Path: "/usr", Dir: true, Mounted: true}, Attr: rdonly},
		"tmpfs":           {Kind: Tmpfs, Target: "t", Size: 4096, Inodes: 9, Mode: 0o1777, Attr: nosuid | nodev},
		"scratch":         {Kind: Scratch, Target: "a/t", Mode: 0o1777},
		"dir":             {Kind: Dir, Target: "a/b/t", Mode: 0o700},
		"symlink":         {Kind: Symlink, Target: "a/t", Text: "../x"},
		"file":            {Kind: File, Target: "a/t", Text: "text", Mode: 0o444},
		"copy":            {Kind: Copy, Target: "a/t", Source: Source{Path: "/etc/services"}, Size: 99, Mode: 0o444},
		"proc":            {Kind: Proc, Target: "t"},
		"devpts":          {Kind: Devpts, Target: "t", Inodes: 64},
		"mask":            {Kind: Mask, Target: "a/t"},
		"mask-dir":        {Kind: Mask, Target: "a/t", SourceIsDir: true},
		"sealed":          {Kind: Sealed, Target: "a/t"},
		"pin":             {Kind: Pin, Target: "a/t"},
		"points":          {Kind: Points, Target: "a/t", Names: []string{"b/c/", "b/d", "e"}, Attr: rdonly | nosuid},
		"held":            {Kind: Held, Target: "a/t", Attr: rdonly | nosuid},
	}
}

// unguarded reports whether entries of a kind come only before what others may have shaped.
func unguarded(k Kind) bool { return k == Proc || k == Mask || k == Sealed }

// TestEntries holds the system calls of each kind of entry: in a tree of brig's, in one that others may have shaped,
// and above a prepared tree.
func TestEntries(t *testing.T) {
	for file, guarded := range map[string]bool{"entries.txt": false, "entries-guarded.txt": true, "entries-over.txt": false} {
		sections := map[string]string{}
		for name, e := range one() {
			p := program.New(firstSlot + 1)
			tree := Begin(p, &Root{Size: 1 << 20, Inodes: 99, Over: file == "entries-over.txt"})
			from := len(p.Ops)
			if e.Guarded = guarded; guarded && unguarded(e.Kind) {
				continue
			}
			tree.Add([]Entry{e})
			sections[name] = calls(p, from)
		}
		compare(t, file, sections)
	}
}

// TestParts holds the system calls of everything that is not an entry.
func TestParts(t *testing.T) {
	part := func(f func(p *program.Program)) string {
		p := program.New(firstSlot + 1)
		f(p)
		return calls(p, 0)
	}
	root := func(r Root) Root {
		r.Size, r.Inodes = 1<<20, 99
		return r
	}
	s := source("/srv/d")
	compare(t, "parts.txt", map[string]string{
		"begin":      part(func(p *program.Program) { r := root(Root{}); Begin(p, &r) }),
		"begin-over": part(func(p *program.Program) { r := root(Root{Over: true}); Begin(p, &r) }),
		"begin-own": part(func(p *program.Program) {
			r := root(Root{Own: []Entry{{Kind: Bind, Label: "mounts[0]", Source: Source{Path: "/", Ino: 2, Dir: true, Root: true}}}})
			Begin(p, &r)
		}),
		"begin-later":  part(func(p *program.Program) { r := root(Root{Later: true}); Begin(p, &r) }),
		"enter-over":   part(func(p *program.Program) { r := root(Root{Over: true}); Begin(p, &r).Enter() }),
		"finish":       part(func(p *program.Program) { Finish(p) }),
		"proc-on":      part(func(p *program.Program) { ProcOn(p) }),
		"proc-over":    part(ProcOver),
		"procfs":       part(func(p *program.Program) { Procfs(p) }),
		"mount-tree":   part(func(p *program.Program) { MountTree(p, "mounts[0]", &s, rdonly|nosuid) }),
		"widen":        part(func(p *program.Program) { Widen(p, firstSlot) }),
		"volume-store": part(func(p *program.Program) { VolumeStore(p) }),
		"volume":       part(func(p *program.Program) { Volume(p, firstSlot, "v1", 4096, 9, []string{"a", "b"}) }),
		"volume-tree":  part(func(p *program.Program) { VolumeTree(p, firstSlot, "a", nosuid|nodev) }),
		"volume-drop":  part(func(p *program.Program) { DropVolume(p, firstSlot, "v1") }),
	})
}

// A tree that goes on in another program has what the first one has made, and leaves the first one as it was.
func TestOn(t *testing.T) {
	first := program.New(firstSlot + 1)
	tree := Begin(first, &Root{Size: 1 << 20, Inodes: 99, Watched: true})
	tree.Add([]Entry{{Kind: Dir, Target: "a", Mode: 0o755}})
	n := len(first.Ops)
	for range 2 {
		rest := first.Rest(1)
		more := tree.On(rest)
		more.Add([]Entry{{Kind: Dir, Target: "a/b", Mode: 0o755}, {Kind: Tmpfs, Target: "t", Size: 4096, Inodes: 9}})
		if text := calls(rest, 0); strings.Count(text, "mkdirat") != 2 || strings.Contains(text, `"a",`) {
			t.Errorf("the directory is made again, or its child is not:\n%s", text)
		}
		if len(more.Disks()) != 1 || len(tree.Disks()) != 0 {
			t.Errorf("disks %v, and %v of the first", more.Disks(), tree.Disks())
		}
	}
	if len(first.Ops) != n {
		t.Errorf("the first program has %d more operations", len(first.Ops)-n)
	}
}

// The caller's sources are cloned before a Cover hides what they name, each once.
func TestCoverTakesSourcesFirst(t *testing.T) {
	own := []Entry{{Kind: Bind, Label: "mounts[0]", Target: "w", Source: source("/usr/share")},
		{Kind: Bind, Label: "mounts[1]", Target: "x", Source: source("/srv/x"), Guarded: true}}
	p := program.New(firstSlot + 1)
	cover := []Entry{{Kind: Cover, Label: "usr", Source: Source{Path: "/usr", Dir: true}}}
	tree := Begin(p, &Root{Size: 1, Inodes: 1, Own: own, Entries: cover})
	tree.Add(cover)
	tree.Add(own)
	covered, opened := false, map[string]int{}
	for i := range p.Ops {
		o := &p.Ops[i]
		call := o.Call()
		covered = covered || o.NR == unix.SYS_MOVE_MOUNT && strings.Contains(call, `"/usr"`)
		if o.NR == unix.SYS_OPENAT && strings.HasPrefix(o.Label, "mounts[") {
			opened[o.Label]++
			if covered {
				t.Errorf("%s is opened below the cover", o.Label)
			}
		}
	}
	if !covered || len(opened) != 2 || opened["mounts[0]"] != 1 || opened["mounts[1]"] != 1 {
		t.Errorf("covered: %v, opened: %v", covered, opened)
	}
}

// Directories are made once, parents first, and none for what lies directly below the root.
func TestDirectoriesAreMadeOnce(t *testing.T) {
	p := program.New(firstSlot + 1)
	tree := Begin(p, &Root{Size: 1, Inodes: 1})
	from := len(p.Ops)
	tree.Add([]Entry{{Kind: Dir, Target: "a/b/c", Mode: 0o700}, {Kind: Dir, Target: "a/b", Mode: 0o700},
		{Kind: Symlink, Target: "a/d/link", Text: "x"}, {Kind: Symlink, Target: "top", Text: "x"}})
	var made []string
	for _, o := range p.Ops[from:] {
		if o.NR == unix.SYS_MKDIRAT {
			made = append(made, strings.Split(o.Call(), ", ")[1])
		}
	}
	if want := []string{`"a"`, `"a/b"`, `"a/b/c"`, `"a/d"`}; !slices.Equal(made, want) {
		t.Errorf("made %q, want %q", made, want)
	}
}

// Structs of system calls are printed with the flags that they have.
func TestShow(t *testing.T) {
	for attr, want := range map[uint64]string{0: "0", rdonly: "RDONLY", nosuid | nodev: "NOSUID|NODEV",
		rdonly | nosuid | nodev | noexec: "RDONLY|NOSUID|NODEV|NOEXEC"} {
		if got := attrString(attr); got != want {
			t.Errorf("%#x: %s, want %s", attr, got, want)
		}
	}
	for _, tt := range []struct {
		flags   uint64
		noLinks bool
		want    string
	}{
		{unix.O_PATH, false, "O_PATH, RESOLVE_IN_ROOT|RESOLVE_NO_MAGICLINKS"},
		{unix.O_PATH, true, "O_PATH, RESOLVE_IN_ROOT|RESOLVE_NO_MAGICLINKS|RESOLVE_NO_SYMLINKS"},
		{unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL, false, "O_CREAT|O_EXCL|O_WRONLY, RESOLVE_IN_ROOT|RESOLVE_NO_MAGICLINKS"},
		{unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC, false, "O_CREAT|O_WRONLY, RESOLVE_IN_ROOT|RESOLVE_NO_MAGICLINKS"},
		{unix.O_RDONLY, false, "O_RDONLY, RESOLVE_IN_ROOT|RESOLVE_NO_MAGICLINKS"},
	} {
		b := &inside{writer: writer{program.New(0), "l"}, noLinks: tt.noLinks}
		b.at("a", tt.flags, 0)
		if call := b.Ops[0].Call(); !strings.Contains(call, "{"+tt.want+"}") && !strings.Contains(call, tt.want) {
			t.Errorf("%s, want %s", call, tt.want)
		}
	}
}

// invented is a list of entries of any kind in any order; guarded from one of them on.
func invented(r *rand.Rand, guardedFrom int) (list []Entry) {
	kinds := one()
	var names []string
	for n := range kinds {
		if !strings.HasPrefix(n, "cover") && n != "bind-passed" { // a passed mount is passed once
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for i := range 1 + r.IntN(12) {
		e := kinds[names[r.IntN(len(names))]]
		if i >= guardedFrom && unguarded(e.Kind) {
			continue
		}
		e.Target = strings.Repeat("d/", r.IntN(3)) + string(rune('a'+i))
		e.Label = "system"
		if e.Guarded = i >= guardedFrom; e.Guarded {
			e.Label = fmt.Sprintf("mounts[%d]", i)
		}
		list = append(list, e)
	}
	return list
}

// The rules of the room hold for invented trees: slots are used between their opening and their closing, and no path
// below what others may have shaped is looked up plainly.
func TestInventedTrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 500 {
		guardedFrom := r.IntN(6)
		root := &Root{Size: 1 << 20, Inodes: 99, Later: true, Watched: true, Entries: invented(r, guardedFrom)}
		if n%3 == 0 {
			root.Entries = slices.Insert(root.Entries, min(guardedFrom, len(root.Entries)), Entry{Kind: ImageTree, Label: "image"})
			root.Image = &Image{Source: source("/srv/image"), Overlay: n%2 == 0, Writable: n%4 == 0}
		}
		p := build(root)
		must.Get(p.Encode(program.Request{Cgroup: -1}))(t)
		open := map[string]bool{}
		for s := range program.Slot(firstSlot + 1) {
			open[s.Arg().String()] = true
		}
		for i := range p.Ops {
			o := &p.Ops[i]
			for _, a := range o.Args {
				if text := a.String(); strings.HasPrefix(text, "$") && !open[text] {
					t.Fatalf("tree %d, operation %d uses a closed slot: %s\n%s", n, i+1, o.Call(), p)
				} else if o.NR == unix.SYS_CLOSE {
					delete(open, text)
				}
			}
			if o.Save >= 0 {
				open[o.Save.Arg().String()] = true
			}
			if strings.HasPrefix(o.Label, "mounts[") {
				checkLookup(t, fmt.Sprint("tree ", n), o)
			}
		}
		if t.Failed() {
			t.Fatalf("%s", p)
		}
	}
}

// The root is sealed last, after the host's tree is gone, and only where the payload may not write to it.
func TestSeal(t *testing.T) {
	for name, r := range roots() {
		p := build(r)
		at := func(nr uintptr, part string) int {
			return slices.IndexFunc(p.Ops, func(o program.Op) bool { return o.NR == uint32(nr) && strings.Contains(o.Call(), part) })
		}
		pivot, gone, sealed := at(unix.SYS_PIVOT_ROOT, putOld), at(unix.SYS_UMOUNT2, putOld), at(unix.SYS_MOUNT_SETATTR, `AT_FDCWD, "/"`)
		writable := r.Image != nil && r.Image.Writable
		if pivot < 0 || gone < pivot || writable != (sealed < 0) || !writable && sealed < gone {
			t.Errorf("%s: pivot_root is operation %d, umount2 %d, the seal %d", name, pivot, gone, sealed)
		}
	}
}

// The host's mounts are made private before anything is mounted, except where there are none.
func TestBeginIsPrivate(t *testing.T) {
	for _, over := range []bool{false, true} {
		p := program.New(firstSlot + 1)
		Begin(p, &Root{Size: 1, Inodes: 1, Over: over})
		private := strings.Contains(p.Ops[0].Call(), "MS_REC|MS_PRIVATE")
		if private == over {
			t.Errorf("over a prepared tree: %v; the first operation is %s", over, p.Ops[0].Call())
		}
	}
}

// shown builds a tree with entries and returns the calls for them.
func shown(r Root, entries ...Entry) string {
	r.Size, r.Inodes = 1<<20, 99
	p := program.New(firstSlot + 1)
	tree := Begin(p, &r)
	from := len(p.Ops)
	tree.Add(entries)
	return calls(p, from)
}

// The masks of procfs lie below it before it moves to an image, where a link such as "proc -> ." may lead it elsewhere:
// nothing in procfs is looked up in the image.
func TestMasksMoveWithProcfs(t *testing.T) {
	text := shown(Root{Image: &Image{Source: source("/i"), Overlay: true, Carried: []string{"proc"}}},
		Entry{Kind: Proc, Label: "proc", Target: "proc"}, Entry{Kind: Mask, Label: "mask", Target: "proc/keys"}, Entry{Kind: ImageTree, Label: "image"})
	mask, moved := strings.Index(text, `mount("/dev/null", "proc/keys"`), strings.Index(text, `"proc", $`)
	if mask < 0 || moved < mask || strings.Contains(text[moved:], "proc/") || strings.Contains(text, "mknodat") {
		t.Errorf("the mask is made at %d, procfs moves at %d:\n%s", mask, moved, text)
	}
}

// The first mask of a kind has the attributes, and the others are binds of it.
func TestMasksAreCopied(t *testing.T) {
	text := shown(Root{}, Entry{Kind: Mask, Target: "a"}, Entry{Kind: Mask, Target: "b"}, Entry{Kind: Mask, Target: "d", SourceIsDir: true},
		Entry{Kind: Mask, Target: "e", SourceIsDir: true})
	for part, want := range map[string]int{`mount("/dev/null", "a"`: 1, `mount("a", "b"`: 1, `mount("var/empty", "d"`: 1, `mount("d", "e"`: 1,
		"mount_setattr": 2, "RDONLY|NOSUID|NOEXEC}": 1, "RDONLY|NOSUID|NODEV|NOEXEC}": 1} {
		if n := strings.Count(text, part); n != want {
			t.Errorf("%d times %s, want %d, in\n%s", n, part, want, text)
		}
	}
}

// Attributes hold for a source's submounts too, and a source without attributes is cloned with those that it has.
func TestAttributesAreRecursive(t *testing.T) {
	for _, tt := range []struct {
		attr uint64
		want string
	}{
		{rdonly | nosuid, `"", AT_EMPTY_PATH|AT_RECURSIVE, {attr_set=RDONLY|NOSUID}, 32)`},
		{nodev, `"", AT_EMPTY_PATH|AT_RECURSIVE, {attr_set=NODEV}, 32)`},
		{0, ""},
	} {
		text := shown(Root{}, Entry{Kind: Bind, Target: "t", Source: source("/srv/d"), Attr: tt.attr})
		if n := strings.Count(text, "mount_setattr"); n != min(len(tt.want), 1) || !strings.Contains(text, tt.want) {
			t.Errorf("%#x: %d times, want %q, in\n%s", tt.attr, n, tt.want, text)
		}
		if !strings.Contains(text, "OPEN_TREE_CLONE|OPEN_TREE_CLOEXEC|AT_RECURSIVE") {
			t.Errorf("submounts are left out:\n%s", text)
		}
	}
}

// The bytes of the structs that the kernel reads: open_how and mount_attr are three and four words.
func TestStructs(t *testing.T) {
	ne := binary.NativeEndian
	for _, tt := range []struct {
		name  string
		add   func(b *inside)
		blob  int // where the struct begins: after the header, the operation and the strings
		words []uint64
	}{
		{"open_how", func(b *inside) { b.at("a", unix.O_WRONLY|unix.O_CREAT, 0o640) }, 48 + 64 + 8,
			[]uint64{unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC, 0o640, unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}},
		{"open_how without links", func(b *inside) { b.noLinks = true; b.at("a", unix.O_PATH, 0) }, 48 + 64 + 8,
			[]uint64{unix.O_PATH | unix.O_CLOEXEC, 0, unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS}},
		{"mount_attr", func(b *inside) { b.setattr(program.CWD(), "a", rdonly|noexec, 0) }, 48 + 64 + 8,
			[]uint64{unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC, 0, 0, 0}},
	} {
		b := &inside{writer: writer{program.New(0), "l"}}
		tt.add(b)
		blob := must.Get(b.Encode(program.Request{Cgroup: -1}))(t)
		for i, want := range tt.words {
			if got := ne.Uint64(blob[tt.blob+8*i:]); got != want {
				t.Errorf("%s: word %d is %#x, want %#x", tt.name, i, got, want)
			}
		}
	}
}

// A mount by mount(2) has the flags that its text names.
func TestMountFlags(t *testing.T) {
	for attr, want := range map[uint64]string{0: `"proc", 0, "max=3,newinstance")`, rdonly | nodev: `"proc", MS_RDONLY|MS_NODEV, "max=3,newinstance")`,
		nosuid | noexec: `"proc", MS_NOSUID|MS_NOEXEC, "max=3,newinstance")`} {
		b := &inside{writer: writer{program.New(0), "l"}}
		b.mountAt("proc", "t", attr, [2]string{"max", "3"}, [2]string{"newinstance", ""})
		if call := b.Ops[0].Call(); call != `mount("none", "t", `+want {
			t.Errorf("%#x: %s, want %s", attr, call, want)
		}
	}
	if got, want := fmt.Sprint(tmpfsOptions(4096, 9, 0o1777)), "[[size 4096] [nr_inodes 9] [mode 1777]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Every operation has the label of its entry, by which a failure names the caller's mount.
func TestLabels(t *testing.T) {
	for name, e := range one() {
		e.Label = "mounts[7]"
		for i, line := range strings.Split(strings.TrimSpace(shown(Root{}, e)), "\n") {
			if fields := strings.Fields(line); fields[0] != "mounts[7]" {
				t.Errorf("%s: operation %d is labelled %s: %s", name, i+1, fields[0], line)
			}
		}
		e.Label = ""
		if text := shown(Root{}, e); !strings.HasPrefix(text, "  rootfs ") {
			t.Errorf("%s: an entry without a label:\n%s", name, text)
		}
	}
}

// What holds for one entry and what for all after it: a lookup without links is one entry's, a guarded tree stays so.
func TestGuardsOfEntries(t *testing.T) {
	dir := func(target string, guarded, noLinks bool) Entry {
		return Entry{Kind: Dir, Label: target, Target: target + "/d/e", Mode: 0o700, Guarded: guarded, NoLinks: noLinks}
	}
	text := shown(Root{}, dir("a", false, false), dir("b", true, false), dir("c", false, true), dir("d", false, false))
	for label, want := range map[string][2]int{"a": {0, 0}, "b": {2, 0}, "c": {2, 2}, "d": {2, 0}} {
		lookups, strict := 0, 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "  "+label+" ") && strings.Contains(line, "RESOLVE_IN_ROOT") {
				lookups++
				strict += strings.Count(line, "RESOLVE_NO_SYMLINKS")
			}
		}
		if got := [2]int{lookups, strict}; got != want {
			t.Errorf("%s: %d guarded lookups, %d without links, want %v\n%s", label, got[0], got[1], want, text)
		}
	}
}

// An image's root is looked up from its own descriptor, and the overlay's upper layer lies in the staging tmpfs beside
// it.
func TestImageStage(t *testing.T) {
	for _, tt := range []struct {
		image Image
		want  []string
		not   string
	}{
		{Image{Source: source("/i")}, []string{`"lower", 0755`, `same_file(`, "{attr_set=RDONLY|NOSUID|NODEV}"}, `"upper"`},
		{Image{Source: source("/i"), Overlay: true}, []string{`"upper", 0755`, `"work", 0755`, `same_file(`,
			"lowerdir=lower,upperdir=upper,workdir=work,userxattr", "MS_NOSUID|MS_NODEV"}, "no such call"},
	} {
		p := program.New(firstSlot + 1)
		Begin(p, &Root{Size: 1 << 20, Inodes: 99, Image: &tt.image}).Add([]Entry{{Kind: ImageTree}})
		text := calls(p, 0)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
		if strings.Contains(text, tt.not) || p.Ops[len(p.Ops)-1].NR != unix.SYS_FCHDIR {
			t.Errorf("%s, or the working directory is not the image's root:\n%s", tt.not, text)
		}
	}
}

// A volume is attached to the store by one name, with its directories in it, and detached by the same name.
func TestVolumeNames(t *testing.T) {
	p := program.New(firstSlot + 1)
	Volume(p, firstSlot, "v1", 4096, 9, []string{"a"})
	DropVolume(p, firstSlot, "v1")
	var order []string
	for i := range p.Ops {
		call := p.Ops[i].Call()
		for _, part := range []string{`mkdirat($7, "a"`, `mkdirat($5, "v1", 0700)`, `move_mount($7, "", $5, "v1"`, "fchdir($5)",
			`umount2("v1", MNT_DETACH|UMOUNT_NOFOLLOW)`, `unlinkat($5, "v1", AT_REMOVEDIR)`} {
			if strings.Contains(call, part) {
				order = append(order, part)
			}
		}
	}
	if len(order) != 6 || !strings.HasPrefix(order[0], "mkdirat") || !strings.HasPrefix(order[5], "unlinkat") {
		t.Errorf("%q in\n%s", order, calls(p, 0))
	}
}
