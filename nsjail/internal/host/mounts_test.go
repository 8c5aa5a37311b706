package host

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// lines is a mount table of lines "ID PARENT DEV ROOT POINT OPTIONS - TYPE SOURCE SUPER".
func lines(list ...string) table { return table(strings.Join(list, "\n") + "\n") }

const (
	rootLine = "20 1 8:1 / / rw - ext4 /dev/sda1 rw"
	procLine = "21 20 0:5 / /proc rw,nosuid - proc proc rw"
)

// A new procfs needs one that is complete in the caller's mount namespace.
func TestNoProc(t *testing.T) {
	const root = "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
	tests := []struct{ name, mounts, want string }{
		{"plain", string(lines(rootLine, procLine)), ""},
		{"binfmt_misc, as systemd mounts it", root + "22 27 0:21 / /proc rw - proc proc rw\n30 22 0:30 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n31 30 0:31 / /proc/sys/fs/binfmt_misc rw - binfmt_misc b rw\n", ""},
		{"masked", root + "22 27 0:21 / /proc rw - proc proc rw\n30 22 0:5 /null /proc/kcore rw - tmpfs t rw\n", "masked"},
		{"masked, and complete elsewhere", root + "22 27 0:21 / /proc rw - proc proc rw\n30 22 0:5 /null /proc/kcore rw - tmpfs t rw\n40 27 0:40 / /mnt rw - proc proc rw\n", ""},
		{"covered by a second procfs", root + "22 27 0:21 / /proc rw - proc proc rw\n30 22 0:21 / /proc rw - proc proc rw\n", ""},
		{"a mask by the second procfs's mount", root + "22 27 0:21 / /proc rw - proc proc rw\n30 22 0:21 / /proc rw - proc proc rw\n33 30 0:5 / /proc/acpi ro - tmpfs t rw\n", "masked"},
		{"read-only mount", root + "22 27 0:21 / /proc ro,nosuid - proc proc rw\n", "read-only"},
		{"read-only super block", root + "22 27 0:21 / /proc rw - proc proc ro\n30 22 0:5 / /proc/scsi ro - tmpfs t rw\n", "read-only"},
		{"a part of procfs only", root + "22 27 0:21 /sys /proc rw - proc proc rw\n", "not mounted"},
		{"none", root, "not mounted"},
		{"a hostile name", root + "22 27 0:21 / /proc rw - proc proc rw\n30 22 0:5 / /proc/\x1b[31m rw - tmpfs t rw\n", `\x1b`},
		{"broken lines", "x\n - proc\n1 2 3 - proc", "not mounted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := NoProc([]byte(tt.mounts))
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRemoteMounts(t *testing.T) {
	mounts := lines(rootLine, procLine, "30 20 0:9 / /nfs rw - nfs4 server:/x rw", "31 20 0:10 / /home/a\\040b rw - fuse.sshfs a: rw", "32 20 0:11 / /tmp rw - tmpfs tmpfs rw",
		"33 1 0:12 / / rw - nfs root rw", "34 21 0:13 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw", "35 20 8:2 / /fuseblk rw - ext4 /dev/sdb rw")
	var points []string
	for _, m := range remoteMounts(mounts) {
		points = append(points, m.point())
	}
	if got := strings.Join(points, " "); got != "/nfs /home/a b" {
		t.Errorf("%q", got)
	}
	if list := remoteMounts(lines(rootLine, procLine)); list != nil {
		t.Errorf("on the usual machine: %+v", list)
	}
}

func TestTableBelow(t *testing.T) {
	mounts := lines(rootLine, procLine, "30 20 8:2 / /usr/local rw - ext4 /dev/sdb rw")
	for dir, want := range map[string]bool{"/usr": true, "/usr/": true, "/": true, "/usr/local": false, "/us": false, "/etc": false} {
		if got := mounts.below(dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}

func TestOverlays(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		o   overlays
		dir string
		why string
	}{
		"a file system with mounts below": {overlays{table: lines(rootLine, "30 20 8:2 / "+dir+"/x rw - ext4 /dev/sdb rw")}, dir, "there are mounts below"},
		"no overlays at all":              {overlays{missing: "none here"}, dir, "none here"},
		"no directory":                    {overlays{}, dir + "/nowhere", "statfs: "},
		"procfs":                          {overlays{}, "/proc", "file system type 0x9fa0 of /proc is not known"},
	} {
		if why := c.o.no(c.dir); !strings.HasPrefix(why, c.why) {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
	}
}

func TestParseMounts(t *testing.T) {
	list := ParseMounts(lines(rootLine, procLine, "a line that is cut - proc"), " - proc ")
	if len(list) != 1 || list[0].Point != "/proc" || list[0].Fstype != "proc" || list[0].readOnly || list[0].parent != "20" {
		t.Errorf("%+v", list)
	}
	for name, c := range map[string]struct {
		line string
		want MountLine
	}{
		"optional fields":     {"9 8 0:4 /r /p rw,relatime shared:1 master:2 propagate_from:3 - tmpfs none rw,size=1k", MountLine{"9", "8", "0:4", "/r", "/p", "tmpfs", false}},
		"none":                {"9 8 0:4 / /p rw - tmpfs none rw", MountLine{"9", "8", "0:4", "/", "/p", "tmpfs", false}},
		"a read-only mount":   {"9 8 0:4 / /p noexec,ro,nosuid - tmpfs none rw", MountLine{"9", "8", "0:4", "/", "/p", "tmpfs", true}},
		"a read-only device":  {"9 8 0:4 / /p rw - squashfs /dev/loop0 errors=continue,ro", MountLine{"9", "8", "0:4", "/", "/p", "squashfs", true}},
		"options like ro":     {"9 8 0:4 / /p rw,errors=remount-ro - ext4 x rw,grow", MountLine{"9", "8", "0:4", "/", "/p", "ext4", false}},
		"escapes":             {`9 8 0:4 /a\040b /c\012d\134e rw - fuse.s\040x a\040b rw`, MountLine{"9", "8", "0:4", `/a\040b`, `/c\012d\134e`, `fuse.s\040x`, false}},
		"no source":           {"9 8 0:4 / /p rw - tmpfs", MountLine{"9", "8", "0:4", "/", "/p", "tmpfs", false}},
		"a separator in none": {"9 8 0:4 / /p rw - overlay a - b ro", MountLine{"9", "8", "0:4", "/", "/p", "overlay", false}},
		"too few fields":      {"9 8 - tmpfs x rw", MountLine{"9", "8", "", "", "", "tmpfs", false}},
	} {
		got := ParseMounts([]byte(c.line), " - ")
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	m := MountLine{Point: `/a\040b\011c\012d\134e`}
	if m.point() != "/a b\tc\nd\\e" {
		t.Errorf("%q", m.point())
	}
}

// FuzzParseMounts: whatever a mount table has, the lines with a text are found, and those of other machines among them.
func FuzzParseMounts(f *testing.F) {
	for _, seed := range []string{string(lines(rootLine, procLine)), "", "\n\n - \n", "x - proc - fuse", "30 20 0:9 / /nfs rw - nfs4 server:/x rw", " - proc\n - proc", "1 1 0:1 / /proc\\040 ro - proc p ro"} {
		f.Add([]byte(seed), " - proc ")
		f.Add([]byte(seed), " - ")
	}
	f.Fuzz(func(t *testing.T, text []byte, has string) {
		if has == "" || strings.Contains(has, "\n") {
			return
		}
		want := 0
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.Contains(line, has) && strings.Contains(line, " - ") {
				want++
			}
		}
		if got := ParseMounts(text, has); len(got) != want {
			t.Errorf("%q: %d lines with %q, want %d", text, len(got), has, want)
		}
		if why := NoProc(text); strings.ContainsAny(why, "\n\x1b") {
			t.Errorf("%q", why)
		}
		for _, m := range remoteMounts(text) {
			if m.Point == "/" || !isRemote([]byte(m.Fstype)) {
				t.Errorf("%q: %+v", text, m)
			}
		}
		table(text).below("/x")
	})
}

// TestIsRemote: another process or machine answers for these; for the others the kernel does.
func TestIsRemote(t *testing.T) {
	for fstype, want := range map[string]bool{"fuse": true, "fuse.sshfs": true, "fuseblk": true, "nfs": true, "nfs4": true, "9p": true, "autofs": true, "virtiofs": true,
		"nfsd": false, "ext4": false, "overlay": false, "tmpfs": false, "fusectl": false, "": false, "fuse\\040x": false, "xfs.fuse": false} {
		if isRemote([]byte(fstype)) != want {
			t.Errorf("%q: %v", fstype, !want)
		}
	}
}

// TestNeedProc: a machine without /proc is told so; other errors stay as they are.
func TestNeedProc(t *testing.T) {
	for err, want := range map[error]string{
		&os.PathError{Op: "open", Path: "/proc/self/uid_map", Err: unix.ENOENT}: `proc: "/proc/self/uid_map" does not exist, so /proc is not mounted; run mount -t proc proc /proc`,
		&os.PathError{Op: "open", Path: "/proc/self/uid_map", Err: unix.EACCES}: "open /proc/self/uid_map: permission denied",
		&os.PathError{Op: "open", Path: "/process/self", Err: unix.ENOENT}:      "open /process/self: no such file or directory",
		fmt.Errorf("x: %w", &os.PathError{Path: "/proc/\n", Err: unix.ENOENT}):  `proc: "/proc/\n" does not exist, so /proc is not mounted; run mount -t proc proc /proc`,
		unix.ENOENT: "no such file or directory",
	} {
		if got := NeedProc(err); got.Error() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if NeedProc(nil) != nil {
		t.Error("no error is one")
	}
}

// TestLayers: which file systems can be lower layers; an overlay itself cannot, as they stack only twice.
func TestLayers(t *testing.T) {
	for magic, want := range map[int64]bool{unix.EXT4_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, 0x2fc12fc1: true,
		unix.OVERLAYFS_SUPER_MAGIC: false, unix.NFS_SUPER_MAGIC: false, unix.PROC_SUPER_MAGIC: false, 0: false, unix.FUSE_SUPER_MAGIC: false} {
		if layers(magic) != want {
			t.Errorf("%#x: %v", magic, !want)
		}
	}
}
