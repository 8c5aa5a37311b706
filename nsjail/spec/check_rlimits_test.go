package spec

import "testing"

func TestCheckRlimits(t *testing.T) {
	for name, tt := range map[string]struct {
		got  problems
		want string // the whole line, or its beginning when it ends in ...
	}{
		"rlimit name": {checkRlimits(&Limits{Rlimits: map[string]Rlimit{"nofiles": {}}}),
			`limits.rlimits: "nofiles" is not a resource of getrlimit(2); did you mean nofile?`},
		"soft > hard": {checkRlimits(&Limits{Rlimits: map[string]Rlimit{"core": {2, 1}}}),
			`limits.rlimits.core: the soft limit 2 is more than the hard limit 1...`},
		"inf > hard": {checkRlimits(&Limits{Rlimits: map[string]Rlimit{"core": {-1, 1}}}),
			`limits.rlimits.core: the soft limit unlimited is more than the hard limit 1...`},
		"rlimit < -1": {checkRlimits(&Limits{Rlimits: map[string]Rlimit{"core": {-2, 1}}}),
			`limits.rlimits.core: -2 is negative; write -1 for no limit`},
		"nproc": {checkRlimits(&Limits{Rlimits: map[string]Rlimit{"nproc": {1, 1}}, Processes: 1}),
			`limits.rlimits.nproc: the limit on processes is the same limit; remove one of the two`},
		"cpu twice": {checkRlimits(&Limits{Rlimits: map[string]Rlimit{"cpu": {1, 1}}, CPUTime: 1}),
			`limits.rlimits.cpu: the limit on processor time is the same limit where there is no control group; remove one of the two`},
		"good": {checkRlimits(&Limits{Rlimits: map[string]Rlimit{"nofile": {10, -1}, "core": {-1, -1}, "nproc": {1, 1}}, CPUTime: 1}),
			``},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, tt.got, tt.want) })
	}
}
