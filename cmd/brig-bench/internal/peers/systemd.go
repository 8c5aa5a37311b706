package peers

import (
	"fmt"
	"os"

	"brig/cmd/brig-bench/internal/result"
)

func systemdRun(h *Host) *Tool {
	t := &Tool{Info: result.Tool{Name: "systemd-run", Differs: []string{
		"the jail's parent is the service manager, not the caller; always in a control group",
		"its root is the host's, read-only, without /home and /root; no /work and /output",
		"no pid namespace: descendants end with the control group",
		"its filter is systemd's own @system-service",
	}}, Kind: Peer, Limits: true}
	path, ok := installed(t, "systemd-run", "systemd")
	if !ok {
		return t
	}
	t.Info.Version = version(h.env(), path, "--version")
	env := h.env()
	switch bus := os.Getenv("XDG_RUNTIME_DIR"); {
	case !isDir("/run/systemd/system"):
		t.Info.Absent = "systemd is not this machine's process 1"
	case !h.Root && bus == "":
		t.Info.Absent = "this user has no service manager: XDG_RUNTIME_DIR is not set"
	case !h.Root:
		env = append(env, "XDG_RUNTIME_DIR="+bus, "DBUS_SESSION_BUS_ADDRESS="+os.Getenv("DBUS_SESSION_BUS_ADDRESS"))
	}
	t.prepare = func(j Job) (*Ready, error) {
		c := &command{name: h.name(), argv: func(id string) []string { return systemdArgs(path, id, h.Root, j) }, env: env}
		c.after = func(id string) error { // of a unit that has ended it says that there is none
			_, err := output(env, append(manager("systemctl", h.Root), "kill", "--signal", "KILL", id+".service")...)
			if err != nil && !active(env, h.Root, id) {
				return nil
			}
			return err
		}
		return c.ready()
	}
	return t
}

// manager is a program that speaks to the caller's service manager.
func manager(program string, root bool) []string {
	if root {
		return []string{program}
	}
	return []string{program, "--user"}
}

func active(env []string, root bool, id string) bool {
	_, err := output(env, append(manager("systemctl", root), "is-active", id+".service")...)
	return err == nil
}

// systemdArgs is a transient service as near to brig's jail as its properties go: systemd.exec(5).
func systemdArgs(path, id string, root bool, j Job) []string {
	args := append(manager(path, root), "--quiet", "--pipe", "--wait", "--collect", "--unit", id, "--setenv", jailPath)
	properties := []string{"PrivateUsers=yes", "PrivateNetwork=yes", "PrivateIPC=yes", "ProtectHostname=yes", "ProtectSystem=strict", "ProtectHome=yes",
		"PrivateTmp=yes", "PrivateDevices=yes", "ProtectProc=invisible", "ProcSubset=pid", "ProtectControlGroups=yes", "ProtectKernelTunables=yes",
		"NoNewPrivileges=yes", "CapabilityBoundingSet=", "SystemCallFilter=@system-service", "SystemCallArchitectures=native", "RestrictNamespaces=yes",
		"KeyringMode=private", "LimitCORE=0", "LimitNOFILE=768"}
	if root {
		properties = append(properties, "DynamicUser=yes")
	}
	if j.Limits.Memory > 0 {
		properties = append(properties, fmt.Sprintf("MemoryMax=%d", j.Limits.Memory), "MemorySwapMax=0")
	}
	if j.Limits.CPUs > 0 {
		properties = append(properties, fmt.Sprintf("CPUQuota=%.0f%%", 100*j.Limits.CPUs))
	}
	if j.Limits.Processes > 0 {
		properties = append(properties, fmt.Sprintf("TasksMax=%d", j.Limits.Processes))
	}
	for _, p := range properties {
		args = append(args, "--property", p)
	}
	return append(append(args, "--"), j.Args...)
}
