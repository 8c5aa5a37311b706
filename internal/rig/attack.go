package rig

import (
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"brig/internal/attack"
)

// Attack is a program of testdata/egress; testdata/egress/README.md describes its header.
type Attack struct {
	// Name is the name of its file, Text the file, and Claim the sentence that it attacks.
	Name, Text, Claim string
	// Allow and Deny are rules, as of --allow and --deny, and Policy is the text of --net-policy's file.
	Allow, Deny []string
	Policy      string
	Logs        []LogLine
	NoLog       string // why nothing is logged
	// Wire are the packets that may leave H besides the questions to the name server, as Packet.String returns them.
	Wire     []string
	Off      bool   // it escapes in the host's network
	NoOff    string // why it would not
	Needs6   bool   // it takes IPv6
	MaxLines int    // of the log; 0: those of the header
	Never    string // text that no server may get in plain
	Kill     bool   // brig is killed when the payload has printed READY
}

// LogLine is a line that the log must have, exactly Times times.
type LogLine struct {
	Text   string
	Fields map[string][]string // each has one of these values
	Times  int                 // -1: at least once
}

// Attacks reads the attacks of a directory.
func Attacks(files fs.FS, dir string) (list []*Attack, err error) {
	err = attack.Each(files, dir, func(name, text string) error {
		a := &Attack{Name: name, Text: text}
		list = append(list, a)
		return a.parse()
	})
	return list, err
}

// parse reads the comment at the start of an attack.
func (a *Attack) parse() (err error) {
	a.Claim, err = attack.Header(a.Text, a.field)
	switch {
	case err != nil:
		return err
	case !a.Off && a.NoOff == "":
		return fmt.Errorf("no off: write host, or none and the reason")
	case len(a.Logs) == 0 && a.NoLog == "":
		return fmt.Errorf("no log: write the line's fields, or none and the reason")
	}
	if len(a.Allow) == 0 && a.Policy == "" {
		a.Allow = []string{"good.example"}
	}
	return nil
}

func (a *Attack) field(key, value string) error {
	reason, none := strings.CutPrefix(value, "none, ")
	switch {
	case key == "allow":
		a.Allow = append(a.Allow, value)
	case key == "deny":
		a.Deny = append(a.Deny, value)
	case key == "policy":
		a.Policy = value
	case key == "wire":
		a.Wire = append(a.Wire, value)
	case key == "never":
		a.Never = value
	case key == "lines":
		n, err := strconv.Atoi(value)
		a.MaxLines = n
		return err
	case key == "kill":
		a.Kill = true
	case key == "needs" && value == "ipv6":
		a.Needs6 = true
	case key == "log" && none:
		a.NoLog = reason
	case key == "log":
		w, err := parseLogLine(value)
		a.Logs = append(a.Logs, w)
		return err
	case key == "off" && none:
		a.NoOff = reason
	case key == "off" && value == "host":
		a.Off = true
	default:
		return fmt.Errorf("%q: %q is not a field of the header", key, value)
	}
	return nil
}

// parseLogLine reads "kind=dns reason=no_rule|port times=2".
func parseLogLine(text string) (LogLine, error) {
	w := LogLine{Text: text, Fields: map[string][]string{}, Times: 1}
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return w, fmt.Errorf("log: %q is not FIELD=VALUE", word)
		}
		if key == "times" {
			if w.Times = -1; value != "*" {
				n, err := strconv.Atoi(value)
				if err != nil {
					return w, err
				}
				w.Times = n
			}
			continue
		}
		w.Fields[key] = strings.Split(value, "|")
	}
	return w, nil
}

// mayAsk reports whether the policy allows the name at some port: only then may W's DNS server see it.
func (a *Attack) mayAsk(name string) bool {
	for _, rule := range a.Allow {
		if _, rest, ok := strings.Cut(rule, "://"); ok {
			rule = rest
		}
		host, _, _ := strings.Cut(rule, ":")
		suffix, wild := strings.CutPrefix(host, "*")
		if _, err := netip.ParseAddr(host); err != nil && (host == name || wild && strings.HasSuffix(name, suffix)) {
			return true
		}
	}
	return strings.Contains(a.Policy, name)
}

const (
	// resolver is the server of H's resolv.conf, which brig itself may ask.
	resolver = "udp " + WorldAddr + ":53"
	// lateAnswer is the ICMP error of H's kernel for an answer of the name server that comes too late.
	lateAnswer = "icmp " + WorldAddr + ":0"
)

// Reached returns what an attack has reached in W and H without permission of its header, and which other packets have
// left H, since the last call. It tolerates late packets of the previous attack.
func (r *Rig) Reached(a *Attack) (list []string, err error) {
	if a.Never != "" && r.Visits.rawHas(a.Never) {
		list = append(list, fmt.Sprintf("a server has received %q", a.Never))
	}
	for _, v := range r.Visits.Take() {
		if v.Evil || v.Kind == "dns" && !a.mayAsk(v.What) {
			list = append(list, v.String())
		}
	}
	packets, err := r.Capture.Take()
	for _, p := range packets {
		if text := p.String(); text != resolver && text != lateAnswer && !slices.Contains(a.Wire, text) &&
			!slices.Contains(r.late, text) {
			list = append(list, "on the wire: "+text)
		}
	}
	r.late = a.Wire
	return list, err
}
