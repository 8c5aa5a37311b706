package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"brig/nsjail"
)

// notEmpty sets a field whose zero value means the default, which an empty value would not say out loud.
func notEmpty[T ~string](to *T, value, example string) error {
	if value == "" {
		return fmt.Errorf("it is empty; write it as in %s, or leave the flag out", example)
	}
	*to = T(value)
	return nil
}

func setWorkdir(b *builder, v []string) error  { return notEmpty(&b.inv.spec.Workdir, v[0], "/work") }
func setUser(b *builder, v []string) error     { return notEmpty(&b.inv.spec.User, v[0], "1000:1000") }
func setHostname(b *builder, v []string) error { return notEmpty(&b.inv.spec.Hostname, v[0], "brig") }
func setNet(b *builder, v []string) error      { return notEmpty(&b.inv.spec.Net, v[0], "loopback") }
func setSeccomp(b *builder, v []string) error  { return notEmpty(&b.inv.spec.Seccomp, v[0], "default") }

func setSeccompTable(b *builder) error {
	b.inv.seccompTable = true
	return nil
}

func setTTY(b *builder, _ []string) error {
	b.inv.spec.TTY = true
	return nil
}

// asAlways sets nothing: it is for docker's flags that ask for what every jail does.
func asAlways(*builder, []string) error { return nil }

func setInit(b *builder, _ []string) error {
	b.inv.spec.NoInit = false
	return nil
}

func setNoInit(b *builder, _ []string) error {
	b.inv.spec.NoInit = true
	return nil
}

func setRequire(b *builder, v []string) error {
	for _, name := range strings.Split(v[0], ",") {
		b.add("require", &b.inv.spec.Require, name)
	}
	return nil
}

func setOptional(b *builder, v []string) error {
	for _, name := range strings.Split(v[0], ",") {
		b.add("optional", &b.inv.spec.Optional, name)
	}
	return nil
}

func setSpec(b *builder, v []string) error {
	data, err := b.read(v[0], nsjail.MaxSpecSize)
	if err != nil {
		return err
	}
	b.flag += " " + show(v[0])
	spec, err := nsjail.ParseSpec(data)
	if err != nil {
		return err
	}
	b.inv.spec, b.inv.specFile = *spec, v[0]
	return nil
}

func setReport(b *builder, v []string) error { return notEmpty(&b.inv.report, v[0], "report.json") }

func setReportFD(b *builder, v []string) error {
	fd, err := strconv.Atoi(v[0])
	if err != nil || fd < 1 {
		return fmt.Errorf("%s is not a descriptor to write to; write it as in --report-fd 3 3>report.json", show(v[0]))
	}
	b.inv.reportFD = fd
	return nil
}

func setJSON(b *builder, _ []string) error {
	b.inv.json = true
	return nil
}

// readFunc reads a file that a flag names, of at most limit bytes.
type readFunc func(name string, limit int) ([]byte, error)

// fileReader reads files of the caller; "-" is stdin. The bound keeps a wrong name, such as a device, from filling
// the memory.
func fileReader(stdin *os.File) readFunc {
	return func(name string, limit int) (data []byte, err error) {
		f := stdin
		if name != "-" {
			if f, err = os.Open(name); err != nil {
				return nil, fmt.Errorf("cannot read %s: %s; name a file that can be read", show(name), reason(err))
			}
			defer func() { err = errors.Join(err, f.Close()) }()
		}
		data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %s; name a file that can be read", show(name), reason(err))
		}
		if len(data) > limit {
			return nil, fmt.Errorf("%s is larger than %d bytes; shorten it", show(name), limit)
		}
		return data, nil
	}
}
