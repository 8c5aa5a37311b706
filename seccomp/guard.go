package seccomp

import "runtime"

// GuardTable is what stands beneath a profile that is not ours when a jail may write to a directory of the host: it
// allows everything but giving a file S_ISUID or S_ISGID. Such a file would keep its owner's rights on the host, where
// the jail's nosuid mount does not reach. (open(2) can make an empty file with them; a write takes them away, unless the
// writer has CAP_FSETID, which brig run gives up.)
func GuardTable() (*Table, error) {
	eperm := uint(1)
	p := &Profile{DefaultAction: "SCMP_ACT_ALLOW", ArchMap: Default().ArchMap}
	for _, bit := range []uint64{0o4000, 0o2000} {
		for index, names := range [][]string{1: {"chmod", "fchmod"}, 2: {"fchmodat", "fchmodat2"}} {
			if names == nil {
				continue
			}
			p.Syscalls = append(p.Syscalls, Syscall{Names: names, Action: "SCMP_ACT_ERRNO", ErrnoRet: &eperm,
				Args: []Arg{{Index: uint(index), Value: bit, ValueTwo: bit, Op: "SCMP_CMP_MASKED_EQ"}}})
		}
	}
	return p.Resolve(Target{Arch: runtime.GOARCH})
}
