package wish

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"

	"brig/internal/words"
)

// Origin tells where each part of a Spec comes from, so that a problem of the Spec is reported in the caller's words.
type Origin struct {
	input map[string]string // by the path in the Spec ("mounts[2]"): the caller's input for it ("--bind")
	file  string            // --spec, or ""
}

// Of returns the input that set a path of the Spec itself, or "".
func (o *Origin) Of(path string) string { return o.input[path] }

// Set records the input for a path.
func (o *Origin) Set(path, input string) { o.input[path] = input }

// Text returns what Inherit reads, in at most so many bytes, or "".
func (o *Origin) Text(most int) string {
	text, err := json.Marshal(&inherited{o.file, o.input})
	if err != nil || len(text) > most {
		return ""
	}
	return string(text)
}

type inherited struct {
	File  string            `json:"file"`
	Input map[string]string `json:"input"`
}

// Inherit takes the inputs of the command line that has made the --spec of this one. The flags of this one, which have
// changed it, stay. It returns without a change if text is none of Text's.
func (o *Origin) Inherit(text string) {
	var from inherited
	if json.Unmarshal([]byte(text), &from) != nil || from.Input == nil {
		return
	}
	o.file = from.File
	for path, input := range from.Input {
		if o.input[path] == "" {
			o.input[path] = input
		}
	}
}

// Where returns the flag that set a path of the Spec, or the path itself.
func (o *Origin) Where(path string) string {
	for p := path; p != ""; p = parent(p) {
		if flag, ok := o.input[p]; ok {
			if p == "args" {
				return argName(path)
			}
			return flag
		}
	}
	if o.file != "" {
		return "--spec " + words.Quote(o.file) + ": " + path
	}
	return path
}

// parent cuts the last key or index off a path.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '.'), strings.LastIndexByte(path, '['), 0)]
}

// argName returns the name of "args[2]" as the caller counts arguments.
func argName(path string) string {
	switch i := strings.TrimSuffix(strings.TrimPrefix(path, "args["), "]"); i {
	case "args":
		return "command"
	case "0":
		return "command name"
	default:
		return "argument " + i
	}
}

// namePlaces replaces "mounts[1]" and "limits.io[1]" in a reason by the flag that set it.
func (o *Origin) namePlaces(reason string) string {
	if !strings.Contains(reason, "mounts[") && !strings.Contains(reason, "limits.io[") {
		return reason
	}
	var places []string
	for p := range o.input {
		if (strings.HasPrefix(p, "mounts[") || strings.HasPrefix(p, "limits.io[")) && strings.HasSuffix(p, "]") {
			places = append(places, p)
		}
	}
	sort.Strings(places)
	for _, p := range places {
		reason = strings.ReplaceAll(reason, p, o.input[p])
	}
	return reason
}

// move adjusts the origins of n members of a list when others are inserted before them.
func (o *Origin) move(list string, n, by int) {
	for i := n - 1; i >= 0; i-- {
		o.input[place(list, i+by)] = o.input[place(list, i)]
		delete(o.input, place(list, i))
	}
}

func place(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
