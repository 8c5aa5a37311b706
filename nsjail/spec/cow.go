package spec

import (
	"cmp"
	"iter"
)

// StoreDisk is the Mount.Store of a cow mount whose changes are kept on disk instead of in memory.
const StoreDisk = "disk"

// storeAny is that of a root whose changes are kept: on disk only if they cannot be kept in memory.
const storeAny = "memory, or disk"

// Root is the index of the root in COWs.
const Root = -1

// COWs yields the directories of the host of which the payload changes a copy: a writable root, as if it were a cow
// mount with the index Root, and the cow mounts with theirs.
func (s *Spec) COWs() iter.Seq2[int, Mount] {
	return func(yield func(int, Mount) bool) {
		if s.Rootfs.Writable && s.Rootfs.Path != "" && !yield(Root, s.COW(Root)) {
			return
		}
		for i := range s.Mounts {
			if s.Mounts[i].Type == MountCOW && !yield(i, s.COW(i)) {
				return
			}
		}
	}
}

// COW returns one of COWs, with its Size and Inodes set.
func (s *Spec) COW(i int) Mount {
	if i != Root {
		m := s.Mounts[i]
		m.Size, m.Inodes = cmp.Or(m.Size, DefaultCOWSize), cmp.Or(m.Inodes, DefaultCOWInodes)
		return m
	}
	r := &s.Rootfs
	m := Mount{Type: MountCOW, Source: r.Path, Target: "/", Size: cmp.Or(r.Size, DefaultRootSize),
		Inodes: cmp.Or(r.Inodes, DefaultRootInodes), Store: r.Store}
	if r.Keep {
		m.Store = cmp.Or(r.Store, storeAny)
	}
	return m
}

// MayUseDisk reports whether changes are kept on disk, or would be on an old kernel.
func (s *Spec) MayUseDisk() bool {
	for _, m := range s.COWs() {
		if m.MayUseDisk() {
			return true
		}
	}
	return false
}

// MayUseDisk reports whether the changes of a mount of COWs are kept on disk, or would be on an old kernel.
func (m *Mount) MayUseDisk() bool { return m.Store == StoreDisk || m.Store == storeAny }
