package doctor

import "testing"

// The evidence of an outer container, the most certain first.
func TestOuter(t *testing.T) {
	type files = map[string]string
	for _, tt := range []struct {
		machine    Machine
		kind, from string
	}{
		{Machine{Release: "6.12.5"}, "", ""},
		{Machine{Release: "4.4.0-gvisor", Files: files{"/.dockerenv": ""}}, "gVisor", "the kernel's version"},
		{Machine{Release: "4.4.0-19041-Microsoft"}, "WSL 1", "the kernel's release"},
		{Machine{Release: "6.6.1-microsoft-standard-WSL2"}, "WSL 2", "the kernel's release"},
		{Machine{Release: "6.6.1-microsoft-standard-WSL2", Files: files{"/.dockerenv": ""}}, "docker", "/.dockerenv"},
		{Machine{Files: files{"/proc/1/comm": "brig-launcher\n", "/.dockerenv": ""}}, "brig", "the name of process 1"},
		{Machine{Files: files{"/.dockerenv": ""}, Env: map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}},
			"kubernetes", "KUBERNETES_SERVICE_HOST"},
		{Machine{Files: files{"/proc/self/cgroup": "0::/kubepods.slice/x\n"}}, "kubernetes", "/proc/self/cgroup"},
		{Machine{Files: files{"/run/.containerenv": "", "/.dockerenv": ""}}, "podman", "/run/.containerenv"},
		{Machine{Files: files{"/proc/self/cgroup": "4:memory:/docker/abc\n"}}, "docker", "/proc/self/cgroup"},
		{Machine{Files: files{"/proc/self/cgroup": "0::/lxc.payload.a\n"}}, "lxc", "/proc/self/cgroup"},
		{Machine{Files: files{"/proc/1/environ": "container=systemd-nspawn"}}, "systemd-nspawn",
			"/run/systemd/container or process 1"},
		{Machine{Files: files{"/proc/1/environ": "container=x", "/run/systemd/container": "lxc\n"}}, "lxc",
			"/run/systemd/container or process 1"},
	} {
		if kind, from := tt.machine.outer(); kind != tt.kind || from != tt.from {
			t.Errorf("%+v: %s by %s; want %s by %s", tt.machine, kind, from, tt.kind, tt.from)
		}
	}
}

// The advice for containers appears only where a container has taken away something that brig needs.
func TestContainerFix(t *testing.T) {
	m := &Machine{Files: map[string]string{"/.dockerenv": "", "/proc/self/mountinfo": plainMounts}}
	if state, _, fix := checkContainer(m, false); state != Note || fix != "" {
		t.Errorf("no filter, no mask, no label: %s, %s", state, fix)
	}
	m.Files["/proc/self/status"] = "Seccomp:\t2\n"
	if _, _, fix := checkContainer(m, false); fix != outerFix("docker") {
		t.Errorf("a filter: %s", fix)
	}
	if _, _, fix := checkContainer(m, true); fix != "" {
		t.Errorf("a jail works: %s", fix)
	}
}
