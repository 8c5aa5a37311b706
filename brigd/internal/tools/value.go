package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value is the value of a parameter in a call, in the texts that templates use.
type value struct {
	text  string   // of a scalar; the JSON of an array or object
	list  []string // an array's elements
	truth bool     // a boolean's value; true for every other type
}

// read parses a JSON value of the parameter's type. wrong describes an invalid value and the expected form.
func (p *Param) read(data json.RawMessage) (v value, wrong string) {
	switch p.Type {
	case "array":
		v, wrong = p.readArray(data)
	case "object":
		v, wrong = readObject(data)
	default:
		v.truth = true
		v.text, wrong = scalar(data, p.Type)
		if p.Type == "boolean" {
			v.truth = v.text == "true"
		}
	}
	if wrong != "" {
		return v, wrong
	}
	return v, p.check(v)
}

func (p *Param) readArray(data json.RawMessage) (v value, wrong string) {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return v, "it is " + kindJSON(data) + ": write a list"
	}
	if len(items) > *p.MaxItems {
		return v, fmt.Sprintf("it has %d elements: write at most %d", len(items), *p.MaxItems)
	}
	for i, item := range items {
		text, wrong := scalar(item, p.Items.Type)
		if wrong != "" {
			return v, fmt.Sprintf("element %d: %s", i, wrong)
		}
		v.list = append(v.list, text)
	}
	var out bytes.Buffer
	_ = json.Compact(&out, data) // it is JSON
	v.text, v.truth = out.String(), true
	return v, ""
}

func readObject(data json.RawMessage) (v value, wrong string) {
	var out bytes.Buffer
	if text := bytes.TrimSpace(data); len(text) == 0 || text[0] != '{' || json.Compact(&out, text) != nil {
		return v, "it is " + kindJSON(data) + ": write an object"
	}
	return value{text: out.String(), truth: true}, ""
}

// scalar returns the text of a JSON value of a scalar type.
func scalar(data json.RawMessage, kind string) (text, wrong string) {
	data = bytes.TrimSpace(data)
	switch kind {
	case "string":
		if len(data) > 0 && data[0] == '"' && json.Unmarshal(data, &text) == nil {
			return text, ""
		}
		return "", "it is " + kindJSON(data) + ": write a text"
	case "boolean":
		if text = string(data); text == "true" || text == "false" {
			return text, ""
		}
		return "", "it is " + kindJSON(data) + ": write true or false"
	}
	var f float64
	if len(data) == 0 || data[0] != '-' && (data[0] < '0' || data[0] > '9') || json.Unmarshal(data, &f) != nil {
		return "", "it is " + kindJSON(data) + ": write a number"
	}
	if kind == "number" {
		return strconv.FormatFloat(f, 'g', -1, 64), ""
	}
	if i, err := strconv.ParseInt(string(data), 10, 64); err == nil {
		return strconv.FormatInt(i, 10), ""
	}
	if f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return "", "it is " + kindJSON(data) + ": write a whole number"
	}
	return strconv.FormatInt(int64(f), 10), ""
}

func kindJSON(data json.RawMessage) string {
	switch text := strings.TrimSpace(string(data)); {
	case text == "":
		return "empty"
	case text[0] == '{':
		return "an object"
	case text[0] == '[':
		return "a list"
	case text[0] == '"':
		return "a text"
	case text[0] == '-' || text[0] >= '0' && text[0] <= '9':
		return "the number " + short(text)
	default:
		return short(text)
	}
}

// check describes which rule a value breaks, or returns "".
func (p *Param) check(v value) string {
	if len(p.enum) > 0 && !slices.ContainsFunc(p.enum, func(e value) bool { return e.text == v.text }) {
		var known []string
		for _, e := range p.enum {
			known = append(known, e.text)
		}
		return "it is not among the values that it may have: write one of " + strings.Join(known, ", ")
	}
	if p.Type == "integer" || p.Type == "number" {
		f, _ := strconv.ParseFloat(v.text, 64) // scalar has written it
		if p.Minimum != nil && f < *p.Minimum {
			return fmt.Sprintf("it is less than %g: write %g or more", *p.Minimum, *p.Minimum)
		}
		if p.Maximum != nil && f > *p.Maximum {
			return fmt.Sprintf("it is more than %g: write %g or less", *p.Maximum, *p.Maximum)
		}
		return ""
	}
	size, what, least, most := utf8.RuneCountInString(v.text), "characters", p.MinLength, p.MaxLength
	if p.Type == "array" {
		size, what, least, most = len(v.list), "elements", p.MinItems, p.MaxItems
	}
	if least != nil && size < *least {
		return fmt.Sprintf("it has %d %s: write at least %d", size, what, *least)
	}
	if most != nil && size > *most {
		return fmt.Sprintf("it has %d %s: write at most %d", size, what, *most)
	}
	if p.pattern != nil && !p.pattern.MatchString(v.text) {
		return "it does not match the pattern " + p.Pattern
	}
	return ""
}
