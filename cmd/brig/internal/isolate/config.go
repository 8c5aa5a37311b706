package isolate

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// Config is isolate's configuration file. Keys about uids are read and ignored: brig gives each payload of root's
// an unused uid of the host by itself.
type Config struct {
	Boxes      string // box_root
	Locks      string // lock_root
	Group      string // cg_root, if it is a path: the control group below which those of the boxes are made
	Count      int64  // num_boxes: ids are below it
	Restricted bool   // restricted_init: only root makes boxes
	CPUs, Mems map[int64]string
}

// maxConfig bounds the size of a configuration file.
const maxConfig = 1 << 20

// parseConfig reads a configuration file: a setting KEY=VALUE on each line, or a comment.
func parseConfig(data string) (*Config, error) {
	c := &Config{Count: math.MaxInt32, CPUs: map[int64]string{}, Mems: map[int64]string{}}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data += "\n"
	}
	lines := strings.Split(data, "\n")
	for i, line := range lines[:len(lines)-1] {
		if line == "" || line[0] == '#' {
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		key, v = strings.TrimRight(key, " \t"), strings.TrimLeft(v, " \t")
		err := errorf("Syntax error, expecting key=value")
		if ok && !strings.ContainsAny(key, " \t") {
			err = c.set(key, v)
		}
		if err != nil {
			return nil, errorf("Error in config file, line %d: %w", i+1, err)
		}
	}
	return c, nil
}

func (c *Config) set(key, v string) (err error) {
	if box, sub, ok := strings.Cut(key, "."); ok {
		return c.setBox(box, sub, v)
	}
	switch key {
	case "box_root":
		c.Boxes, err = absolute(v)
	case "lock_root":
		c.Locks, err = absolute(v)
	case "cg_root":
		if c.Group = v; strings.HasPrefix(v, "auto:") { // the file of isolate-cg-keeper, which brig does not need
			c.Group = ""
		}
	case "num_boxes":
		if c.Count, err = number(v); c.Count == 0 {
			c.Count = math.MaxInt32
		}
	case "restricted_init":
		var n int64
		n, err = number(v)
		c.Restricted = n != 0
	case "first_uid", "first_gid", "syscall_flags":
		_, err = number(v)
	case "subid_user":
	default:
		err = errorf("Unknown configuration item %s", words.Quote(key))
	}
	return err
}

func (c *Config) setBox(box, sub, v string) error {
	id, err := strconv.ParseUint(strings.TrimPrefix(box, "box"), 10, 31)
	if err != nil || !strings.HasPrefix(box, "box") {
		return errorf("Unknown configuration section %s", words.Quote(box))
	}
	switch sub {
	case "cpus":
		c.CPUs[int64(id)] = v
	case "mems":
		c.Mems[int64(id)] = v
	default:
		return errorf("Unknown per-box configuration item %s", words.Quote(sub))
	}
	return nil
}

func absolute(v string) (string, error) {
	if !filepath.IsAbs(v) {
		return "", fmt.Errorf("%s is not an absolute path", words.Quote(v))
	}
	return filepath.Clean(v), nil
}

// readConfig reads the file that BRIG_ISOLATE_CONFIG names. Without it root has isolate's own, if there is one, and an
// ordinary user $XDG_CONFIG_HOME/isolate, since the directories in isolate's are root's.
func readConfig(root bool) (*Config, error) {
	files := []string{"/usr/local/etc/isolate", "/etc/isolate"}
	if !root {
		files = []string{filepath.Join(sys.UserDir("XDG_CONFIG_HOME", ".config"), "isolate")}
	}
	named := os.Getenv("BRIG_ISOLATE_CONFIG")
	if named != "" {
		files = []string{named}
	}
	text := ""
	for _, name := range files {
		data, err := readSmall(name)
		if os.IsNotExist(err) && named == "" {
			continue
		}
		if err != nil {
			return nil, errorf("Cannot read the configuration: %w", err)
		}
		text = string(data)
		break
	}
	c, err := parseConfig(text)
	if err != nil {
		return nil, err
	}
	boxes, locks := "/var/local/lib/isolate", "/run/isolate/locks"
	if !root {
		boxes = filepath.Join(sys.UserDir("XDG_DATA_HOME", ".local/share"), "isolate")
		locks = filepath.Join(cmp.Or(c.Boxes, boxes), "locks")
	}
	c.Boxes, c.Locks = cmp.Or(c.Boxes, boxes), cmp.Or(c.Locks, locks)
	return c, nil
}

// readSmall reads a file of at most maxConfig bytes.
func readSmall(name string) ([]byte, error) {
	if err := nsjail.AnswerFile(name); err != nil {
		return nil, err
	}
	st, err := os.Stat(name)
	if err == nil && (!st.Mode().IsRegular() || st.Size() > maxConfig) {
		err = fmt.Errorf("%s is not a regular file of at most 1 MiB", words.Quote(name))
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}
