package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"brig/internal/words"
)

type inner struct {
	Name string `json:"name"`
}

type outer struct {
	Text  string            `json:"text,omitempty"`
	N     int8              `json:"n,omitempty"`
	U     uint8             `json:"u,omitempty"`
	F     float64           `json:"f,omitempty"`
	On    bool              `json:"on,omitempty"`
	List  []string          `json:"list,omitempty"`
	Map   map[string]inner  `json:"map,omitempty"`
	In    *inner            `json:"in,omitempty"`
	Ins   []inner           `json:"ins,omitempty"`
	Any   any               `json:"any,omitempty"`
	Own   json.RawMessage   `json:"own,omitempty"`
	Size  size              `json:"size,omitempty"`
	Words map[string]string `json:"-"`
	Plain string
}

// size is a type that Special reads.
type size int

func document() *Document {
	return &Document{Name: "the test", MaxSize: 4096, MaxItems: 3,
		Text: func(_, s string) error {
			if strings.Contains(s, "\x00") {
				return errors.New("it has a NUL; remove it")
			}
			return nil
		},
		Special: func(r *Reader, path string, to any) (bool, error) {
			s, ok := to.(*size)
			if !ok {
				return false, nil
			}
			return true, r.Quantity(path, "a size", func(text string) error {
				*s = size(len(text))
				if text == "" {
					return errors.New("it is empty; write a size")
				}
				return nil
			})
		}}
}

func TestRead(t *testing.T) {
	var got outer
	err := document().Read([]byte(` {"text":"a\u00e9\ud83d\ude00\ufffd\\ud800","n":-5,"u":255,"f":1e2,"on":true,"list":["x",""],
		"map":{"k y":{"name":"v"}},"in":{"name":"i"},"ins":[{"name":"1"},{}],"any":{"a":[1]},"own":[ 1 ],"size":"64m","Plain":"p"} `), &got)
	want := outer{Text: "aé😀\uFFFD\\ud800", N: -5, U: 255, F: 100, On: true, List: []string{"x", ""}, Map: map[string]inner{"k y": {"v"}},
		In: &inner{"i"}, Ins: []inner{{"1"}, {}}, Any: map[string]any{"a": []any{1.0}}, Own: json.RawMessage("[ 1 ]"), Size: 3, Plain: "p"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n%+v\n%+v", err, got, want)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		in   string
		code Code
		want string // the message, or its beginning before "..."
	}{
		{``, Early, "line 1 column 1: the JSON ends too early; close every string, list and object"},
		{`{"list":["id"]`, Early, "line 1 column 15: the JSON ends too early..."},
		{"{\n \"list\": [\n oops ]}", Syntax, "line 3 column 2: list[0] is not JSON: invalid character 'o'..."},
		{`{'text':1}`, Syntax, "line 1 column 2: the test is not JSON: invalid character..."},
		{`{"any":[}`, Syntax, "line 1 column 8: any is not JSON: invalid character '}'..."},
		{`{} x`, Trailing, "line 1 column 4: there is data after the closing brace; remove it"},
		{`{}{}`, Trailing, "line 1 column 4: there is data after the closing brace; remove it"},
		{"{\"text\":\"\xff\"}", Encoding, "the test is not UTF-8; write it in UTF-8"},
		{`{"text":"\ud800"}`, Encoding, "text: it has half of a surrogate pair; write the character itself"},
		{`{"text":"\ude00\ud83d"}`, Encoding, "text: it has half of..."},
		{`{"text":"\ud83d\ud83d"}`, Encoding, "text: it has half of..."},
		{`{"text":"\ud83dx"}`, Encoding, "text: it has half of..."},
		{`{"text":"a\u0000"}`, Invalid, "text: it has a NUL; remove it"},
		{`{"text":"a","text":"b"}`, Duplicate, "text: the key is there twice; remove one"},
		{`{"text":"a","t\u0065xt":"b"}`, Duplicate, "text: the key is there twice; remove one"},
		{`{"map":{"x y":{},"x y":{}}}`, Duplicate, `map["x y"]: the key is there twice; remove one`},
		{`{"txt":"a"}`, Unknown, `the test: "txt" is not a key here; did you mean text?`},
		{`{"Words":{}}`, Unknown, `the test: "Words" is not a key here; write one of text, n, u, f,...`},
		{`{"ins":[{},{"nmae":1}]}`, Unknown, `ins[1]: "nmae" is not a key here; did you mean name?`},
		{`[]`, WrongType, "the test: it is a list; write an object"},
		{`null`, WrongType, "the test: it is null; write an object"},
		{`{"text":1}`, WrongType, "text: it is the number 1; write a string"},
		{`{"text":{}}`, WrongType, "text: it is an object; write a string"},
		{`{"on":"true"}`, WrongType, `on: it is "true"; write true or false`},
		{`{"n":true}`, WrongType, "n: it is true; write a whole number"},
		{`{"u":"1"}`, WrongType, `u: it is "1"; write a whole number`},
		{`{"f":"1"}`, WrongType, `f: it is "1"; write a number`},
		{`{"list":"x"}`, WrongType, `list: it is "x"; write a list of strings`},
		{`{"list":["x",7]}`, WrongType, "list[1]: it is the number 7; write a string"},
		{`{"map":[]}`, WrongType, "map: it is a list; write an object"},
		{`{"size":[]}`, WrongType, "size: it is a list; write a size"},
		{`{"size":""}`, Invalid, "size: it is empty; write a size"},
		{`{"n":300}`, Misfit, "n: it is the number 300; write a whole number of at most 7 bits"},
		{`{"n":1.5}`, Misfit, "n: it is the number 1.5; write a whole number of at most 7 bits"},
		{`{"u":-1}`, Misfit, "u: it is the number -1; write a whole number from 0 to 255"},
		{`{"f":1e999}`, Misfit, "f: it is the number 1e999; write a smaller number"},
		{`{"list":["","","",""]}`, TooMany, "list: it has more than 3 entries; shorten it"},
		{strings.Repeat(" ", 4097), TooLarge, "the test is larger than 4096 bytes; shorten it"},
	} {
		var e *Error
		err := document().Read([]byte(c.in), &outer{})
		prefix, cut := strings.CutSuffix(c.want, "...")
		if !errors.As(err, &e) || e.Code != c.code || err.Error() != c.want && !(cut && strings.HasPrefix(err.Error(), prefix)) {
			t.Errorf("%.60s\n got %v\nwant %s", c.in, err, c.want)
		}
	}
}

