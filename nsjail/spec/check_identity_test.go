package spec

import (
	"strings"
	"testing"
)

func TestCheckIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		got  problems
		want string // the whole line, or its beginning when it ends in ...
	}{
		"workdir": {checkIdentity("work", "", ""),
			`workdir: "work" is not absolute; write "/work"`},
		"workdir latin1": {checkIdentity("/\xe9", "", ""),
			`workdir: "/\xe9" is not UTF-8; write it in UTF-8`},
		"user name": {checkIdentity("", "bob", ""),
			`user: "bob" is not a number (user and group names are not looked up); write UID[:GID] in digits, as in "1000:1000"`},
		"user sign": {checkIdentity("", "+1", ""),
			`user: "+1" is not a number...`},
		"user range": {checkIdentity("", "1:4294967295", ""),
			`user: "4294967295" is more than 4294967294...`},
		"user huge": {checkIdentity("", "99999999999", ""),
			`user: "99999999999" is not a number...`},
		"user empty gid": {checkIdentity("", "1:", ""),
			`user: "" is not a number...`},
		"host charset": {checkIdentity("", "", "a_b"),
			`hostname: "a_b" is not a host name; use letters, digits, - and ., and begin with a letter or digit`},
		"host dash": {checkIdentity("", "", "-a"),
			`hostname: "-a" is not a host name...`},
		"host long": {checkIdentity("", "", strings.Repeat("a", 65)),
			`hostname: "` + strings.Repeat("a", 64) + `"... (65 bytes) is longer than 64 bytes; shorten it`},
		"good":     {checkIdentity("/work", "0:4294967294", "box-1.example"), ``},
		"defaults": {checkIdentity("", "", ""), ``},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, tt.got, tt.want) })
	}
}

func TestParseUser(t *testing.T) {
	for in, want := range map[string][2]uint32{"0": {0, 0}, "7": {7, 7}, "1:2": {1, 2}, "4294967294": {maxID, maxID}} {
		uid, gid, err := ParseUser(in)
		if err != nil || [2]uint32{uid, gid} != want {
			t.Errorf("ParseUser(%q) = %d, %d, %v", in, uid, gid, err)
		}
	}
	for _, in := range []string{"", ":", "1:", ":1", "-1", "1:2:3", "1_0", " 1", "4294967295", "１"} {
		if _, _, err := ParseUser(in); err == nil {
			t.Errorf("ParseUser(%q) is accepted", in)
		}
	}
}
