package plan

import (
	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/ops"
)

// execLabel is how the payload's process chooses the label of the program that it will execute: proc_pid_attr(5).
type execLabel struct {
	mechanism string
	file      string // the attribute, in /proc/thread-self/attr
	write     string // what is written to it
	read      string // what must be read from it then
}

// decideLabels decides which labels the payload gets.
func decideLabels(in *input, out *report) (list []execLabel) {
	add := func(l execLabel, by string) {
		missing := in.host.Missing[l.mechanism]
		if missing == "" && in.host.Missing["proc"] != "" {
			missing = "the jail has no /proc, in which a process chooses its label"
		}
		if out.require(in.Spec, l.mechanism, words.Plain(by), missing, "") {
			list = append(list, l)
		}
	}
	if name := in.AppArmor; name != "" {
		verb := "exec "
		if in.host.Confined { // with no_new_privs the kernel only adds to the profiles that confine a process
			verb = "stack "
		}
		add(execLabel{"apparmor", "apparmor/exec", verb + name, name + " (enforce)\n"},
			"the profile "+name+", in enforce mode")
	}
	if context := in.SELinuxLabel; context != "" {
		add(execLabel{"selinux", "exec", context, context}, context)
	}
	return list
}

func writeLabels(p *program.Program, list []execLabel) {
	for _, l := range list {
		ops.ExecLabel(p, l.mechanism, program.CWD(), "/proc/thread-self/attr/"+l.file, l.write, l.read)
	}
}
