package workspace

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// archive makes a tar archive. A header's Size is that of the text, unless it is set.
func archive(t testing.TB, list ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range list {
		h := &list[i]
		text := h.PAXRecords["BRIG.text"]
		delete(h.PAXRecords, "BRIG.text")
		if h.Typeflag == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(text))
		}
		must.Do(t, w.WriteHeader(h))
		if h.Typeflag == tar.TypeReg {
			_, err := io.WriteString(w, text)
			must.Do(t, err)
		}
	}
	must.Do(t, w.Close())
	return &b
}

func text(name, content string, mode int64) tar.Header {
	return tar.Header{Name: name, Mode: mode, PAXRecords: map[string]string{"BRIG.text": content}}
}

func of(kind byte, name, link string) tar.Header {
	return tar.Header{Typeflag: kind, Name: name, Linkname: link, Mode: 0o755}
}

// listing reads an archive.
func listing(t testing.TB, r io.Reader) (lines []string) {
	t.Helper()
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return lines
		}
		must.Do(t, err)
		content, err := io.ReadAll(tr)
		must.Do(t, err)
		lines = append(lines, fmt.Sprintf("%c %o %s %s%s", h.Typeflag, h.Mode, h.Name, h.Linkname, content))
	}
}

// TestTree: what is put as an archive is got as one, with its permissions and links, and without set-user-ID bits.
func TestTree(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		in := archive(t, of(tar.TypeDir, "./", ""), text("./b/tool", "#!/bin/sh\n", 0o6755), text("a", "one", 0o640),
			of(tar.TypeDir, "empty", ""), of(tar.TypeSymlink, "b/link", "../../etc/passwd"), of(tar.TypeLink, "hard", "a"),
			text("b/\xff\nname", "odd", 0o600), text("a", "two", 0o600), of(tar.TypeLink, "hard", "b/tool"),
			of(tar.TypeLink, "hard", "hard"))
		stats, err := tree.PutTree("/work/x", in, TreeBounds{})
		must.Do(t, err)
		if stats.Files != 10 || stats.Bytes != 19 {
			t.Errorf("%+v", stats)
		}
		var out bytes.Buffer
		stats, err = tree.GetTree("/work/x", &out, 1<<20)
		must.Do(t, err)
		want := []string{"0 600 a two", "5 755 b/ ", "2 777 b/link ../../etc/passwd", "0 755 b/tool #!/bin/sh\n",
			"0 600 b/\xff\nname odd", "5 755 empty/ ", "0 755 hard #!/bin/sh\n"}
		if got := listing(t, &out); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) || stats.Files != 7 {
			t.Errorf("%q %+v", got, stats)
		}
		onlyAreas(t, at)
		if _, err := tree.GetTree("/work/x", &out, 10); err == nil {
			t.Error("more bytes than asked for")
		}
		_, err = tree.PutTree("/input", archive(t, text("x", "", 0o644)), TreeBounds{})
		must.Do(t, err)
		_, err = tree.GetTree("/", &out, 10)
		wantCode(t, "the root", err, CodeBadPath)
	})
}

