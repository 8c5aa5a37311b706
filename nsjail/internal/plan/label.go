package plan

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// execLabel is how the payload's process chooses the label of the program that it will execute: proc_pid_attr(5).
type execLabel struct {
	mechanism string
	file      string // the attribute, in /proc/thread-self/attr
	write     string // what is written to it
	read      string // what must be read from it then
}

// decideLabels decides which labels the payload gets.
func (r *resolver) decideLabels() {
	add := func(l execLabel, by string) {
		missing := r.Host.Missing[l.mechanism]
		if missing == "" && r.Host.Missing["proc"] != "" {
			missing = "the jail has no /proc, in which a process chooses its label"
		}
		if r.require(l.mechanism, by, missing, "") {
			r.labels = append(r.labels, l)
		}
	}
	if name := r.Spec.AppArmor; name != "" {
		verb := "exec "
		if r.Host.Confined { // with no_new_privs the kernel only adds to the profiles that confine a process
			verb = "stack "
		}
		add(execLabel{"apparmor", "apparmor/exec", verb + name, name + " (enforce)\n"},
			"the profile "+name+", in enforce mode")
	}
	if context := r.Spec.SELinuxLabel; context != "" {
		add(execLabel{"selinux", "exec", context, context}, context)
	}
}

// writeLabels writes the labels.
func (r *resolver) writeLabels() {
	for _, l := range r.labels {
		ExecLabel(r.Jail, l.mechanism, program.CWD(), "/proc/thread-self/attr/"+l.file, l.write, l.read)
	}
}

// ExecLabel chooses the label of the program that the process will execute: it writes to an attribute, which must then
// read as told.
func ExecLabel(p *program.Program, label string, dir program.Arg, path, write, read string) {
	fd := p.Open(label, unix.SYS_OPENAT, dir, program.Str(path),
		program.Named(unix.O_RDWR|unix.O_CLOEXEC, "O_RDWR|O_CLOEXEC"), program.Int(0))
	p.Add(label, unix.SYS_WRITE, fd.Arg(), program.Str(write), program.Int(len(write)))
	p.Expect(label, fd, read)
	p.Close(label, fd)
}
