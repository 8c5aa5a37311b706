package nsjail

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/scanner"
	"unicode/utf8"

	"brig/internal/words"
)

// maxDepth is how deep messages may be nested.
const maxDepth = 16

// field is a field of a message: the text of a scalar, or the fields of a message.
type field struct {
	name, value string
	line        int
	sub         []field
}

// reader reads protobuf's text format: protobuf.dev, "Text Format Language Specification". Its words, numbers and texts
// in double quotes are those of Go.
type reader struct {
	scanner.Scanner
	token rune // the one that follows
	wrong error
}

// parse returns the fields of a file.
func parse(text string) ([]field, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not UTF-8; write it in UTF-8")
	}
	r := &reader{}
	r.Init(strings.NewReader(text))
	r.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanStrings | scanner.ScanChars
	r.Error = func(_ *scanner.Scanner, msg string) {
		if r.wrong == nil && msg != "invalid char literal" { // single quotes are for texts here
			r.wrong = errors.New(msg + "; correct it")
		}
	}
	r.next()
	list, err := r.message(scanner.EOF, 0)
	if err == nil {
		err = r.wrong
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", r.Position.Line, err)
	}
	return list, nil
}

// next takes a token, and finds the one after it.
func (r *reader) next() {
	for r.token = r.Scan(); r.token == '#'; r.token = r.Scan() { // a comment
		for c := r.Next(); c != '\n' && c != scanner.EOF; {
			c = r.Next()
		}
	}
}

// take takes a token if it is this one.
func (r *reader) take(token rune) bool {
	if r.token != token {
		return false
	}
	r.next()
	return true
}

// message takes fields up to a token that ends it.
func (r *reader) message(end rune, depth int) (list []field, err error) {
	list = []field{}
	for !r.take(end) {
		if depth > maxDepth {
			return nil, fmt.Errorf("messages are nested more than %d deep; nest them less", maxDepth)
		}
		f := field{name: r.TokenText(), line: r.Position.Line}
		if r.wrong != nil || !r.take(scanner.Ident) {
			return nil, fmt.Errorf("%s is no name of a field; correct it", words.Quote(f.name))
		}
		colon := r.take(':')
		if !r.take('[') {
			if f, err = r.value(f, colon, depth); err != nil {
				return nil, err
			}
			list = append(list, f)
		} else {
			for first := true; !r.take(']'); first = false {
				if !first && !r.take(',') {
					return nil, errors.New("a list is not closed; write a ]")
				}
				element, err := r.value(f, colon, depth)
				if err != nil {
					return nil, err
				}
				list = append(list, element)
			}
		}
		if !r.take(',') {
			r.take(';')
		}
	}
	return list, nil
}

// value takes a message, texts after each other, which are one, a number or a word.
func (r *reader) value(f field, colon bool, depth int) (_ field, err error) {
	switch {
	case r.wrong != nil: // a text that is not closed
		return f, r.wrong
	case r.take('{'):
		f.sub, err = r.message('}', depth+1)
		return f, err
	case r.take('<'):
		f.sub, err = r.message('>', depth+1)
		return f, err
	case !colon:
		return f, fmt.Errorf("%s has no value; write %s: and a value", words.Quote(f.name), words.Short(f.name, 40))
	case r.token == scanner.String || r.token == scanner.Char:
		for err == nil && r.wrong == nil && (r.token == scanner.String || r.token == scanner.Char) {
			text, inner := r.TokenText(), ""
			if r.token == scanner.Char {
				text = `"` + strings.NewReplacer(`\\`, `\\`, `\"`, `\"`, `\'`, `'`, `"`, `\"`).Replace(text[1:len(text)-1]) + `"`
			}
			if inner, err = strconv.Unquote(text); err != nil {
				err = fmt.Errorf("%s is no text; write \\n, \\\\ or \\x00 for bytes", words.Quote(text))
			}
			f.value += inner
			r.next()
		}
		return f, err
	}
	sign := ""
	if r.take('-') {
		sign = "-"
	}
	f.value = sign + r.TokenText()
	if r.token != scanner.Ident && r.token != scanner.Int && r.token != scanner.Float {
		return f, fmt.Errorf("%s has no value; write one", words.Quote(f.name))
	}
	r.next()
	return f, nil
}
