package convertcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/cmd/brig/internal/convert/compose"
	"brig/cmd/brig/internal/daemon"
	"brig/cmd/brig/internal/wish"
	"brig/internal/sys"
	"brig/internal/words"
)

// compose converts FILE [SERVICE].
func (c *conversion) compose(args []string) (*convert.Jail, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, errors.New("compose takes a file and a service; write brig convert compose compose.yaml SERVICE")
	}
	f := &compose.File{}
	file, err := sys.Abs(args[0])
	dir := filepath.Dir(file)
	if err == nil {
		f.Dir = dir
		f.Doc, err = c.readYAML(args[0])
	}
	if err == nil {
		f.Lookup, err = c.variables(filepath.Join(dir, ".env"))
	}
	if err != nil {
		return nil, err
	}
	j, err := compose.Convert(f, strings.Join(args[1:], ""))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", words.Quote(args[0]), words.Printable(err.Error())) // names of the file
	}
	return j, nil
}

// readYAML returns what `brigd yaml` reads: a YAML library would slow down each start of brig.
func (c *conversion) readYAML(name string) (doc any, err error) {
	path, err := daemon.Find("which reads YAML")
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(path, "yaml", name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.std.In, &out, &errs
	if err := cmd.Run(); err != nil {
		if line, ok := strings.CutPrefix(strings.TrimSpace(errs.String()), "brigd yaml: "); ok {
			return nil, errors.New(line)
		}
		return nil, fmt.Errorf("brigd yaml failed: %w; install it again", err)
	}
	d := json.NewDecoder(&out)
	d.UseNumber()
	err = d.Decode(&doc)
	return doc, err
}

// variables returns the caller's variables, and those of a .env file if it is there.
func (c *conversion) variables(file string) (func(string) (string, bool), error) {
	own := map[string]string{}
	data, err := wish.FileReader(nil)(file, wish.MaxFile)
	if _, absent := os.Stat(file); err != nil && !errors.Is(absent, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if value = strings.TrimSpace(value); len(value) > 1 && strings.IndexByte(`"'`, value[0]) >= 0 &&
			value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		own[strings.TrimSpace(name)] = value
	}
	return func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		value, ok := own[name]
		return value, ok
	}, nil
}
