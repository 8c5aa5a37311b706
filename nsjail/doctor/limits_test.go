package doctor

import "testing"

// A hidden limit proves nothing, and the least of those that show decides.
func TestNamespaces(t *testing.T) {
	for _, tt := range []struct {
		user, net string // "" is hidden
		state     State
		fix       string
	}{
		{"", "", Present, ""},
		{"96365", "", Present, ""},
		{"96365", "63", Partial, "sysctl -w user.max_net_namespaces=15000"},
		{"0", "63", Missing, "sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000"},
		{"64", "64", Present, ""},
	} {
		m := &Machine{Files: map[string]string{}}
		for name, v := range map[string]string{"user": tt.user, "net": tt.net} {
			if v != "" {
				m.Files["/proc/sys/user/max_"+name+"_namespaces"] = v + "\n"
			}
		}
		if state, _, fix := checkNamespaces(m); state != tt.state || fix.String() != tt.fix {
			t.Errorf("%q and %q: %s, %q", tt.user, tt.net, state, fix)
		}
	}
}

func TestMemory(t *testing.T) {
	for text, want := range map[string]State{"": Note, "MemFree: 1 kB\n": Note, "MemAvailable: many kB\n": Note,
		"MemTotal: 9 kB\nMemAvailable:  262143 kB\n": Partial, "MemAvailable: 262144 kB\n": Note} {
		if state, _, fix := checkMemory(text); state != want || (fix != "") != (want == Partial) {
			t.Errorf("%q: %s, %q", text, state, fix)
		}
	}
}
