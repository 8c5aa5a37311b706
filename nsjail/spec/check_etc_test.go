package spec

import "testing"

func TestCheckEtc(t *testing.T) {
	for name, tt := range map[string]struct {
		got  problems
		want string // the whole line, or its beginning when it ends in ...
	}{
		"etc of image": {checkEtc([]string{"fonts"}, Rootfs{Path: "x"}),
			`etc: a rootfs has its own /etc; remove it, or bind what is missing there`},
		"etc upwards": {checkEtc([]string{"a/../../b"}, Rootfs{}),
			`etc[0]: "a/../../b" is not a name in /etc...`},
		"etc private": {checkEtc([]string{"x", "ssh/sshd_config"}, Rootfs{}),
			`etc[1]: "ssh/sshd_config" is or holds accounts...`},
		"etc owned": {checkEtc([]string{"passwd"}, Rootfs{}),
			`etc[0]: the jail makes its own /etc/passwd; replace it by a file of yours: ...`},
		"etc around private": {checkEtc([]string{"ssl"}, Rootfs{}), `etc[0]: "ssl" is or holds accounts...`},
		"etc many":           {checkEtc(make([]string, 129), Rootfs{}), `etc: 129 is more than 128; name directories`},
		"good":               {checkEtc([]string{"fonts", "apache2/mime.types"}, Rootfs{}), ``},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, tt.got, tt.want) })
	}
}