// TestHostileArchives: an archive writes nothing outside of its directory, and nothing but files, directories and links.
func TestHostileArchives(t *testing.T) {
	v, around := newDir(t)
	tree := newTree(v)
	must.Do(t, os.WriteFile(around+"/outside", []byte("kept"), 0o644))
	must.Do(t, os.Symlink("../../../outside", around+"/volume/work/planted"))
	for name, c := range map[string]struct {
		list []tar.Header
		code string
	}{
		"absolute":              {[]tar.Header{text("/etc/passwd", "x", 0o644)}, CodeBadPath},
		"above":                 {[]tar.Header{text("../outside", "x", 0o644)}, CodeBadPath},
		"above, later":          {[]tar.Header{text("a/../../outside", "x", 0o644)}, CodeBadPath},
		"no name":               {[]tar.Header{text(".", "x", 0o644)}, CodeBadPath},
		"a long name":           {[]tar.Header{text(strings.Repeat("a", 300), "x", 0o644)}, CodeBadPath},
		"a long path":           {[]tar.Header{text(strings.Repeat("a/", 2500)+"a", "x", 0o644)}, CodeBadPath},
		"by a link of its own":  {[]tar.Header{of(tar.TypeSymlink, "l", "../../.."), text("l/outside", "x", 0o644)}, CodeSymlink},
		"a directory by a link": {[]tar.Header{of(tar.TypeSymlink, "m", ".."), of(tar.TypeDir, "m/new", "")}, CodeSymlink},
		"a directory on a link": {[]tar.Header{of(tar.TypeSymlink, "n", ".."), of(tar.TypeDir, "n", "")}, CodeSymlink},
		"a link on a directory": {[]tar.Header{of(tar.TypeDir, "d", ""), of(tar.TypeSymlink, "d", "..")}, CodeIsDir},
		"a hard link above":     {[]tar.Header{of(tar.TypeLink, "h", "../outside")}, CodeBadPath},
		"absolute hard link":    {[]tar.Header{of(tar.TypeLink, "h", "/etc/passwd")}, CodeBadPath},
		"a hard link by a link": {[]tar.Header{of(tar.TypeSymlink, "o", "../.."), of(tar.TypeLink, "h", "o/outside")}, CodeSymlink},
		"hard link to nothing":  {[]tar.Header{of(tar.TypeLink, "h", "none")}, CodeNotFound},
		"a hard link to a dir":  {[]tar.Header{of(tar.TypeDir, "e", ""), of(tar.TypeLink, "h", "e")}, CodePermission},
		"a device":              {[]tar.Header{of(tar.TypeChar, "null", "")}, CodeNotRegular},
		"a disk":                {[]tar.Header{of(tar.TypeBlock, "sda", "")}, CodeNotRegular},
		"a FIFO":                {[]tar.Header{of(tar.TypeFifo, "pipe", "")}, CodeNotRegular},
		"too many":              {[]tar.Header{text("1", "", 0o644), text("2", "", 0o644), text("3", "", 0o644), text("4", "", 0o644)}, CodeTooLarge},
		"too large":             {[]tar.Header{text("1", strings.Repeat("x", 101), 0o644)}, CodeTooLarge},
		"too large together":    {[]tar.Header{text("1", strings.Repeat("x", 90), 0o644), text("2", strings.Repeat("x", 90), 0o644)}, CodeTooLarge},
	} {
		_, err := tree.PutTree("/work", archive(t, c.list...), TreeBounds{Files: 3, Bytes: 150, FileSize: 100})
		wantCode(t, name, err, c.code)
	}
	_, err := tree.PutTree("/work", archive(t, text("planted", "new", 0o644)), TreeBounds{})
	must.Do(t, err)
	whole := archive(t, text("cut", strings.Repeat("x", 5000), 0o644)).Bytes()
	for _, n := range []int{1, 100, 512, 600, 5000} {
		_, err := tree.PutTree("/work", bytes.NewReader(whole[:n]), TreeBounds{})
		wantCode(t, fmt.Sprint(n, " bytes of an archive"), err, CodeBadTree)
	}
	_, err = tree.PutTree("/work", strings.NewReader(strings.Repeat("no archive", 1000)), TreeBounds{})
	wantCode(t, "no archive", err, CodeBadTree)
	if b, err := os.ReadFile(around + "/outside"); string(b) != "kept" {
		t.Errorf("%q %v", b, err)
	}
	list, err := filepath.Glob(around + "/*")
	if err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	onlyAreas(t, around+"/volume")
}

// TestArchiveBomb: a file of an archive that is mostly holes, and files without end, meet the quota and leave nothing
// under a temporary name.
func TestArchiveBomb(t *testing.T) {
	v := newReal(t, 1<<20, 64)
	tree := newTree(v)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must.Do(t, w.WriteHeader(&tar.Header{Name: "big", Typeflag: tar.TypeReg, Size: 1 << 40}))
	_, err := tree.PutTree("/work", io.MultiReader(&b, zeros{}), TreeBounds{})
	wantCode(t, "a file of 1 TiB", err, CodeDiskFull)
	var many []tar.Header
	for i := range 100 {
		many = append(many, text(fmt.Sprint(i), "", 0o644))
	}
	_, err = tree.PutTree("/work", archive(t, many...), TreeBounds{})
	wantCode(t, "more files than inodes", err, CodeDiskFull)
	names, err := v.Root().Readdirnames(-1)
	must.Do(t, err)
	if len(names) != len(areas) {
		t.Error(names)
	}
	root := int(v.Root().Fd())
	fd, err := unix.Openat(root, "work/0", unix.O_WRONLY, 0)
	must.Do(t, err)
	must.Do(t, unix.Ftruncate(fd, 1<<40))
	unix.Close(fd)
	_, err = tree.GetTree("/work", io.Discard, 1<<30)
	wantCode(t, "a sparse file of 1 TiB", err, CodeTooLarge)
}

func FuzzPutTree(f *testing.F) {
	f.Add(archive(f, text("a/b", "x", 0o755), of(tar.TypeSymlink, "l", ".."), of(tar.TypeLink, "h", "a/b")).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		v, around := newDir(t)
		_, err := newTree(v).PutTree("/work", bytes.NewReader(data), TreeBounds{Files: 50, Bytes: 1 << 16})
		_ = err
		onlyAreas(t, around+"/volume")
		if list, err := filepath.Glob(around + "/*"); err != nil || len(list) != 1 {
			t.Error(list, err)
		}
	})
}

// The texts of links count like names, in lists and in archives, which are held in memory.
func TestListLinks(t *testing.T) {
	tree := newTree(newReal(t, 128<<20, 20_000))
	dir, err := tree.open(place{names: []string{"work"}}, unix.O_PATH)
	must.Do(t, err)
	defer unix.Close(dir)
	text := strings.Repeat("t", 4000)
	for i := range maxTreeNames/len(text) + 1 {
		must.Do(t, unix.Symlinkat(text, dir, itoa(i)))
	}
	list, more, err := tree.List("/work", false, "", 0)
	if most := maxListBytes/len(text) + 1; err != nil || !more || len(list) > most || len(list) < most/2 {
		t.Errorf("%d entries, %v, %v", len(list), more, err)
	}
	_, err = tree.GetTree("/work", io.Discard, 1<<30)
	wantCode(t, "an archive of links", err, CodeTooLarge)
}
