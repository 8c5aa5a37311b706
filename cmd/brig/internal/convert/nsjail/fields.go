package nsjail

import (
	"strconv"
	"strings"

	"brig/cmd/brig/internal/convert"
)

type setter = func(c *config, f *field)

// fields returns all fields of NsJailConfig (config.proto of nsjail 3.6).
func fields() map[string]setter {
	table := map[string]setter{
		"mode": func(c *config, f *field) {
			if f.value == "LISTEN" || f.value == "RERUN" || f.value == "0" || f.value == "2" {
				c.Note(f.name, convert.Missing, "a jail runs once; systemd.socket(5) starts one for each caller")
			}
		},
		"hostname":   text(func(c *config) *string { return &c.hostname }),
		"cwd":        text(func(c *config) *string { return &c.cwd }),
		"time_limit": text(func(c *config) *string { return &c.time }),
		"max_cpus":   number("cpus", 1), "envar": flag("env"), "mount": (*config).mount, "exec_bin": (*config).exec,
		"keep_env": func(c *config, f *field) {
			if c.bool(f) {
				c.Flag(f.name, "pass-env", "*")
				c.Note(f.name, convert.Missing, convert.NoSecrets)
			}
		},
		"uidmap": (*config).idmap, "gidmap": (*config).idmap,
		"disable_rl": func(c *config, f *field) { c.noRlimits = c.bool(f) },
		"mount_proc": func(c *config, f *field) { c.noProc = !c.bool(f) },
		"clone_newnet": func(c *config, f *field) {
			if !c.bool(f) {
				c.net = "host"
			}
		},
		"iface_no_lo": func(c *config, f *field) {
			if c.bool(f) && c.net == "" {
				c.net = "none"
			}
		},
		"cgroup_mem_max":        number("memory", 1),
		"cgroup_mem_memsw_max":  number("memory-swap", 1),
		"cgroup_pids_max":       number("pids-limit", 1),
		"cgroup_cpu_ms_per_sec": number("cpus", 1000),
		"cgroup_net_cls_classid": func(c *config, f *field) {
			if c.number(f) > 0 {
				c.Flag(f.name, "cgroup", "net_cls.classid="+f.value)
			}
		},
	}
	for _, g := range groups() {
		for name := range strings.FieldsSeq(g.names) {
			table[name] = noted(g.effect, g.text, g.off)
		}
	}
	for _, l := range limits() {
		name := l.name
		table["rlimit_"+name] = func(c *config, f *field) { c.rlimits[name] = f.value }
		table["rlimit_"+name+"_type"] = func(c *config, f *field) { c.kinds[name] = f.value }
	}
	for name := range strings.FieldsSeq("mem pids net_cls cpu") {
		table["cgroup_"+name+"_parent"] = func(c *config, f *field) { c.Flag(f.name, "cgroup-parent", "/"+f.value) }
	}
	return table
}

// group has fields without a counterpart. A field that has the value off is as if it were not there.
type group struct {
	names  string
	effect convert.Effect
	text   string
	off    string
}

func groups() []group {
	const ignored, missing, weaker = convert.Ignored, convert.Missing, convert.Weaker
	return []group{
		{"name description", ignored, "", ""},
		{"use_cgroupv2 detect_cgroupv2 cgroupv2_mount cgroup_mem_mount cgroup_pids_mount cgroup_cpu_mount " +
			"cgroup_net_cls_mount forward_signals no_pivotroot", ignored, "", ""}, // as in each jail
		{"port bindhost max_conns max_conns_per_ip", ignored, "a jail does not listen for callers", ""},
		{"daemon", ignored, "brig stays until the command ends", ""},
		{"log_fd log_file log_level", ignored, "brig's messages are on stderr, and a report is written by --report", ""},
		{"cgroup_mem_swap_max", ignored, "nothing is swapped; write --memory-swap SIZE, which counts memory and swap " +
			"together", ""},
		{"clone_newtime", ignored, "the clocks are the host's, and the payload cannot set them", ""},
		{"nice_level", weaker, "write --cpu-weight N, which is below 100 for less than others", ""},
		{"oom_score_adj", weaker, "write --memory SIZE, which keeps the host out of it", ""},
		{"seccomp_policy_file seccomp_string seccomp_unotify", weaker, "Kafel is not read, and brig's own filter is in " +
			"force; write a profile in docker's JSON after --seccomp", ""},
		{"seccomp_log seccomp_unotify_report", ignored, "a report lists the calls that were refused", ""},
		{"use_core_scheduling disable_tsc", weaker, "brig has nothing against side channels of the processor", ""},
		{"keep_caps cap", missing, "no flag gives the payload a capability", ""},
		{"disable_no_new_privs", missing, "no_new_privs is always in force", ""},
		{"silent stderr_to_null", missing, "the streams are the caller's; write brig run ... 2>/dev/null", ""},
		{"skip_setsid", missing, "the payload has a session of its own; write --tty for a terminal", ""},
		{"pass_fd", missing, "a jail has the descriptors 0 to 2 only; write --bind SRC DST", ""},
		{"persona_addr_compat_layout persona_mmap_page_zero persona_read_implies_exec persona_addr_limit_3gb " +
			"persona_addr_no_randomize", missing, "the payload can set it itself; write setarch before the command", ""},
		{"clone_newuser clone_newns clone_newpid clone_newipc clone_newuts clone_newcgroup", missing,
			"the jail always has a namespace of its own", "true"},
		{"iface_own macvlan_iface macvlan_vs_ip macvlan_vs_nm macvlan_vs_gw macvlan_vs_ma macvlan_vs_mo user_net " +
			"traffic_rule", missing, "the jail has no interface but lo; write --allow HOST for each name that it may reach", ""},
	}
}

// noted returns the setter of a field without a counterpart. Without a text it needs none.
func noted(effect convert.Effect, say, off string) setter {
	return func(c *config, f *field) {
		negative := strings.HasPrefix(f.value, "-") // a niceness or score that takes from others
		switch {
		case say == "" || f.value == off && f.sub == nil || off == "" && (f.value == "false" || f.value == "0"):
		case negative:
			c.Note(f.name, convert.Missing, say)
		default:
			c.Note(f.name, effect, say)
		}
	}
}

func flag(name string) setter { return func(c *config, f *field) { c.Flag(f.name, name, f.value) } }

func text(to func(c *config) *string) setter {
	return func(c *config, f *field) { *to(c) = f.value }
}

// number returns the setter of a number, in parts of one. 0 means that there is no limit.
func number(name string, parts int64) setter {
	return func(c *config, f *field) {
		if n := c.number(f); n > 0 {
			c.Flag(f.name, name, strconv.FormatFloat(float64(n)/float64(parts), 'f', -1, 64))
		}
	}
}
