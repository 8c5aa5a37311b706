package schema

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"brig/brigd/engine"
	"brig/internal/strictjson"
	"brig/internal/test/must"
)

type inner struct {
	Name string `json:"name"`
}

type outer struct {
	Text  string            `json:"text,omitempty"`
	N     int8              `json:"n,omitempty"`
	F     float64           `json:"f,omitempty"`
	On    bool              `json:"on,omitempty"`
	List  []string          `json:"list,omitempty"`
	Map   map[string]string `json:"map,omitempty"`
	In    *inner            `json:"in,omitempty"`
	Ins   []inner           `json:"ins,omitempty"`
	Any   any               `json:"any,omitempty"`
	Skip  string            `json:"-"`
	Plain string
}

func TestDecode(t *testing.T) {
	var got outer
	err := Decode([]byte(` {"text":"a\u00e9\ud83d\ude00\ufffd","n":-5,"f":1e2,"on":true,"list":["x",""],"map":{"k y":"v"},"in":{"name":"i"},
		"ins":[{"name":"1"},{"name":"2"}],"any":{"a":[1]},"Plain":"p"} `), &got)
	want := outer{Text: "aé😀\uFFFD", N: -5, F: 100, On: true, List: []string{"x", ""}, Map: map[string]string{"k y": "v"}, In: &inner{"i"},
		Ins: []inner{{"1"}, {"2"}}, Any: map[string]any{"a": []any{1.0}}, Plain: "p"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n%+v\n%+v", err, got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat(`{"any":`, 40) + "1" + strings.Repeat("}", 40)
	for _, c := range []struct{ in, code, want string }{
		{``, "syntax", "line 1 column 1"},
		{`{`, "syntax", "line 1 column 2"},
		{"{\n\"text\":\"a\"]", "syntax", "line 2 column 11"},
		{`{"text":"a"} x`, "syntax", "data after"},
		{`{"text":"a"}{}`, "syntax", "data after"},
		{`{'text':1}`, "syntax", `invalid character '\''`},
		{"{\"text\":\"a\nb\"}", "syntax", `'\n' in string literal`},
		{`{"text":"\x"}`, "syntax", "escape"},
		{`{"text":"\u12g4"}`, "syntax", "hexadecimal"},
		{`{"n":01}`, "syntax", "after object key:value pair"},
		{`{"n":NaN}`, "syntax", "'N' looking for beginning of value"},
		{`{"text":"\ud800"}`, "encoding", "text: it has half of a surrogate pair"},
		{`{"text":"\ude00\ud83d"}`, "encoding", "surrogate"},
		{`{"text":"\ud83d\ud83d"}`, "encoding", "surrogate"},
		{"{\"text\":\"\xff\"}", "encoding", "UTF-8"},
		{`{"text":"a","text":"b"}`, "duplicate_key", "text: the key is there twice"},
		{`{"text":"a","t\u0065xt":"b"}`, "duplicate_key", "text"},
		{`{"map":{"a":"1","a":"2"}}`, "duplicate_key", "map.a"},
		{`{"any":[{"x y":1,"x y":2}]}`, "duplicate_key", `any[0]["x y"]`},
		{`{"txt":"a"}`, "unknown_field", `"txt" is not a key here; did you mean text?`},
		{`{"TEXT":"a"}`, "unknown_field", "did you mean text?"},
		{`{"Skip":"a"}`, "unknown_field", `"Skip"`},
		{`{"in":{"nmae":"a"}}`, "unknown_field", "in: "},
		{`{"text":1}`, "wrong_type", "text: it is the number 1; write a string"},
		{`{"text":null}`, "wrong_type", "text: it is null; leave it out"},
		{`{"n":300}`, "wrong_type", "n: it is the number 300"},
		{`{"n":1.5}`, "wrong_type", "a whole number"},
		{`{"on":"true"}`, "wrong_type", "write true or false"},
		{`{"list":"x"}`, "wrong_type", "list: it is a string; write a list of strings"},
		{`{"list":["x",7]}`, "wrong_type", "list[1]: it is the number 7"},
		{`{"map":[]}`, "wrong_type", "map: it is a list; write an object"},
		{`{"map":{"k y":1}}`, "wrong_type", `map["k y"]: `},
		{`{"ins":[{"name":true}]}`, "wrong_type", "ins[0].name: it is true"},
		{`[]`, "wrong_type", "it is a list; write an object"},
		{`null`, "wrong_type", "it is null"},
		{deep, "too_deep", "deeper than 32"},
		{`{"any":[` + strings.Repeat("1,", strictjson.MaxValues) + `1]}`, "too_many_values", "100000"},
		{`{"` + strings.Repeat("a", 1000) + `":1}`, "unknown_field", `aaa"... (1000 bytes)`},
	} {
		var v outer
		err := Decode([]byte(c.in), &v)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(err.Error(), c.want) || e.Fix == "" || len(err.Error()) > 400 {
			t.Errorf("%.60q: %v, not %s %q", c.in, err, c.code, c.want)
		}
	}
}