func TestFieldsAndNull(t *testing.T) {
	var on bool
	var names []string
	d := &Document{Name: "it", SkipNull: true, Render: func(e *Error) error { return errors.New(string(e.Code)) }}
	fields := []Field{{Name: "on", To: &on}, {Name: "part", To: []Field{{Name: "names", To: &names}}},
		{Name: "own", To: func(r *Reader, path string) error {
			_, err := r.Raw(path)
			return errors.Join(err, r.Fail(path, nil))
		}}}
	if err := d.Read([]byte(`{"on" : null,"part":{"names":["a"]},"own":[[null]]}`), fields); err != nil || on || len(names) != 1 {
		t.Error(err, on, names)
	}
	if err := d.Read([]byte(`{"on":1}`), fields); err == nil || err.Error() != "wrong_type" {
		t.Error(err)
	}
}

func TestScan(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth)
	for _, c := range []struct {
		in   string
		code Code
		want string // the path, or the reason
		col  int
	}{
		{in: `{"a":[1,-0.5e+3,true,null,{"a":"\ud83d\ude00\ufffd"}]}`},
		{in: deep + strings.Repeat("]", MaxDepth)},
		{`{`, Early, "", 2},
		{`{"a"`, Early, "a", 5},
		{`{"a" 1}`, Syntax, "invalid character '1' after object key", 6},
		{`{"a":1`, Early, "", 7},
		{`{"a":01}`, Syntax, "invalid character '1' after object key:value pair", 7},
		{`[1 2]`, Syntax, "invalid character '2' after array element", 4},
		{`[1,]`, Syntax, "invalid character ']' looking for beginning of value", 4},
		{`[trux]`, Syntax, "invalid character 'x' in literal true (expecting 'e')", 2},
		{`[nul`, Early, "[0]", 2},
		{`NaN`, Syntax, "invalid character 'N' looking for beginning of value", 1},
		{``, Early, "", 1},
		{`[`, Early, "", 2},
		{`"a`, Early, "", 1},
		{`"\x"`, Syntax, "invalid character 'x' in string escape code", 1},
		{`"\u12g4"`, Syntax, `invalid character 'g' in \u hexadecimal character escape`, 1},
		{"\"a\nb\"", Syntax, `invalid character '\n' in string literal`, 1},
		{`1 2`, Trailing, "", 4},
		{`{"a":1,"a":2}`, Duplicate, "a", 11},
		{`[{"x y":{"b":1,"b":2}}]`, Duplicate, `[0]["x y"].b`, 19},
		{`{"\ud800":1}`, Encoding, "", 10},
		{"\xff", Encoding, "", 0},
		{deep + "[" + strings.Repeat("]", MaxDepth+1), TooDeep, strings.Repeat("[0]", MaxDepth), 34},
		{strings.Repeat("[", 20_000), TooDeep, strings.Repeat("[0]", MaxDepth), 34},
		{"[" + strings.Repeat("1,", MaxValues) + "1]", TooMany, "[99999]", 199_999},
	} {
		e := Scan([]byte(c.in))
		if c.code == "" {
			if e != nil {
				t.Errorf("%.60s: %v", c.in, e)
			}
			continue
		}
		got := ""
		if e != nil {
			if got = e.Path; e.Code == Syntax {
				got = e.Err.Error()
			}
		}
		if e == nil || e.Code != c.code || got != c.want || e.Column != c.col {
			t.Errorf("%.60s: %+v, %q, not %s %q", c.in, e, got, c.code, c.want)
		}
	}
}

// FuzzRead: what is accepted is JSON, what Scan refuses as no JSON is none, and an error is one printable line.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{}`, `{"text":"\ud83d\ude00"}`, `{"ins":[{"name":"a"}],"any":[1,-0.5e+3,true,null]}`, `[[[]]]`, `"a"`,
		`{"n":1,"n":2}`, "-", "1e", "tru", "{\"a\"", `{"a":}`, `[1,]`, "\x00", `{"map":{"\u001b":{}}}`, `"\ud800\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err, scan := document().Read(data, &outer{}), Scan(data)
		switch {
		case err == nil && !json.Valid(data), scan == nil && !json.Valid(data):
			t.Fatalf("accepted what is no JSON: %q", data)
		case scan != nil && scan.Code == Syntax && json.Valid(data):
			t.Fatalf("refused JSON: %q: %v", data, scan)
		case err == nil && json.Unmarshal(data, new(outer)) != nil && !strings.Contains(string(data), "size"):
			t.Fatalf("accepted what does not fit: %q", data)
		case err != nil && words.Printable(err.Error()) != err.Error():
			t.Fatalf("not one safe line: %q", err)
		}
	})
}
