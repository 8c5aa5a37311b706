package words

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Text is a message that may refer to fields of a Spec, or to other settings of who reads it. A package that finds what
// is wrong cannot know how its reader sets a field: a program writes `optional: ["cow"]`, a person at a shell writes
// --optional cow, and who has taken brig for another tool has that tool's options. So the package writes a reference
// (Set, Add, Field), and the reader's edge has the words for it, a Dialect: In returns the message in these. String,
// and so fmt and JSON, write the neutral form: the field as JSON names it, and its value.
//
// A part of a message that is of no use without its references is a Clause: a dialect without words for one of them
// leaves the whole clause out.
//
// A constant string is a Text, and so is a sum of Texts. Other strings become one by Plain or Textf alone, after which
// nothing in them can be taken for a reference. Do not convert them: a test of internal/lint looks for that.
//
// Inside, pieces are separated by NUL. The odd ones are references ("optional=[\"cow\"]"), the ends of clauses ("(" and
// ")"), and "" for a NUL of the message itself.
type Text string

const mark = "\x00"

// Ref is a reference to a field: its path, and the value that it should have, in JSON, or "".
type Ref struct{ Field, Value string }

// inJail is before the path of a field in a reference by Jail.
const inJail = "run."

// String returns the neutral form: "timeout", or `git: "rw"`, or `a jail with git: "rw"`.
func (r Ref) String() string {
	text := r.Field
	if field, is := strings.CutPrefix(r.Field, inJail); is {
		text = "a jail with " + field
	}
	if r.Value == "" {
		return text
	}
	return text + ": " + r.Value
}

// Members returns the value if it is a list of strings.
func (r Ref) Members() (list []string) {
	_ = json.Unmarshal([]byte(r.Value), &list) // another value has no members
	return list
}

// Dialect returns a reader's words for a reference. Without any, it returns false.
type Dialect func(Ref) (string, bool)

// Neutral is the dialect of String.
func Neutral(r Ref) (string, bool) { return r.String(), true }

// Plain returns a text without references.
func Plain[T ~string](s T) Text { return Text(strings.ReplaceAll(string(s), mark, mark+mark)) }

// TextOf returns a Text as it is, and Plain of any other string.
func TextOf[T ~string](s T) Text {
	if t, is := any(s).(Text); is {
		return t
	}
	return Plain(s)
}

// Textf is fmt.Sprintf. An argument that is a Text keeps its references.
func Textf(format string, args ...any) Text {
	kept := make([]any, len(args))
	for i, a := range args {
		if t, is := a.(Text); is {
			kept[i] = string(t)
		} else {
			kept[i] = escaped{a}
		}
	}
	return Text(fmt.Sprintf(format, kept...))
}

// escaped formats a value as Plain does.
type escaped struct{ value any }

func (e escaped) Format(s fmt.State, verb rune) {
	_, _ = fmt.Fprint(s, string(Plain(fmt.Sprintf(fmt.FormatString(s, verb), e.value))))
}

// Join is strings.Join.
func Join(list []Text, between Text) (t Text) {
	for i, s := range list {
		if i > 0 {
			t += between
		}
		t += s
	}
	return t
}

// Field refers to a field, or to another setting by its name.
func Field(path string) Text { return Ref{path, ""}.text() }

// Set refers to a field with a value: a string, a number, a list, or a struct of the Spec.
func Set(path string, value any) Text {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return Field(path)
	}
	return Ref{path, strings.TrimSuffix(b.String(), "\n")}.text()
}

// Add refers to a list with members.
func Add(path string, members ...string) Text { return Set(path, append([]string{}, members...)) }

// Jail turns a reference to a field into one to a jail with that field: "a jail with timeout", or a command line with
// the field's flag.
func Jail(t Text) Text {
	if r, is := t.Only(); is {
		return Ref{inJail + r.Field, r.Value}.text()
	}
	return t
}

// Clause is a part of a message that is left out where there are no words for its references.
func Clause(t Text) Text { return mark + "(" + mark + t + mark + ")" + mark }

func (r Ref) text() Text {
	t := string(Plain(r.Field))
	if r.Value != "" {
		t += "=" + r.Value
	}
	return Text(mark + strings.ReplaceAll(t, mark, "") + mark)
}

// String returns the message in its neutral form.
func (t Text) String() string { return t.In(Neutral) }

// In returns the message in the words of a reader. A reference outside of a clause for which there are none has its
// neutral form, and without a dialect every one has.
func (t Text) In(d Dialect) string {
	if strings.IndexByte(string(t), 0) < 0 {
		return string(t)
	}
	if d == nil {
		d = Neutral
	}
	var out strings.Builder
	clause, inside, whole := "", false, true
	say := func(s string) {
		if inside {
			clause += s
		} else {
			out.WriteString(s)
		}
	}
	for i, piece := range strings.Split(string(t), mark) {
		switch {
		case i%2 == 0:
			say(piece)
		case piece == "":
			say(mark)
		case piece == "(":
			clause, inside, whole = "", true, true
		case piece == ")":
			if inside = false; whole {
				say(clause)
			}
		default:
			r := refOf(piece)
			s, ok := d(r)
			if whole = whole && ok; !ok {
				s = r.String()
			}
			say(s)
		}
	}
	return out.String()
}

func refOf(piece string) Ref {
	field, value, _ := strings.Cut(piece, "=")
	return Ref{field, value}
}

// Worded returns the message in the words of a reader as a Text, which has no references.
func (t Text) Worded(d Dialect) Text { return Plain(t.In(d)) }

// Bare returns the message without its clauses.
func (t Text) Bare() Text {
	var kept strings.Builder
	inside := false
	for i, piece := range strings.Split(string(t), mark) {
		switch {
		case i%2 == 1 && (piece == "(" || piece == ")"):
			inside = piece == "("
		case inside:
		case i%2 == 1:
			kept.WriteString(mark + piece + mark)
		default:
			kept.WriteString(piece)
		}
	}
	return Text(kept.String())
}

// Only returns the reference that is all of the message.
func (t Text) Only() (r Ref, is bool) {
	pieces := strings.Split(string(t), mark)
	if len(pieces) != 3 || pieces[0]+pieces[2] != "" || pieces[1] == "" {
		return Ref{}, false
	}
	return refOf(pieces[1]), true
}

// Refers reports whether the message has a reference to a field, or to a jail with it.
func (t Text) Refers(field string) bool {
	for i, piece := range strings.Split(string(t), mark) {
		if i%2 == 1 && strings.TrimPrefix(refOf(piece).Field, inJail) == field {
			return true
		}
	}
	return false
}

// MarshalJSON writes the neutral form as a string.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// UnmarshalJSON reads a string as Plain does.
func (t *Text) UnmarshalJSON(data []byte) error {
	var s string
	err := json.Unmarshal(data, &s)
	*t = Plain(s)
	return err
}

// Error returns an error with a text.
func Error(t Text) error { return textError(t) }

type textError Text

func (e textError) Error() string { return Text(e).String() }

func (e textError) Text() Text { return Text(e) }

// Message returns the text of an error, with the references of its method Text, or of the errors that it wraps.
func Message(err error) Text {
	if e, has := err.(interface{ Text() Text }); has {
		return e.Text()
	}
	var inner []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	said, rest := Text(""), err.Error()
	for _, e := range inner {
		if e == nil {
			continue
		}
		if before, after, has := strings.Cut(rest, e.Error()); has {
			said, rest = said+Plain(before)+Message(e), after
		}
	}
	return said + Plain(rest)
}
