package host

import (
	"strings"
	"testing"
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
}
