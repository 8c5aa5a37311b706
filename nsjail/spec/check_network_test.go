package spec

import (
	"testing"

	egress "brig/netns/egress/policy"
)

func TestCheckNetwork(t *testing.T) {
	for name, tt := range map[string]struct {
		got  problems
		want string // the whole line, or its beginning when it ends in ...
	}{
		"egress": {checkEgress(&egress.Policy{}, NetNone),
			`net: there is a policy for egress, which this mode does not have; write egress, or leave the policy out`},
		"net typo": {checkNet("lopback"),
			`net: "lopback" is not a network mode; did you mean loopback?`},
		"net other": {checkNet("bridge"),
			`net: "bridge" is not a network mode; write one of none, loopback, egress, host`},
		"published nowhere": {checkPublish([]string{"8080:80"}, NetNone),
			`publish[0]: the network mode is none, where nothing can be published; use loopback or egress`},
		"published twice": {checkPublish([]string{"8080:80", "127.0.0.1:8080:81"}, ""),
			`publish[1]: 127.0.0.1:8080 is published twice; remove one`},
		"no port": {checkPublish([]string{"8080:0"}, NetEgress),
			`publish[0]: "0" is not a port: 1 to 65535; write [IP:]HOST:JAIL, as in 8080:80`},
		"many ports": {checkPublish(make([]string, 17), ""), `publish: 17 ports are more than 16; publish fewer`},
		"good": {append(checkEgress(nil, NetHost), checkPublish([]string{"8080:80", "[::1]:8080:80/tcp"}, "")...),
			``},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, tt.got, tt.want) })
	}
}
