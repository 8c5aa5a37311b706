package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// srtKeys are the other keys of srt's section "network". Each concerns its proxies, its terminal or another system;
// none narrows its two lists.
var srtKeys = []string{"deniedDomainReasons", "strictAllowlist", "allowUnixSockets", "allowAllUnixSockets",
	"allowLocalBinding", "allowMachLookup", "httpProxyPort", "socksProxyPort", "mitmProxy", "filterRequest",
	"tlsTerminate", "parentProxy"}

// srtLists are the keys that are read.
var srtLists = []string{"allowedDomains", "deniedDomains"}

// srtPorts begins the note about entries without a port.
const srtPorts = "network.allowedDomains: entries without a port open 80 and 443 only; name others as "

// isSRT reports whether data is a settings file of sandbox-runtime ("srt"): its lists are in an object "network", which
// a policy does not have.
func isSRT(data []byte) bool {
	var top map[string]json.RawMessage
	return json.Unmarshal(data, &top) == nil && bytes.HasPrefix(top["network"], []byte("{"))
}

// readSRT reads network.allowedDomains and network.deniedDomains. Their entries are a name, *.name (any depth below it,
// not itself, as in brig) or an address, with ":PORT" for a single port; denied wins over allowed. Each other section
// gets a note that it is ignored.
func (p *Policy) readSRT(r *strictjson.Reader) (notes []string, err error) {
	var network json.RawMessage
	err = r.Members("", func(key string) error {
		raw, err := r.Raw(key)
		switch {
		case slices.Contains([]string{"allow", "deny", "allowed_ports", "blocked_hosts"}, key):
			return r.Fail(key, &Problem{"", "the file is an srt settings file and a policy at once",
				"keep either network or " + key})
		case key == "network":
			network = raw
		default:
			notes = append(notes, shown(key)+": ignored: not about the network")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = document.Read(network, func(r *strictjson.Reader, _ string) error {
		return r.Members("network", func(key string) error { return p.readNetwork(r, key, &notes) })
	})
	return notes, err
}

// readNetwork reads the value of a key of srt's section "network".
func (p *Policy) readNetwork(r *strictjson.Reader, key string, notes *[]string) error {
	path := "network." + shown(key)
	switch {
	case key == "allowedDomains":
		return srtList(r, path, func(s string) *Problem { return p.srtAllow(s, notes) })
	case key == "deniedDomains":
		return srtList(r, path, p.srtDeny)
	case slices.Contains(srtKeys, key):
		*notes = append(*notes, path+": ignored: it has no meaning here")
	case words.Nearest(key, srtLists) != "":
		return r.Fail(path, &Problem{Reason: "it is not a key here", Fix: words.DidYouMean(key, srtLists)})
	default:
		*notes = append(*notes, path+": ignored: unknown")
	}
	_, err := r.Raw(path)
	return err
}

func srtList(r *strictjson.Reader, path string, add func(string) *Problem) error {
	var entries []string
	if err := list(&entries, `an array of domains, as ["example.com"]`, readText)(r, path); err != nil {
		return err
	}
	for i, entry := range entries {
		if problem := add(entry); problem != nil {
			return r.Fail(strictjson.Index(path, i), &Problem{"", problem.Reason, problem.Fix})
		}
	}
	return nil
}

// srtAllow adds one allowed domain. Without a port, srt allows every port that its two proxies receive; here the entry
// opens 80 and 443, and a note describes how to open more.
func (p *Policy) srtAllow(s string, notes *[]string) *Problem {
	r, problem := srtRule(s)
	if problem != nil {
		return problem
	}
	if r.Host == "localhost" || r.CIDR == "127.0.0.1" || r.CIDR == "::1" {
		*notes = append(*notes, "network.allowedDomains: "+words.QuoteASCII(s)+": ignored: the jail's loopback is its own")
		return nil
	}
	if len(r.Ports) == 0 {
		if r.CIDR != "" {
			r.Ports = []Ports{{80, 80}, {443, 443}}
		}
		noted := func(n string) bool { return strings.HasPrefix(n, srtPorts) }
		if !slices.ContainsFunc(*notes, noted) { // once for all entries
			*notes = append(*notes, srtPorts+words.QuoteASCII(s+":8443"))
		}
	}
	if r, problem = allowRule(r); problem == nil {
		p.Allow = append(p.Allow, r)
	}
	return problem
}

// srtDeny adds one denied domain. "*" is every destination: where all addresses are denied, names are unreachable, too.
func (p *Policy) srtDeny(s string) *Problem {
	targets := []string{s}
	if port, ok := strings.CutPrefix(s, "*"); ok && (port == "" || port[0] == ':') {
		targets = []string{"0.0.0.0/0" + port, "[::/0]" + port}
	}
	for _, target := range targets {
		r, problem := srtRule(target)
		if problem == nil {
			r, problem = denyRule(r)
		}
		if problem != nil {
			return problem
		}
		p.Deny = append(p.Deny, r)
	}
	return nil
}

// srtRule parses an entry. It refuses forms that only brig's flags accept.
func srtRule(s string) (Rule, *Problem) {
	if strings.Contains(s, "://") {
		return Rule{}, &Problem{Reason: words.QuoteASCII(s) + " has a scheme",
			Fix: "write the domain alone, or with its port"}
	}
	return parseRule(s)
}
