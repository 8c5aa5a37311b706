package words

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

// flags is a reader's dialect in the tests. It has no words for the field "none".
func flags(r Ref) (string, bool) { return "--" + r.Field + " " + r.Value, r.Field != "none" }

func TestText(t *testing.T) {
	for _, c := range []struct {
		text           Text
		neutral, flags string
	}{
		{"", "", ""},
		{"free memory", "free memory", "free memory"},
		{"raise " + Field("a"), "raise a", "raise --a "},
		{"use " + Set("git", "rw") + ", or not", `use git: "rw", or not`, `use --git "rw", or not`},
		{"mend that" + Clause(", or do without: "+Add("a", "b", "c")), `mend that, or do without: a: ["b","c"]`,
			`mend that, or do without: --a ["b","c"]`},
		{"mend that" + Clause(", or do without: "+Field("none")) + ".", "mend that, or do without: none.", "mend that."},
		{"needs " + Field("none"), "needs none", "needs none"},
		{Add("a"), "a: []", "--a []"},
		{"or " + Jail(Set("a", "b")), `or a jail with a: "b"`, `or --run.a "b"`},
		{Jail(Field("a")) + Jail("b"), "a jail with ab", "--run.a b"},
		{Textf("%s is %q: %v", Plain("x"), "y", Field("a")), `x is "y": a`, `x is "y": --a `},
		{Join([]Text{"x", Field("a")}, "; "), "x; a", "x; --a "},
		{TextOf("x" + mark + "a" + mark), "x" + mark + "a" + mark, "x" + mark + "a" + mark},
		{TextOf(Field("a")), "a", "--a "},
	} {
		if got := c.text.String(); got != c.neutral {
			t.Errorf("%q: %q; want %q", string(c.text), got, c.neutral)
		}
		if got := c.text.In(flags); got != c.flags {
			t.Errorf("%q in flags: %q; want %q", string(c.text), got, c.flags)
		}
	}
}

// TestNoForgedReference: no foreign text is taken for a reference or the end of a clause, by whatever way it comes in.
func TestNoForgedReference(t *testing.T) {
	for _, name := range []string{string(Set("git", "rw")), string(Clause("x")), mark, mark + ")" + mark, "\x00\x00git\x00\x00", "x\x00"} {
		for _, text := range []Text{Plain(name), Textf("%s", name), Textf("%v", errors.New(name)), TextOf(name),
			Message(errors.New(name)), Message(fmt.Errorf("%w", errors.New(name))), Plain(name).Worded(flags)} {
			if text.String() != name || text.In(flags) != name || text.Bare() != text || text.Refers("git") {
				t.Errorf("%q is taken for a reference: %q", name, text.In(flags))
			}
		}
		around := "a" + Plain(name) + Field("b")
		if got, want := around.In(flags), "a"+name+"--b "; got != want {
			t.Errorf("%q; want %q", got, want)
		}
		if got, want := Set("f", name).In(flags), Set("f", name).String(); len(got) != len(want)+1 {
			t.Errorf("%q and %q", got, want)
		}
		var back Text
		if b, err := json.Marshal(Plain(name)); err != nil || json.Unmarshal(b, &back) != nil || back != Plain(name) {
			t.Errorf("%q comes back as %q (%v)", name, back, err)
		}
	}
}

func TestMessage(t *testing.T) {
	inner := Error("use " + Field("a"))
	for err, want := range map[error]string{
		inner:                               "use --a ",
		fmt.Errorf("no: %w (x)", inner):     "no: use --a  (x)",
		errors.Join(errors.New("e"), inner): "e\nuse --a ",
		fmt.Errorf("%w, %w", fmt.Errorf("y: %w", inner), inner): "y: use --a , use --a ",
		fmt.Errorf("%v", inner):                                 "use a",
	} {
		if got := Message(err).In(flags); got != want {
			t.Errorf("%v: %q; want %q", err, got, want)
		}
	}
}

func TestParts(t *testing.T) {
	text := "x" + Clause(", or "+Field("a")) + "; " + Field("b")
	if got := text.Bare(); got != "x; "+Field("b") || !text.Refers("a") || got.Refers("a") {
		t.Errorf("%q", got)
	}
	if !Jail(Field("a")).Refers("a") {
		t.Error("a jail with a field does not refer to it")
	}
	if r, is := Set("b", "c").Only(); !is || r != (Ref{"b", `"c"`}) {
		t.Errorf("%v, %v", r, is)
	}
	for _, no := range []Text{"", "x", "x" + Field("b"), Plain(mark), Field("a") + Field("b")} {
		if r, is := no.Only(); is {
			t.Errorf("%q is only %v", string(no), r)
		}
	}
}
