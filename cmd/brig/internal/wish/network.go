package wish

import (
	"errors"
	"fmt"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// net applies the flags of the network.
type net struct {
	*sheet
	notes *[]string
}

// flags returns these. With table, --net alone sets it.
func (n net) flags(log *string, table *bool) []cli.Flag {
	mode := cli.Flag{Name: "net", Args: "none|loopback|egress|host", Path: "net", Set: cli.Text(&n.spec.Net,
		"loopback"),
		Words: []string{"none", "loopback", "egress", "host"},
		Help:  "nothing, lo only (the default), what --allow names, or the host's own"}
	if table != nil {
		mode.Bare, mode.Greedy = cli.Switch(table, true), true
		mode.Help += "; alone, print what --allow and --deny amount to"
	}
	return cli.InGroup("Network", []cli.Flag{
		mode,
		{Name: "allow", Args: "[MODE://]HOST[:PORTS]", Many: true, Set: n.ruleFlag("allow"),
			Help: "let the payload reach a name, *.name (every name below it), address or prefix " +
				"(example.com, *.pypi.org:443, tcp://10.1.2.0/24:5432, udp://192.0.2.7:123); modes: http, tls, tcp, udp"},
		{Name: "deny", Args: "HOST[:PORTS]", Many: true, Set: n.ruleFlag("deny"),
			Help: "refuse this even if --allow names it"},
		{Name: "net-policy", Args: "FILE|-", Files: true, Set: n.setNetPolicy,
			Help: "take rules and limits from a JSON file, or from the settings of srt; --allow and --deny add to it"},
		{Name: "net-limit", Args: "NAME=VALUE,...", Many: true, Set: n.setNetLimit,
			Words: []string{"max_connections=", "connections_per_second=", "names_per_second=",
				"max_connection_bytes=", "max_bytes=", "bandwidth=", "connect_timeout=", "idle_timeout="},
			Help: "bounds of the network: max_connections, connections_per_second, names_per_second (new names below a " +
				"wildcard), max_connection_bytes, max_bytes, bandwidth (bytes a second), connect_timeout, idle_timeout"},
		{Name: "net-redirect", Set: n.setNetRedirect,
			Help: "bring every port to one listener by an nft redirect in the jail's own namespace, so that the payload may " +
				"listen on the policy's ports itself"},
		{Name: "net-log", Args: "FILE|-", Files: true, Set: cli.Text(log, "net.jsonl"),
			Help: "append a JSON line for each connection and each refused attempt to FILE; - is stderr"},
		{Name: "publish", Short: 'p', Args: "[IP:]HOST:JAIL", Many: true, Set: n.list("publish", &n.spec.Publish),
			Help: "let the host connect to the TCP port JAIL of the jail at port HOST of 127.0.0.1, or of IP"},
	})
}

// policy returns the policy of the Spec, which it creates if missing. A rule also selects the network mode, unless a
// flag has.
func (n net) policy() *egress.Policy {
	s := n.spec
	if s.Egress == nil {
		s.Egress = &egress.Policy{}
		n.note("egress")
	}
	if s.Net == "" {
		s.Net = nsjail.NetEgress
	}
	return s.Egress
}

func (n net) ruleFlag(list string) func([]string) error {
	return func(v []string) error {
		rule, err := egress.ParseRule(v[0])
		if err != nil {
			return inWords(err)
		}
		p := n.policy()
		to := &p.Allow
		if list == "deny" {
			to = &p.Deny
		}
		n.from.Set(place("egress."+list, len(*to)), n.flag+" "+words.Quote(v[0]))
		*to = append(*to, rule)
		return nil
	}
}

// inWords formats the problem of a rule with its remedy.
func inWords(err error) error {
	if p, ok := errors.AsType[*egress.Problem](err); ok && p.Fix != "" {
		return fmt.Errorf("%s; %s", p.Reason, p.Fix)
	}
	return err
}

func (n net) setNetPolicy(v []string) error {
	data, err := n.readFile(v[0], MaxFile)
	if err != nil {
		return err
	}
	file, notes, err := egress.LoadPolicy(data)
	if err != nil {
		return err
	}
	for _, note := range notes {
		*n.notes = append(*n.notes, n.flag+": "+note)
	}
	if old := n.spec.Egress; old != nil { // earlier flags have set it
		file.Redirect = file.Redirect || old.Redirect
		if len(old.Allow)+len(old.Deny) == 0 && !old.Redirect {
			return errors.New("there are limits already; name the file before --net-limit, and after --spec none")
		}
		n.from.move("egress.allow", len(old.Allow), len(file.Allow))
		n.from.move("egress.deny", len(old.Deny), len(file.Deny))
		file.Allow, file.Deny = append(file.Allow, old.Allow...), append(file.Deny, old.Deny...)
		n.spec.Egress = nil
	}
	n.policy()
	n.spec.Egress = file
	return nil
}

// setNetLimit sets fields of the policy by their JSON names.
func (n net) setNetLimit(v []string) error {
	for _, item := range strings.Split(v[0], ",") {
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			return fmt.Errorf("%s has no value; write it as in max_connections=20", words.Quote(item))
		}
		if err := n.policy().SetLimit(name, value); err != nil {
			return fmt.Errorf("%s: %w", words.Quote(item), inWords(err))
		}
		n.from.Set("egress."+name, n.flag+" "+words.Quote(item))
	}
	return nil
}

func (n net) setNetRedirect([]string) error {
	n.policy().Redirect = true
	return nil
}
