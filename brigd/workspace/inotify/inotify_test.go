package inotify

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// raw is an event as the kernel writes it.
func raw(watch int32, mask, cookie uint32, name string, pad int) (b []byte) {
	b = binary.NativeEndian.AppendUint32(b, uint32(watch))
	b = binary.NativeEndian.AppendUint32(b, mask)
	b = binary.NativeEndian.AppendUint32(b, cookie)
	b = binary.NativeEndian.AppendUint32(b, uint32(len(name)+pad))
	return append(append(b, name...), make([]byte, pad)...)
}

func TestParse(t *testing.T) {
	a, b, c := raw(1, unix.IN_CREATE, 0, "a\nb", 5), raw(-1, unix.IN_Q_OVERFLOW, 0, "", 0), raw(7, unix.IN_MOVED_TO, 9, "\xff", 1)
	all := slices.Concat(a, b, c)
	want := []Raw{{1, unix.IN_CREATE, 0, "a\nb"}, {-1, unix.IN_Q_OVERFLOW, 0, ""}, {7, unix.IN_MOVED_TO, 9, "\xff"}}
	if got := Parse(all); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	for n := range all { // a part is less, and no panic
		if got := Parse(all[:n]); len(got) > 2 || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%d bytes: %+v", n, got)
		}
	}
	bad := raw(1, unix.IN_CREATE, 0, "", 0)
	binary.NativeEndian.PutUint32(bad[12:], 1<<31)
	if got := Parse(bad); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// What the kernel tells of a rename is read as its two halves.
func TestKernel(t *testing.T) {
	dir := t.TempDir()
	fd := must.Get(unix.InotifyInit1(unix.IN_CLOEXEC))(t)
	defer unix.Close(fd)
	id := must.Get(unix.InotifyAddWatch(fd, dir, Mask))(t)
	must.Do(t, os.WriteFile(dir+"/a", nil, 0o600))
	must.Do(t, os.Rename(dir+"/a", dir+"/b"))
	buf := make([]byte, 4096)
	n := must.Get(unix.Read(fd, buf))(t)
	list := Parse(buf[:n])
	if len(list) != 3 || list[0].Name != "a" || !list[0].Is(unix.IN_CREATE) || list[2].Name != "b" || list[2].Watch != id {
		t.Errorf("%+v", list)
	}
	if got := Partners(list); !maps.Equal(got, map[int]int{1: 2}) {
		t.Errorf("%v", got)
	}
}

func TestPartners(t *testing.T) {
	from, to := func(c uint32) Raw { return Raw{1, unix.IN_MOVED_FROM, c, "f"} }, func(c uint32) Raw {
		return Raw{1, unix.IN_MOVED_TO, c, "t"}
	}
	for _, c := range []struct {
		list []Raw
		want map[int]int
	}{
		{[]Raw{from(1), to(1)}, map[int]int{0: 1}},
		{[]Raw{from(1), from(2), to(1), to(2)}, map[int]int{0: 2, 1: 3}},
		{[]Raw{to(1), from(1)}, map[int]int{}},
		{[]Raw{from(1), to(2)}, map[int]int{}},
		{[]Raw{from(1), to(1), to(1)}, map[int]int{0: 1}},
		{nil, map[int]int{}},
	} {
		if got := Partners(c.list); !maps.Equal(got, c.want) {
			t.Errorf("%+v: %v", c.list, got)
		}
	}
}

func TestPaths(t *testing.T) {
	start := Paths{1: "/work", 2: "/work/a", 3: "/work/a/b", 4: "/work/ab", 5: "/work/a/b/c"}
	for _, c := range []struct {
		do   func(p Paths) []int
		gone []int
		left string
	}{
		{func(p Paths) []int { return p.Drop("/work/a") }, []int{2, 3, 5}, "map[1:/work 4:/work/ab]"},
		{func(p Paths) []int { return p.Drop("/work/none") }, nil, fmt.Sprint(start)},
		{func(p Paths) []int { return p.Drop("/") }, []int{1, 2, 3, 4, 5}, "map[]"},
		{func(p Paths) []int { return p.Move("/work/a", "/x", 100) }, nil, "map[1:/work 2:/x 3:/x/b 4:/work/ab 5:/x/b/c]"},
		{func(p Paths) []int { return p.Move("/work/a", "/work/a/b", 100) }, nil, // which the kernel would not do
			"map[1:/work 2:/work/a/b 3:/work/a/b/b 4:/work/ab 5:/work/a/b/b/c]"},
		{func(p Paths) []int { return p.Move("/work/a", "/long", 7) }, []int{3, 5}, "map[1:/work 2:/long 4:/work/ab]"},
	} {
		p := maps.Clone(start)
		gone := c.do(p)
		slices.Sort(gone)
		if !slices.Equal(gone, c.gone) || fmt.Sprint(p) != c.left {
			t.Errorf("%v are gone, %v are left; want %v and %s", gone, p, c.gone, c.left)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(raw(1, unix.IN_CREATE, 0, "a", 3))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, r := range Parse(text) {
			if len(r.Name) > len(text) || slices.Contains([]byte(r.Name), 0) {
				t.Errorf("%+v", r)
			}
		}
		Partners(Parse(text))
	})
}
