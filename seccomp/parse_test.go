package seccomp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const minimal = `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}`

func entry(s string) string {
	return `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW",` + s + `}]}`
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", ``, `seccomp profile: line 1 column 1: the JSON ends too early; close every string, list and object`},
		{"cut off", minimal[:40], `the JSON ends too early`},
		{"comment", "{\n// x\n}", `line 2 column 1: the text is not JSON: invalid character '/'`},
		{"trailing", minimal + "{}", `there is data after the closing brace`},
		{"not utf-8", "{\"a\xff\":1}", `the text is not UTF-8`},
		{"array", `[]`, `it is a list; write an object`},
		{"deep", strings.Repeat("[", 100), `nested deeper than 16`},
		{"too long", strings.Repeat(" ", MaxSize+1), `the text is larger than 1048576 bytes`},
		{"no default", `{"syscalls":[]}`, `defaultAction: is missing`},
		{"unknown key", `{"defaultaction":"SCMP_ACT_ERRNO"}`, `"defaultaction" is not a key here; did you mean defaultAction?`},
		{"hostile key", `{"\u001b[31m":1}`, `"\x1b[31m" is not a key here`},
		{"twice", `{"syscalls":[],"syscalls":[]}`, `syscalls: the key is there twice`},
		{"action", `{"defaultAction":"SCMP_ACT_ERNO"}`, `defaultAction: unknown action "SCMP_ACT_ERNO"; did you mean SCMP_ACT_ERRNO?`},
		{"far action", `{"defaultAction":"no"}`, `unknown action "no"; write one of SCMP_ACT_ALLOW`},
		{"notify", `{"defaultAction":"SCMP_ACT_NOTIFY"}`, `brig has no notification agent`},
		{"listener", `{"listenerPath":"/x"}`, `listenerPath: brig has no notification agent`},
		{"flag", `{"defaultAction":"SCMP_ACT_ERRNO","flags":["SECCOMP_FILTER_FLAG_LOGG"]}`, `flags[0]: unknown flag "SECCOMP_FILTER_FLAG_LOGG"; did you mean SECCOMP_FILTER_FLAG_LOG?`},
		{"wait flag", `{"defaultAction":"SCMP_ACT_ERRNO","flags":["SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"]}`, `flags[0]: "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV" is for`},
		{"arch", `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86-64"]}`, `architectures[0]: unknown architecture "SCMP_ARCH_X86-64"; did you mean SCMP_ARCH_X86_64?`},
		{"archMap", `{"defaultAction":"SCMP_ACT_ERRNO","archMap":[{"architecture":"x"}]}`, `archMap[0].architecture: unknown architecture`},
		{"both arch", `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86"],"archMap":[{"architecture":"SCMP_ARCH_X86"}]}`, `architectures: stands beside archMap`},
		{"val", entry(`"args":[{"index":1,"op":"SCMP_CMP_NE","val":2}]`), `syscalls[0].args[0]: "val" is not a key here; did you mean value?`},
		{"no value", entry(`"args":[{"index":1,"op":"SCMP_CMP_NE"}]`), `syscalls[0].args[0].value: is missing`},
		{"index", entry(`"args":[{"index":6,"value":1,"op":"SCMP_CMP_NE"}]`), `syscalls[0].args[0].index: is 6; write 0 to 5`},
		{"op", entry(`"args":[{"index":0,"value":1,"op":"SCMP_CMP_EG"}]`), `syscalls[0].args[0].op: unknown operator "SCMP_CMP_EG"; did you mean SCMP_CMP_`},
		{"negative", entry(`"args":[{"index":0,"value":-1,"op":"SCMP_CMP_EQ"}]`), `value: it is the number -1; write a whole number from 0 to 18446744073709551615`},
		{"fraction", entry(`"args":[{"index":0,"value":1.5,"op":"SCMP_CMP_EQ"}]`), `value: it is the number 1.5; write a whole number`},
		{"not a number", entry(`"args":[{"index":"0","value":1,"op":"SCMP_CMP_EQ"}]`), `index: it is "0"; write a whole number`},
		{"mask", entry(`"args":[{"index":0,"value":1,"valueTwo":2,"op":"SCMP_CMP_MASKED_EQ"}]`), `valueTwo: 0x2 has bits outside the mask (value) 0x1, so it never matches`},
		{"valueTwo", entry(`"args":[{"index":0,"value":1,"valueTwo":2,"op":"SCMP_CMP_EQ"}]`), `valueTwo: has no meaning beside SCMP_CMP_EQ`},
		{"errno of allow", entry(`"errnoRet":1`), `syscalls[0].errnoRet: has no meaning beside SCMP_ACT_ALLOW`},
		{"errno", `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":4096}`, `defaultErrnoRet: is 4096; write an errno from 0 to 4095`},
		{"errno name", `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrno":"EPRM"}`, `defaultErrno: unknown errno "EPRM"`},
		{"errno conflict", `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":1,"defaultErrno":"ENOSYS"}`, `is 38, but the other errno key says 1`},
		{"kernel", entry(`"includes":{"minKernel":"4"}`), `syscalls[0].includes.minKernel: is "4"; write two numbers`},
		{"kernel 3", entry(`"excludes":{"minKernel":"4.8.1"}`), `syscalls[0].excludes.minKernel: is "4.8.1"`},
		{"cap", entry(`"includes":{"caps":["CAP_SYS_ADMNI"]}`), `includes.caps[0]: unknown capability "CAP_SYS_ADMNI"; did you mean CAP_SYS_ADMIN?`},
		{"filter arch", entry(`"includes":{"arches":["amd46"]}`), `includes.arches[0]: unknown architecture "amd46"; did you mean`},
		{"name and names", entry(`"name":"write"`), `has both "name" and "names"`},
		{"no names", `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"action":"SCMP_ACT_ALLOW"}]}`, `syscalls[0].names: names no system call`},
		{"bad name", `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"name":"a\nb","action":"SCMP_ACT_ALLOW"}]}`, `syscalls[0].names[0]: is "a\nb"`},
		{"no action", `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"name":"a"}]}`, `syscalls[0].action: is missing`},
		{"names", `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":"a","action":"SCMP_ACT_ALLOW"}]}`, `syscalls[0].names: it is "a"; write a list`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.in))
			if err == nil {
				t.Fatal("no error")
			}
			var pe *ProfileError
			if !errors.As(err, &pe) {
				t.Errorf("%T is not a *ProfileError", err)
			}
			if !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("got  %q\nwant %q", err, tt.want)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	for _, in := range []string{
		minimal,
		`{"defaultAction":"SCMP_ACT_LOG"}`,
		entry(`"args":null,"includes":null,"excludes":{},"comment":null`),
		entry(`"args":[{"index":5,"value":18446744073709551615,"valueTwo":0,"op":"SCMP_CMP_EQ"}]`),
	} {
		if _, err := Parse([]byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// FuzzParse also resolves and compiles, which ends in the comparison of the filter with the table's meaning.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../testdata/seccomp/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		defer func() {
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		}()
		p, err := Parse(data)
		if err != nil {
			if s := err.Error(); strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
				t.Errorf("unsafe error %q", s)
			}
			return
		}
		table, err := p.Resolve(Target{Arch: "amd64", KernelMajor: 6})
		if err != nil {
			return
		}
		_ = table.String()
		if _, err := table.Compile(); err != nil && strings.Contains(err.Error(), "defect") {
			t.Error(err)
		}
	})
}
