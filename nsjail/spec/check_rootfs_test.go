package spec

import "testing"

func TestCheckRootfs(t *testing.T) {
	for want, r := range map[string]Rootfs{
		`rootfs.path: "a\x00" has a NUL byte...`:                                             {Path: "a\x00"},
		`rootfs.writable: there is no rootfs to write to; name a directory as its path`:      {Writable: true},
		`rootfs.size: -1 is negative; write a size, as in 1g`:                                {Path: "x", Size: -1, Writable: true},
		`rootfs.size: a read-only rootfs holds nothing; make it writable or remove the size`: {Path: "x", Size: 1},
		`rootfs.inodes: -1 is not between 1 and 1048576...`:                                  {Path: "x", Inodes: -1, Writable: true},
		`rootfs.inodes: 1048577 is not between 1 and 1048576...`:                             {Path: "x", Inodes: 1<<20 + 1, Writable: true},
		`rootfs.inodes: a read-only rootfs holds nothing...`:                                 {Path: "x", Inodes: 1},
	} {
		wantProblem(t, func(s *Spec) { s.Rootfs = r }, want)
	}
	wantProblem(t, func(s *Spec) { s.Scratch = -1 }, "scratch: -1 has no room for the jail's own files; write 1m or more")
	wantProblem(t, func(s *Spec) { s.Scratch, s.Rootfs = 1<<20, Rootfs{Path: "x", Writable: true} },
		"scratch: a writable root in memory holds /tmp and the like, too; write the size of both as rootfs.size...")
}
