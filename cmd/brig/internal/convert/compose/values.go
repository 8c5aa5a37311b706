package compose

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/internal/words"
)

// members returns the keys of a mapping in alphabetical order, and their values. Nil is an empty mapping.
func (r *reader) members(at string, v any) iter.Seq2[string, any] {
	m := r.object(at, v)
	return func(yield func(string, any) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// object returns a mapping. Nil is an empty one.
func (r *reader) object(at string, v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		r.fail(at, "it is %s; write keys with values", kind(v))
	}
	return m
}

// list returns the elements of a list, or a single value.
func (r *reader) list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// names returns the elements of a list of texts, or the keys of a mapping.
func (r *reader) names(at string, v any) (names []string) {
	if m, ok := v.(map[string]any); ok {
		return slices.Sorted(maps.Keys(m))
	}
	if v == nil {
		return nil
	}
	for _, e := range r.list(v) {
		names = append(names, r.text(at, e))
	}
	return names
}

// text returns a scalar as it is written.
func (r *reader) text(at string, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	case nil:
		return ""
	}
	r.fail(at, "it is %s; write a text", kind(v))
	return ""
}

// bool returns a truth value, which YAML 1.1 and docker compose write in several words. Nil is false.
func (r *reader) bool(at string, v any) bool {
	switch text := strings.ToLower(r.text(at, v)); text {
	case "true", "yes", "y", "on":
		return true
	case "", "false", "no", "n", "off":
	default:
		r.fail(at, "%s is neither true nor false; write one of them", words.Quote(text))
	}
	return false
}

func kind(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	}
	return words.Quote(fmt.Sprint(v))
}

// words returns a command: a list, or a text that is divided as a shell would, without expansion.
func (r *reader) words(at string, v any) []string {
	list, ok := v.([]any)
	if !ok {
		parts, err := split(r.text(at, v))
		if err != "" {
			r.fail(at, "%s", err)
		}
		return parts
	}
	parts := []string{}
	for _, e := range list {
		parts = append(parts, r.text(at, e))
	}
	return parts
}

// split divides a text into words at blanks that are not quoted, and returns what is wrong with it.
func split(s string) (list []string, wrong string) {
	list = []string{}
	word, inWord, quote := strings.Builder{}, false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			if quote == '"' && s[i] != '"' && s[i] != '\\' {
				word.WriteByte('\\')
			}
			word.WriteByte(s[i])
			inWord = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if inWord {
				list = append(list, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, "a quote is not closed; close it, or write a list"
	}
	if inWord {
		list = append(list, word.String())
	}
	return list, ""
}

// expand replaces variables in all texts of a value, as $NAME, ${NAME} or ${NAME:-default}. Keys have none.
func (r *reader) expand(at string, v any) any {
	switch v := v.(type) {
	case string:
		return os.Expand(v, func(name string) string { return r.variable(at, name) })
	case []any:
		for i := range v {
			v[i] = r.expand(at, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = r.expand(at+"."+k, v[k])
		}
	}
	return v
}

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

// variable returns what stands for the text in ${}: a name, and perhaps an operator and another text.
func (r *reader) variable(at, text string) string {
	if text == "$" {
		return "$" // $$ is a dollar
	}
	name, word := text, ""
	if i := strings.IndexAny(text, ":-?+"); i >= 0 {
		name, word = text[:i], text[i:]
	}
	value, set := r.Lookup(name)
	if op := strings.TrimPrefix(word, ":"); op != word { // an empty value counts as none
		set, word = value != "", op
	}
	switch {
	case name == "" || strings.Trim(name, nameBytes) != "" || strings.Contains(word, "$") ||
		word != "" && strings.IndexByte("-?+", word[0]) < 0:
		r.fail(at, "%s is not read; write ${NAME:-default}, or %s", words.Quote("${"+text+"}"), flat)
	case word == "":
		if !set {
			r.Note(at, convert.Ignored, "the variable "+name+" is not set, so it is empty")
		}
		return value
	case word[0] == '+' && set, word[0] == '-' && !set:
		return word[1:]
	case word[0] == '?' && !set:
		r.fail(at, "the variable %s is not set: %s; set it", words.Quote(name), words.Quote(word[1:]))
	case set && word[0] != '+':
		return value
	}
	return ""
}
