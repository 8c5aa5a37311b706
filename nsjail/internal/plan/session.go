package plan

import (
	"slices"
	"strconv"

	"brig/internal/program"
	"brig/nsjail/internal/ops"

	"golang.org/x/sys/unix"
)

// session is which sessions the jail's processes begin, and with whom they end.
type session struct {
	endsWithLauncher bool // the kernel kills the first process when the launcher has died
	own              bool // the first process begins a session
	mayKeepKeyring   bool // an outer filter may refuse a session keyring
	endsWithInit     bool // the kernel kills the payload when init has died, and it inherits no umask
	group            bool // the payload begins a process group in init's session instead of a session
}

func decideSession(in *input, out *report) session {
	tier := in.Tier != ""
	s := session{
		endsWithLauncher: in.mode.Forked && !tier, // without a pid namespace init has to end the others first
		// in a prepared root init stays in the launcher's session, which has no terminal, and the payload starts a new one
		own:            in.mode.Root == nil || in.NoInit,
		mayKeepKeyring: slices.Contains(in.Optional, "keyring"),
		endsWithInit:   tier,
		group:          in.mode.Terminal > 0,
	}
	out.enforced["keyring"] = "new session keyring"
	if s.mayKeepKeyring {
		out.enforced["keyring"] = "new session keyring if permitted (optional)"
	}
	return s
}

// begin leaves the caller's session and its keyrings.
func (s *session) begin(p *program.Program) {
	if s.endsWithLauncher {
		ops.ParentDeath(p, "session")
	}
	if s.own {
		p.Add("session", unix.SYS_SETSID)
	}
	op := ops.JoinKeyring(p, "session")
	if s.mayKeepKeyring { // an outer filter may refuse keyctl(2), or the kernel may lack it
		op.May(unix.EPERM, unix.ENOSYS)
	}
}

// beginPayload starts a session for the payload, or a process group where it has a terminal in the caller's place.
func (s *session) beginPayload(p *program.Program) {
	if s.endsWithInit {
		ops.Umask(p)
		ops.ParentDeath(p, "session")
	}
	if s.group { // job control needs a group in the session of init, which is its parent
		p.Add("session", unix.SYS_SETPGID, program.Int(0), program.Int(0))
		return
	}
	p.Add("session", unix.SYS_SETSID)
}

// jailOOMScore makes the OOM killer choose a process of a jail before any other on the machine, and of these the
// largest: proc(5) oom_score_adj. With a lower value, memory of a jail that counts for no process (tmpfs, socket
// buffers) could make the kernel kill a process of the host.
const jailOOMScore = 1000

// oomScore makes the OOM killer prefer the jail to its keeper, which must outlive it. The process no longer shares its
// memory: otherwise the kernel would have to look at every process of the machine.
func oomScore(p *program.Program, proc program.Slot) {
	ops.WriteSelf(p, proc, "oom_score_adj", strconv.Itoa(jailOOMScore))
}
