package host

import (
	"os"
	"path/filepath"
	"strconv"

	"brig/internal/words"
	"brig/landlock"
	"brig/nsjail/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// lookTier reads what a jail without namespaces needs: its filter, the place for its own directory, and how many
// processes its user has.
func (h *looker) lookTier() error {
	s := h.spec
	if s.Tier != spec.TierProcess {
		return nil
	}
	dir, err := StoreDir()
	if err != nil {
		return err
	}
	h.Scratch = filepath.Join(dir, "N", "upper") // the keeper makes one instead of N: Prepared
	owns := !h.Drop || h.Owner != 0
	if h.Guard, err = seccomp.ProcessFilter(s.Net == spec.NetHost, owns); err != nil {
		return err
	}
	if spec.FileProfile(s.Seccomp) {
		h.Guard = seccomp.LeaveKills(h.Guard)
	}
	if owns {
		h.Tasks = tasks(h.PayloadUID)
	}
	if err := h.tierGit(); err != nil {
		return err
	}
	for i, m := range s.Mounts {
		if src := h.Sources.Of(i); m.Writable && src.Permits(h.PayloadUID, h.PayloadGID)&2 == 0 && h.Drop {
			return spec.CallerError(SourceOf(i).String(), words.Quote(m.Source)+" is not writable for uid "+
				strconv.Itoa(h.PayloadUID)+", as whom root's payload runs",
				"use a directory of an ordinary user, as whom the payload then runs, or one that everybody may write to")
		}
	}
	return nil
}

// OrTier returns the remedy of last resort where user namespaces are forbidden.
func OrTier() spec.Text {
	return "or run it without namespaces, which is weaker: " + words.Set("tier", spec.TierProcess) + " (the payload can " +
		"probe the host's file names and processes, and nothing in a writable directory is protected; brig help tier)"
}

// HasTier reports whether the kernel has what spec.TierProcess needs.
func (h *Machine) HasTier() bool { return h.Landlock >= landlock.ScopeABI }

// tasks counts the processes and threads of a user: proc(5). RLIMIT_NPROC counts them all.
func tasks(uid int) (n int64) {
	entries, _ := os.ReadDir("/proc") // none is seen where it is hidden, and the limit is lower than it could be
	for _, e := range entries {
		var st unix.Stat_t
		path := "/proc/" + e.Name() + "/task"
		if e.Name()[0] > '9' || unix.Stat(path, &st) != nil || int(st.Uid) != uid {
			continue
		}
		n += int64(max(st.Nlink, 3)) - 2 // a directory for each thread
	}
	return n
}
