package learncmd

import "brig/learn"

// proposal is what package learn proposes, as a flag with its values.
type proposal struct {
	Flag []string `json:"flag"`
	learn.Proposal
}

// proposed returns a proposal with its flag.
func proposed(p *learn.Proposal) proposal {
	flag := "--" + [...]string{learn.Allow: "allow", learn.COW: "cow", learn.CPUTime: "cpu-time", learn.Env: "env",
		learn.Etc: "etc", learn.Memory: "memory", learn.Processes: "pids-limit", learn.ReadOnly: "ro-bind",
		learn.RootfsWritable: "rootfs-writable", learn.Seccomp: "seccomp", learn.Wall: "timeout", learn.Tmpfs: "tmpfs",
		learn.OpenFiles: "ulimit"}[p.Setting]
	values := p.Values
	if p.Setting == learn.OpenFiles {
		values = []string{"nofile=" + p.Values[0]}
	}
	return proposal{append([]string{flag}, values...), *p}
}

// proposals returns a list with its flags.
func proposals(from []learn.Proposal) (list []proposal) {
	for i := range from {
		list = append(list, proposed(&from[i]))
	}
	return list
}