// FuzzDecode: what is accepted is JSON, and what is refused as no JSON is none.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, `{"text":"\ud83d\ude00"}`, `{"ins":[{"name":"a"}],"any":[1,-0.5e+3,true,null]}`, `[[[]]]`, `"a"`, `{"a":1,"a":2}`, "-", "1e", "tru", "{\"a\"", `{"a":}`, `[1,]`, "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v outer
		err := Decode(data, &v)
		scan := Scan(data)
		var e *Error
		switch {
		case scan == nil && !json.Valid(data):
			t.Fatalf("accepted what is no JSON: %q", data)
		case errors.As(scan, &e) && e.Code == "syntax" && json.Valid(data):
			t.Fatalf("refused JSON: %q: %v", data, scan)
		case err == nil && json.Unmarshal(data, new(outer)) != nil:
			t.Fatalf("accepted what does not fit: %q", data)
		}
	})
}

func TestForRequest(t *testing.T) {
	s := For[engine.Request]()
	text := must.Get(json.Marshal(s))(t)
	if strings.Contains(string(text), `"null"`) || s.Description == "" {
		t.Errorf("%s", text)
	}
	for name, p := range s.Properties {
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	check := must.Get(s.Resolve(nil))(t)
	for in, want := range map[string]string{
		`{"language":"python","code":"1","timeout":"1m","memory":"512m","files":{"a":"x","b":{"base64":"AA==","executable":true}}}`: "",
		`{"cmd":["id"],"timeout":1.5,"memory":4096}`: "",
		`{"cmd":"id"}`:      "type",
		`{"memory":"lots"}`: "pattern",
		`{"memory":-1}`:     "minimum",
		`{"files":{"a":1}}`: "files",
		`{"comand":[]}`:     "comand",
	} {
		var value any
		must.Do(t, json.Unmarshal([]byte(in), &value))
		if err := check.Validate(value); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", in, err, want)
		}
	}
}

func TestComponentsRefer(t *testing.T) {
	set := Components("#/c/", engine.Response{}, engine.Truncated{}, engine.Size(0))
	p := set["Response"].Properties["truncated"]
	if p == nil || p.Ref != "#/c/Truncated" || p.Types != nil || set["Truncated"].Properties["stdout_bytes"] == nil || set["Bytes"].Pattern == "" {
		t.Errorf("%+v", p)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	long := &strictjson.Error{Code: strictjson.Invalid, Err: errors.New(strings.Repeat("é", 10000) + "; shorten it")}
	if err := render(long); len(err.Error()) > maxMessage+8 || !strings.HasSuffix(err.Error(), "é; shorten it") {
		t.Errorf("%v", err)
	}
}

// TestExamples: what should be a list or an object is answered with one of its kind.
func TestExamples(t *testing.T) {
	var r struct {
		Network []string          `json:"network"`
		Env     map[string]string `json:"env"`
		TTY     *struct{}         `json:"tty"`
	}
	for body, want := range map[string]string{
		`{"network":{"allow":["a"]}}`: `network: it is an object; write a list of strings, as in ["example.org:443"]`,
		`{"network":[1]}`:             `network[0]: it is the number 1; write a string`,
		`{"tty":true}`:                `tty: it is true; write an object, as in {"rows": 24, "cols": 80}`,
		`{"env":["A=b"]}`:             `env: it is a list; write an object, as in {"NAME": "value"}`,
		`{"env":null}`:                `env: it is null; leave it out, or write a value`,
	} {
		if err := Decode([]byte(body), &r); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

// TestCommandLine: a command line in the place of a list of words is answered with the list.
func TestCommandLine(t *testing.T) {
	var r struct {
		Cmd []string `json:"cmd"`
	}
	for body, want := range map[string]string{
		`{"cmd":"python3 a.py"}`: `cmd: it is a string, and no shell reads cmd; You mean {"cmd": ["sh", "-c", "python3 a.py"]}.`,
		`{"cmd":["x"]}`:          "", `{"cmd":""}`: "cmd: it is a string; write a list of strings, as in [\"ls\", \"-l\"]",
		`{"cmd":7}`: "cmd: it is the number 7; write a list of strings, as in [\"ls\", \"-l\"]",
	} {
		err := Command(Decode([]byte(body), &r), []byte(body))
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
