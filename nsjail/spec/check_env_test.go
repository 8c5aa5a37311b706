package spec

import "testing"

func TestCheckEnv(t *testing.T) {
	for name, tt := range map[string]struct {
		got  problems
		want string // the whole line, or its beginning when it ends in ...
	}{
		"env no =": {checkEnv([]string{"A"}),
			`env[0]: "A" has no =; write NAME=value, or list the name under pass_env`},
		"env no name": {checkEnv([]string{"=A"}),
			`env[0]: "=A" has no name; write NAME=value`},
		"env blank": {checkEnv([]string{"A B=c"}),
			`env[0]: "A B" is not a name: it has a blank or a control byte; remove that`},
		"env latin1": {checkEnv([]string{"\xe9=c"}),
			`env[0]: "\xe9" is not UTF-8; write it in UTF-8`},
		"bad glob": {checkPassEnv([]string{"["}),
			`pass_env[0]: "[" is not a pattern...`},
		"pass value": {checkPassEnv([]string{"A=b"}),
			`pass_env[0]: "A=b" has a value; put it under env`},
		"pass empty": {checkPassEnv([]string{""}),
			`pass_env[0]: is empty...`},
		"pass NUL": {checkPassEnv([]string{"\x00"}),
			`pass_env[0]: "\x00" has a NUL byte...`},
		"good": {append(checkEnv([]string{"A=b", "EMPTY=", "RAW=\xff"}), checkPassEnv([]string{"LC_*", "TOKEN"})...),
			``},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, tt.got, tt.want) })
	}
}
