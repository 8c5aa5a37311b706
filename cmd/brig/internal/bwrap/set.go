package bwrap

import (
	"strconv"
	"strings"

	"brig/nsjail/steps"
)

// set returns what an option without an argument does.
func set(field func(*Options) *bool) func(*parser, []string) error {
	return func(p *parser, _ []string) error { *field(p.o) = true; return nil }
}

// text returns what an option does of which only the last counts.
func text(field func(*Options) *string) func(*parser, []string) error {
	return func(p *parser, v []string) error {
		p.once()
		*field(p.o) = v[0]
		return nil
	}
}

func fd(field func(*Options) *int) func(*parser, []string) error {
	return func(p *parser, v []string) (err error) {
		p.once()
		*field(p.o), err = number(v[0])
		return err
	}
}

func id(what string, field func(*Options) *int) func(*parser, []string) error {
	return func(p *parser, v []string) error {
		p.once()
		n, err := strconv.ParseInt(v[0], 10, 32)
		if err != nil || n < 0 {
			return failf("Invalid %s: %s", what, v[0])
		}
		*field(p.o) = int(n)
		return nil
	}
}

func bind(kind Kind, try bool) func(*parser, []string) error {
	return func(p *parser, v []string) error {
		p.step(Step{Kind: kind, Source: v[0], Target: v[1], Try: try, FD: NoFD})
		return nil
	}
}

// target returns what an option with a target does; mode, if not 0, is the mode without --perms.
func target(kind Kind, mode uint32) func(*parser, []string) error {
	return func(p *parser, v []string) error {
		s := Step{Kind: kind, Target: v[0], FD: NoFD, Perms: p.mode(mode)}
		if kind == steps.Tmpfs {
			s.Size, p.bytes = p.bytes, 0
		}
		p.step(s)
		return nil
	}
}

func withFD(kind Kind, mode uint32) func(*parser, []string) error {
	return func(p *parser, v []string) error {
		n, err := number(v[0])
		p.step(Step{Kind: kind, FD: n, Target: v[1], Perms: p.mode(mode)})
		return err
	}
}

// mode uses --perms for an option that takes it.
func (p *parser) mode(otherwise uint32) uint32 {
	if otherwise == 0 || p.next < 0 {
		return otherwise
	}
	mode := uint32(p.next)
	p.next = -1
	return mode
}

// number parses a descriptor.
func number(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return NoFD, failf("Invalid fd: %s", s)
	}
	return int(n), nil
}

func octal(word, s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o7777 {
		return 0, failf("%s takes an octal argument <= 07777", word)
	}
	return uint32(n), nil
}

// capabilityNames are the capabilities in the order of their numbers: capabilities(7), linux/capability.h.
const capabilityNames = "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable " +
	"net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace " +
	"sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease audit_write audit_control " +
	"setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore"

// capability returns what --cap-add or --cap-drop does: a name of cap_from_name(3), a number, or ALL.
func capability(add bool) func(*parser, []string) error {
	return func(p *parser, v []string) error {
		op := CapOp{Add: add}
		name := strings.ToLower(v[0])
		if n, err := strconv.ParseUint(name, 10, 8); err == nil && n < 64 {
			op.Set = 1 << n
		}
		if name == "all" {
			op.Set = ^uint64(0)
		}
		for i, known := range strings.Fields(capabilityNames) {
			if name == "cap_"+known {
				op.Set = 1 << i
			}
		}
		if op.Set == 0 {
			return failf("unknown cap: %s", v[0])
		}
		p.o.Caps = append(p.o.Caps, op)
		return nil
	}
}
