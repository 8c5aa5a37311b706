package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/outfile"
	"brig/internal/cli"
	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

func (b *builder) networkFlags() []cli.Flag {
	network := cli.Flag{Name: "net", Args: "none|loopback|egress|host", Path: "net", Set: cli.Text(&b.inv.spec.Net,
		"loopback"),
		Words: []string{"none", "loopback", "egress", "host"},
		Help:  "nothing, lo only (the default), what --allow names, or the host's own"}
	if b.inv.command == "explain" {
		network.Bare, network.Greedy = cli.Switch(&b.inv.netTable, true), true
		network.Help += "; alone, print what --allow and --deny amount to"
	}
	return cli.InGroup("Network", []cli.Flag{
		network,
		{Name: "allow", Args: "[MODE://]HOST[:PORTS]", Many: true, Set: b.ruleFlag("allow"),
			Help: "let the payload reach a name, *.name (every name below it), address or prefix " +
				"(example.com, *.pypi.org:443, tcp://10.1.2.0/24:5432, udp://192.0.2.7:123); modes: http, tls, tcp, udp"},
		{Name: "deny", Args: "HOST[:PORTS]", Many: true, Set: b.ruleFlag("deny"),
			Help: "refuse this even if --allow names it"},
		{Name: "net-policy", Args: "FILE|-", Files: true, Set: b.setNetPolicy,
			Help: "take rules and limits from a JSON file, or from the settings of srt; --allow and --deny add to it"},
		{Name: "net-limit", Args: "NAME=VALUE,...", Many: true, Set: b.setNetLimit,
			Words: []string{"max_connections=", "connections_per_second=", "names_per_second=",
				"max_connection_bytes=", "max_bytes=", "bandwidth=", "connect_timeout=", "idle_timeout="},
			Help: "bounds of the network: max_connections, connections_per_second, names_per_second (new names below a " +
				"wildcard), max_connection_bytes, max_bytes, bandwidth (bytes a second), connect_timeout, idle_timeout"},
		{Name: "net-redirect", Set: b.setNetRedirect,
			Help: "bring every port to one listener by an nft redirect in the jail's own namespace, so that the payload may " +
				"listen on the policy's ports itself"},
		{Name: "net-log", Args: "FILE|-", Files: true, Set: cli.Text(&b.inv.netLog, "net.jsonl"),
			Help: "append a JSON line for each connection and each refused attempt to FILE; - is stderr"},
		{Name: "publish", Short: 'p', Args: "[IP:]HOST:JAIL", Many: true, Set: b.list("publish", &b.inv.spec.Publish),
			Help: "let the host connect to the TCP port JAIL of the jail at port HOST of 127.0.0.1, or of IP"},
	})
}

// policy returns the policy of the Spec, which it creates if missing. A rule also selects the network mode, unless a
// flag has.
func (b *builder) policy() *egress.Policy {
	s := &b.inv.spec
	if s.Egress == nil {
		s.Egress = &egress.Policy{}
		b.inv.origin["egress"] = b.flag
	}
	if s.Net == "" {
		s.Net = nsjail.NetEgress
	}
	return s.Egress
}

func (b *builder) ruleFlag(list string) func([]string) error {
	return func(v []string) error {
		rule, err := egress.ParseRule(v[0])
		if err != nil {
			return inWords(err)
		}
		p := b.policy()
		to := &p.Allow
		if list == "deny" {
			to = &p.Deny
		}
		b.inv.origin[place("egress."+list, len(*to))] = b.flag + " " + words.Quote(v[0])
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

func (b *builder) setNetPolicy(v []string) error {
	data, err := b.read(v[0], maxFile)
	if err != nil {
		return err
	}
	b.flag += " " + words.Quote(v[0])
	file, notes, err := egress.LoadPolicy(data)
	if err != nil {
		return err
	}
	for _, n := range notes {
		b.inv.notes = append(b.inv.notes, b.flag+": "+n)
	}
	if old := b.inv.spec.Egress; old != nil { // earlier flags have set it
		file.Redirect = file.Redirect || old.Redirect
		if len(old.Allow)+len(old.Deny) == 0 && !old.Redirect {
			return errors.New("there are limits already; name the file before --net-limit, and after --spec none")
		}
		b.moveRules("egress.allow", len(old.Allow), len(file.Allow))
		b.moveRules("egress.deny", len(old.Deny), len(file.Deny))
		file.Allow, file.Deny = append(file.Allow, old.Allow...), append(file.Deny, old.Deny...)
		b.inv.spec.Egress = nil
	}
	b.policy()
	b.inv.spec.Egress = file
	return nil
}

// moveRules adjusts the origins of n rules when others are inserted before them.
func (b *builder) moveRules(list string, n, by int) {
	for i := n - 1; i >= 0; i-- {
		b.inv.origin[place(list, i+by)] = b.inv.origin[place(list, i)]
		delete(b.inv.origin, place(list, i))
	}
}

// setNetLimit sets fields of the policy by their JSON names.
func (b *builder) setNetLimit(v []string) error {
	for _, item := range strings.Split(v[0], ",") {
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			return fmt.Errorf("%s has no value; write it as in max_connections=20", words.Quote(item))
		}
		if err := b.policy().SetLimit(name, value); err != nil {
			return fmt.Errorf("%s: %w", words.Quote(item), inWords(err))
		}
		b.inv.origin["egress."+name] = b.flag + " " + words.Quote(item)
	}
	return nil
}

func (b *builder) setNetRedirect([]string) error {
	b.policy().Redirect = true
	return nil
}

// openNetLog opens the file of --net-log before the payload starts, which might otherwise replace it by a link.
func openNetLog(inv *invocation, std *console.Console) (*os.File, error) {
	switch inv.netLog {
	case "":
		return nil, nil
	case "-":
		return std.Err, nil
	}
	f, err := outfile.Open(inv.netLog, unix.O_APPEND, 0o600, "")
	if err != nil {
		return nil, fmt.Errorf("--net-log: %w", err)
	}
	return f, nil
}

// policyText runs `brig explain --net`: it prints the resulting policy, and its equivalents for other tools.
func policyText(inv *invocation, std *console.Console) int {
	p := inv.spec.Egress
	if p == nil {
		p = &egress.Policy{}
	}
	for _, n := range inv.notes {
		std.Say("%s", n)
	}
	table, nft, kubernetes := p.Table(), p.NFT(), p.Kubernetes("brig")
	answer := struct {
		Policy     *egress.Policy `json:"policy"`
		Rules      []egress.Row   `json:"rules"`
		NFT        string         `json:"nft"`
		Kubernetes string         `json:"kubernetes"`
	}{p, egress.Effective(p), nft, kubernetes}
	return std.Answer(inv.json, answer, table+"\n# the same for nft(8), as far as it can say it\n"+nft+
		"\n# the same for Kubernetes, as far as it can say it\n"+kubernetes)
}
