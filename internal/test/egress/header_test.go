package egress

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/asuser"
)

// attack is a program of testdata/egress; testdata/egress/README.md describes its header.
type attack struct {
	name, claim string
	jail        jail
	logs        []wanted
	noLog       string // why nothing is logged
	wire        []string
	off         bool   // it escapes in the host's network
	noOff       string // why it would not
	needs6      bool
	maxLines    int    // of the log; 0: those of the header
	rawNever    string // text that no server may get in plain
}

// wanted is a line that the log must have, exactly times times.
type wanted struct {
	text   string
	fields map[string][]string // each has one of these values
	times  int                 // -1: at least once
}

func loadAttacks(t *testing.T) (list []*attack) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(asuser.Testdata(), "egress", "*.py"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a, err := parseAttack(filepath.Base(path), string(text))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		list = append(list, a)
	}
	return list
}

// parseAttack reads the comment at the start of an attack.
func parseAttack(name, text string) (*attack, error) {
	a := &attack{name: name, jail: jail{network: "egress"}}
	for i, line := range strings.Split(text, "\n") {
		line, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		if i == 0 {
			a.claim = line
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok || strings.Contains(key, " ") {
			continue // prose
		}
		if err := a.field(key, strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	switch {
	case len(a.claim) < 12 || !strings.HasSuffix(a.claim, "."):
		return nil, fmt.Errorf("the first line %q is not a claim: write a sentence", a.claim)
	case !a.off && a.noOff == "":
		return nil, fmt.Errorf("no off: write host, or none and the reason")
	case len(a.logs) == 0 && a.noLog == "":
		return nil, fmt.Errorf("no log: write the line's fields, or none and the reason")
	}
	if len(a.jail.allow) == 0 && a.jail.policy == "" {
		a.jail.allow = []string{"good.example"}
	}
	a.jail.args = []string{"--file", testdata("egress", name), "/egress/" + name, "--file", testdata("payload", "kernel.py"), "/egress/kernel.py",
		"--file", testdata("payload", "egress.py"), "/egress/egress.py", "--", "python3", "/egress/" + name}
	return a, nil
}

func testdata(dir, name string) string { return filepath.Join(asuser.Testdata(), dir, name) }

func (a *attack) field(key, value string) error {
	reason, none := strings.CutPrefix(value, "none, ")
	switch {
	case key == "allow":
		a.jail.allow = append(a.jail.allow, value)
	case key == "deny":
		a.jail.deny = append(a.jail.deny, value)
	case key == "policy":
		a.jail.policy = value
	case key == "flags":
		a.jail.flags = append(a.jail.flags, strings.Fields(value)...)
	case key == "wire":
		a.wire = append(a.wire, value)
	case key == "never":
		a.rawNever = value
	case key == "lines":
		n, err := strconv.Atoi(value)
		a.maxLines = n
		return err
	case key == "kill":
		a.jail.kill = true
	case key == "needs" && value == "ipv6":
		a.needs6 = true
	case key == "log" && none:
		a.noLog = reason
	case key == "log":
		w, err := parseWanted(value)
		a.logs = append(a.logs, w)
		return err
	case key == "off" && none:
		a.noOff = reason
	case key == "off" && value == "host":
		a.off = true
	default:
		return fmt.Errorf("%q: %q is not a field of the header", key, value)
	}
	return nil
}

// parseWanted reads "kind=dns reason=no_rule|port times=2".
func parseWanted(text string) (wanted, error) {
	w := wanted{text: text, fields: map[string][]string{}, times: 1}
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return w, fmt.Errorf("log: %q is not FIELD=VALUE", word)
		}
		if key == "times" {
			if w.times = -1; value != "*" {
				n, err := strconv.Atoi(value)
				if err != nil {
					return w, err
				}
				w.times = n
			}
			continue
		}
		w.fields[key] = strings.Split(value, "|")
	}
	return w, nil
}

// mayAsk reports whether the policy allows the name at some port: only then may W's DNS server see it.
func (j *jail) mayAsk(name string) bool {
	for _, rule := range j.allow {
		if _, rest, ok := strings.Cut(rule, "://"); ok {
			rule = rest
		}
		host, _, _ := strings.Cut(rule, ":")
		suffix, wild := strings.CutPrefix(host, "*")
		if _, err := netip.ParseAddr(host); err != nil && (host == name || wild && strings.HasSuffix(name, suffix)) {
			return true
		}
	}
	return strings.Contains(j.policy, name)
}
