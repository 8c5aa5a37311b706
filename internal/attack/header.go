// Package attack reads the attacks of testdata and prepares what they find on the host. The suites run them in jails
// with a fence taken out, and brigd verify runs them in the jail that somebody is going to use.
package attack

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Attack is a program of testdata/escape; testdata/escape/README.md describes its header.
type Attack struct {
	// Name is the name of its file, and Text the file.
	Name, Text string
	// Claim is the sentence that it attacks.
	Claim string
	// Args are its arguments, and Setups the names of what is prepared on the host.
	Args, Setups []string
	// Specs are the changes of the default jail, as JSON.
	Specs []string
	// Plans are changes of the plan with and without the mitigation, and Offs what switches the mitigation off.
	Plans, Offs []Off
	// NoOff is why no mitigation can be switched off.
	NoOff string
	// Unless are settings, as JSON, with which a jail does not claim to stop the attack, besides those of Offs.
	Unless []string
	// Harm is what else happens on the host if the attack succeeds.
	Harm string
	// Lane is "root" or "user" if the attack is for that caller only, and LaneReason tells why.
	Lane, LaneReason string
	// MayRefuse means that brig may also refuse to make the jail.
	MayRefuse bool
	// Landlock is the ABI of the kernel's Landlock without which there is no such claim; 0 for any kernel.
	Landlock int
}

// Off is one way to weaken the jail, for one caller only if Lane is set.
type Off struct{ Lane, Kind, Value string }

// Load reads the attacks of a directory.
func Load(files fs.FS, dir string) (list []*Attack, err error) {
	err = Each(files, dir, func(name, text string) error {
		a, err := Parse(name, text)
		list = append(list, a)
		return err
	})
	return list, err
}

// Each calls f with the name and text of each program of a directory. An error of f names the program.
func Each(files fs.FS, dir string, f func(name, text string) error) error {
	names, err := fs.ReadDir(files, dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.Name() == "README.md" {
			continue
		}
		text, err := fs.ReadFile(files, path.Join(dir, n.Name()))
		if err == nil {
			err = f(n.Name(), string(text))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name(), err)
		}
	}
	return nil
}

// Parse reads the comment that an attack begins with.
func Parse(name, text string) (*Attack, error) {
	a := &Attack{Name: name, Text: text}
	var err error
	if a.Claim, err = Header(text, a.field); err != nil {
		return nil, err
	}
	if len(a.Offs) == 0 && a.NoOff == "" {
		return nil, fmt.Errorf("no off: write what switches the mitigation off, or none and the reason")
	}
	return a, nil
}

// Header reads the comment that a program begins with: a sentence, and then fields among prose. It calls field with the
// key and value of each.
func Header(text string, field func(key, value string) error) (claim string, err error) {
	for i, line := range strings.Split(text, "\n") {
		line, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		if i == 0 {
			claim = line
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.Contains(key, " ") {
			continue // prose
		}
		if err := field(key, strings.TrimSpace(value)); err != nil {
			return "", err
		}
	}
	if len(claim) < 12 || !strings.HasSuffix(claim, ".") {
		return "", fmt.Errorf("the first line %q is not a claim: write a sentence", claim)
	}
	return claim, nil
}

func (a *Attack) field(key, value string) error {
	switch key {
	case "args":
		a.Args = strings.Fields(value)
	case "spec":
		a.Specs = append(a.Specs, value)
	case "setup":
		if setups[value] == nil {
			return fmt.Errorf("there is no setup %q", value)
		}
		a.Setups = append(a.Setups, value)
	case "root", "user":
		a.Lane, a.LaneReason = key, value
	case "refusal":
		a.MayRefuse = true
	case "unless":
		a.Unless = append(a.Unless, value)
	case "landlock":
		var err error
		a.Landlock, err = strconv.Atoi(value)
		return err
	case "harm":
		a.Harm = value
	case "plan":
		o, err := parseOff(value)
		a.Plans = append(a.Plans, o)
		return err
	case "off":
		if reason, ok := strings.CutPrefix(value, "none, "); ok {
			a.NoOff = reason
			return nil
		}
		o, err := parseOff(value)
		a.Offs = append(a.Offs, o)
		return err
	default:
		return fmt.Errorf("%q is not a field of the header", key)
	}
	return nil
}

func parseOff(text string) (o Off, err error) {
	for _, l := range []string{"root", "user"} {
		if rest, ok := strings.CutPrefix(text, l+" "); ok {
			o.Lane, text = l, rest
		}
	}
	var ok bool
	if o.Kind, o.Value, ok = strings.Cut(text, "="); !ok {
		return o, fmt.Errorf("%q is not KIND=VALUE", text)
	}
	return o, nil
}

// Mitigation returns what is switched off, for a reader.
func (a *Attack) Mitigation() string {
	if a.NoOff != "" {
		return "none: " + a.NoOff
	}
	var parts []string
	for _, o := range a.Offs {
		s := o.Kind + "=" + o.Value
		if o.Lane != "" {
			s = o.Lane + ": " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

// Title returns the name without the ending.
func (a *Attack) Title() string { return strings.TrimSuffix(a.Name, path.Ext(a.Name)) }

// Command returns the words that run the attack in a jail that has its file in /escape.
func (a *Attack) Command(s *Scene) []string {
	program := map[string]string{".py": "python3", ".sh": "sh", ".pl": "perl"}[path.Ext(a.Name)]
	words := []string{program, Dir + "/" + a.Name}
	for _, arg := range a.Args {
		words = append(words, strings.Fields(s.Expand(arg))...)
	}
	return words
}

// Dir is where attacks find themselves and their module kernel.py.
const Dir = "/escape"

var cve = regexp.MustCompile(`CVE-\d{4}-\d+`)

// CVEs returns the vulnerabilities that the claim names.
func (a *Attack) CVEs() []string { return cve.FindAllString(a.Claim, -1) }
