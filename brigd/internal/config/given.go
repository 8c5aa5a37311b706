package config

import "fmt"

// given has the settings that were given, by Flag.Path: the name under which each was, "--flag" or "FILE: path".
type given map[string]string

func (g given) has(path string) bool { return g[path] != "" }

// useless returns an error for the first of the settings that is given, if nothing would read them.
func (g given) useless(unread bool, text string, paths ...string) error {
	for _, path := range paths {
		if unread && g.has(path) {
			return wrong(true, path, text)
		}
	}
	return nil
}

// fault is what is wrong with a setting. Its text follows the name of the setting, which Parse knows.
type fault struct {
	path, text string
	args       []any
}

// wrong returns a fault if there is a problem.
func wrong(problem bool, path, text string, args ...any) error {
	if !problem {
		return nil
	}
	return &fault{path, text, args}
}

func (f *fault) Error() string { return f.of(f.path).Error() }

func (f *fault) of(name string) error {
	return fmt.Errorf("%s"+f.text, append([]any{name}, f.args...)...)
}

// The texts of a bound that is greater than the one above it.
const (
	more        = " is %v, more than --%s %v; change one"
	moreThanAll = " is %v, more than --%s %v, which %s have together; change one"
)
