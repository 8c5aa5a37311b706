package spec

import (
	"strconv"
	"strings"
	"testing"
)

func TestCheckMounts(t *testing.T) {
	bind := func(target string) Mount { return Mount{Type: MountBind, Source: "src", Target: target} }
	tests := map[string]struct {
		mount Mount
		want  string
	}{
		"relative":       {bind("work"), `mounts[0].target: "work" is not absolute; write "/work"`},
		"unclean":        {bind("/work/../etc"), `mounts[0].target: "/work/../etc" is not a clean path; write "/etc"`},
		"slash at end":   {bind("/work/"), `mounts[0].target: "/work/" is not a clean path; write "/work"`},
		"empty target":   {bind(""), `mounts[0].target: is empty; write an absolute path, as in "/data"`},
		"root":           {bind("/"), `mounts[0].target: "/" is the root itself; use rootfs, or a target below /`},
		"proc":           {bind("/proc"), `mounts[0].target: "/proc" is reserved: the jail makes its own /proc; choose another target`},
		"below dev":      {bind("/dev/kvm"), `mounts[0].target: "/dev/kvm" is reserved: the jail makes its own /dev; choose another target`},
		"bind shm":       {bind("/dev/shm"), `mounts[0].target: "/dev/shm" is reserved...`},
		"sys":            {bind("/sys/fs"), `mounts[0].target: "/sys/fs" is reserved...`},
		"latin1":         {bind("/\xe9"), `mounts[0].target: "/\xe9" is not UTF-8; write it in UTF-8`},
		"NUL":            {bind("/\x00"), `mounts[0].target: "/\x00" has a NUL byte at offset 1...`},
		"long":           {bind("/" + strings.Repeat("a/", 2048) + "a"), `mounts[0].target: "/a/a...`},
		"long name":      {bind("/" + strings.Repeat("a", 256)), `mounts[0].target: "aaa...`},
		"no source":      {Mount{Type: MountBind, Target: "/a"}, `mounts[0].source: is empty; name a path of the host`},
		"no text":        {Mount{Type: MountSymlink, Target: "/a"}, `mounts[0].source: is empty; write the text of the symlink`},
		"source NUL":     {Mount{Type: MountFile, Source: "a\x00", Target: "/a"}, `mounts[0].source: "a\x00" has a NUL byte...`},
		"source long":    {Mount{Type: MountFile, Source: strings.Repeat("a", 4096), Target: "/a"}, `mounts[0].source: "aaa...`},
		"source tmpfs":   {Mount{Type: MountTmpfs, Source: "a", Target: "/a"}, `mounts[0].source: "a": a tmpfs has no source; remove it`},
		"type":           {Mount{Type: "bnd", Target: "/a"}, `mounts[0].type: "bnd" is not a type of mount; did you mean bind?`},
		"no type":        {Mount{Target: "/a"}, `mounts[0].type: is empty; write one of bind, tmpfs, dir, symlink, file, data, volume, cow`},
		"writable dir":   {Mount{Type: MountDir, Target: "/a", Writable: true}, `mounts[0].writable: it is only for a bind or a volume; remove it`},
		"live dir":       {Mount{Type: MountDir, Target: "/a", Live: true}, `mounts[0].live: it is only for a read-only bind; remove it`},
		"live writable":  {Mount{Type: MountBind, Source: "a", Target: "/a", Live: true, Writable: true}, `mounts[0].live: it is only...`},
		"noexec dir":     {Mount{Type: MountDir, Target: "/a", NoExec: true}, `mounts[0].no_exec: it is only for a bind, a tmpfs or a volume; remove it`},
		"mode":           {Mount{Type: MountDir, Target: "/a", Mode: "9"}, `mounts[0].mode: "9" is not a mode; write up to 1777 in octal digits, as in 755`},
		"setuid mode":    {Mount{Type: MountDir, Target: "/a", Mode: "4755"}, `mounts[0].mode: "4755" is not a mode...`},
		"mode of bind":   {Mount{Type: MountBind, Source: "a", Target: "/a", Mode: "755"}, `mounts[0].mode: it is only for a tmpfs, a dir, a file or a data; remove it`},
		"size of dir":    {Mount{Type: MountDir, Target: "/a", Size: 1}, `mounts[0].size: it is only for a tmpfs or a cow; remove it`},
		"negative size":  {Mount{Type: MountTmpfs, Target: "/a", Size: -1}, `mounts[0].size: -1 is negative; write a positive number`},
		"data source":    {Mount{Type: MountData, Source: "a", Target: "/a"}, `mounts[0].source: "a": a data has no source; remove it`},
		"bind content":   {Mount{Type: MountBind, Source: "a", Target: "/a", Content: "c"}, `mounts[0].content: it is only for a data; remove it`},
		"volume":         {Mount{Type: MountVolume, Source: "v1", Target: "/a"}, `mounts[0].source: "v1" does not name a directory of a volume...`},
		"volume up":      {Mount{Type: MountVolume, Source: "v1/..", Target: "/a"}, `mounts[0].source: "v1/.." does not name a directory of a volume...`},
		"volume deep":    {Mount{Type: MountVolume, Source: "v1/a/b", Target: "/a"}, `mounts[0].source: "v1/a/b" does not name a directory of a volume...`},
		"negative inode": {Mount{Type: MountTmpfs, Target: "/a", Inodes: -1}, `mounts[0].inodes: -1 is negative; write a positive number`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, func(s *Spec) { s.Mounts = []Mount{tt.mount} }, tt.want)
		})
	}
}

func TestCheckOverlappingMounts(t *testing.T) {
	over := func(targets ...string) func(*Spec) {
		return func(s *Spec) {
			s.Mounts = nil
			for _, target := range targets {
				s.Mounts = append(s.Mounts, Mount{Type: MountTmpfs, Target: target})
			}
		}
	}
	wantProblem(t, over("/a", "/b", "/a"), `mounts[2].target: "/a" is already the target of mounts[0]; remove one of the two`)
	wantProblem(t, over("/a/b", "/a"), `mounts[1].target: "/a" would hide "/a/b" of mounts[0]; put it before that one`)
	s := good()
	over("/a", "/a/b", "/ab", "/b")(s)
	if p := s.Check(); len(p) != 0 {
		t.Error(p)
	}
}

func TestCheckOfManyMountsIsOneProblem(t *testing.T) {
	s := &Spec{Args: []string{"id"}}
	for i := range 10000 {
		s.Mounts = append(s.Mounts, Mount{Type: MountDir, Target: "/d" + strconv.Itoa(i)})
	}
	if p := s.Check(); len(p) != 1 || p[0].Error() != "mounts: 10000 is more than 128; bind a common parent directory instead" {
		t.Error(p)
	}
	s.Mounts = s.Mounts[:128]
	if p := s.Check(); len(p) != 0 {
		t.Error(p)
	}
}
