package repository

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"brig/internal/words"
)

// setting is a setting of git-config(1). Section and name are in lower case, a subsection as it is.
type setting struct {
	section, sub, name string
	key                string // section.name
	value              string
}

var errSettings = errors.New("bad config line")

// parse reads settings as git(1) does (config.c). After a line that git refuses, which ends git, it returns what was
// before, and an error.
func parse(text string) (list []setting, err error) {
	p := parser{text: strings.TrimPrefix(text, "\ufeff")}
	section, sub := "", ""
	for {
		c, end := p.next()
		switch {
		case end:
			return list, nil
		case c == '\n' || space(c):
		case c == '#' || c == ';':
			for c != '\n' {
				c, _ = p.next()
			}
		case c == '[':
			if section, sub, err = p.section(); err != nil {
				return list, err
			}
		case !letter(c):
			return list, errSettings
		default:
			name, value, err := p.setting(c)
			if err != nil {
				return list, err
			}
			list = append(list, setting{section, sub, name, section + "." + name, value})
		}
	}
}

// parser reads characters as git does: CR LF is LF, and the end of the file is a LF as well.
type parser struct {
	text string
	at   int
}

func (p *parser) next() (c byte, end bool) {
	if p.at >= len(p.text) {
		p.at++
		return '\n', true
	}
	c = p.text[p.at]
	p.at++
	if c == '\r' && p.at < len(p.text) && p.text[p.at] == '\n' {
		p.at++
		c = '\n'
	}
	return c, false
}

// section reads [section], [section.sub] and [section "sub"].
func (p *parser) section() (name, sub string, err error) {
	var b strings.Builder
	for {
		c, end := p.next()
		switch {
		case end:
			return "", "", errSettings
		case c == ']':
			name, sub, _ = strings.Cut(b.String(), ".")
			return name, sub, nil
		case c == '\n':
			return "", "", errSettings
		case space(c):
			sub, err = p.subsection()
			name, _, _ = strings.Cut(b.String(), ".")
			return name, sub, err
		case !keyChar(c) && c != '.':
			return "", "", errSettings
		}
		b.WriteByte(lower(c))
	}
}

func (p *parser) subsection() (string, error) {
	c, _ := p.next()
	for c != '\n' && space(c) {
		c, _ = p.next()
	}
	if c != '"' {
		return "", errSettings
	}
	var b strings.Builder
	for {
		if c, _ = p.next(); c == '"' {
			break
		}
		if c == '\\' {
			c, _ = p.next()
		}
		if c == '\n' {
			return "", errSettings
		}
		b.WriteByte(c)
	}
	if c, _ = p.next(); c != ']' {
		return "", errSettings
	}
	return b.String(), nil
}

// setting reads "name = value", whose first character has been read.
func (p *parser) setting(c byte) (name, value string, err error) {
	var b strings.Builder
	for keyChar(c) {
		b.WriteByte(lower(c))
		c, _ = p.next()
	}
	for c == ' ' || c == '\t' {
		c, _ = p.next()
	}
	if c == '\n' { // a name alone is true
		return b.String(), "", nil
	}
	if c != '=' {
		return "", "", errSettings
	}
	value, err = p.value()
	return b.String(), value, err
}

func (p *parser) value() (string, error) {
	var b []byte
	quoted, comment, trim := false, false, -1
	for {
		c, _ := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errSettings
		case c == '\n':
			if trim >= 0 {
				b = b[:trim]
			}
			return string(b), nil
		case comment:
			continue
		case space(c) && !quoted:
			if trim < 0 {
				trim = len(b)
			}
			if len(b) > 0 {
				b = append(b, c)
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		}
		trim = -1
		switch c {
		case '"':
			quoted = !quoted
			continue
		case '\\':
			if c, _ = p.next(); c == '\n' {
				continue
			}
			i := strings.IndexByte(`tbn\"`, c)
			if i < 0 {
				return "", errSettings
			}
			c = "\t\b\n\\\""[i]
		}
		b = append(b, c)
	}
}

func space(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' }
func letter(c byte) bool { return lower(c) >= 'a' && lower(c) <= 'z' }
func keyChar(c byte) bool {
	return letter(c) || c >= '0' && c <= '9' || c == '-'
}
func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// settings returns the settings of a file and of those that it includes. The file is at rel from a directory without
// symbolic links. What it includes is relative to the directory of that name, not of what a link leads to.
func (f *finder) settings(dir, rel string, depth int) []setting {
	name := join(dir, rel)
	if list, done := f.texts[name]; done {
		return list
	}
	f.texts[name] = nil // an include of itself
	text, err := f.read(name)
	if err != nil { // git cannot read it either
		return nil
	}
	own, err := parse(text)
	if err != nil {
		f.problem(name, "cannot be parsed as settings of git",
			words.Plain("correct it: git config --list --file "+words.Shell(name)))
	}
	var list []setting
	for _, s := range own {
		list = append(list, s)
		if s.name != "path" || s.section != "include" && s.section != "includeif" {
			continue
		}
		at := f.expand(s.value)
		if at == "" {
			continue
		}
		if depth >= maxIncludes { // git ends with an error
			f.problem(name, fmt.Sprintf("is included by a chain of %d files, and what it includes was not read", maxIncludes),
				"include it directly")
			continue
		}
		base, at := dir, at
		if path.IsAbs(at) {
			base, at = "/", strings.TrimLeft(at, "/")
		} else if i := strings.LastIndexByte(rel, '/'); i >= 0 {
			at = rel[:i+1] + at
		}
		f.add(Path{Dir: base, Rel: at})
		list = append(list, f.settings(base, at, depth+1)...)
	}
	f.texts[name] = list
	return list
}
