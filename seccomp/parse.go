package seccomp

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// MaxSize is the maximum size of a profile, in bytes. Docker's has 13 KiB.
const MaxSize = 1 << 20

// maxDepth is the maximum nesting of objects and lists in a profile. Docker's has 5 levels.
const maxDepth = 16

// Parse parses and checks a profile. The error is a *ProfileError.
func Parse(data []byte) (*Profile, error) {
	if len(data) > MaxSize {
		return nil, wrong("", fmt.Sprintf("is %d bytes long", len(data)), fmt.Sprintf("keep it within %d bytes", MaxSize))
	}
	p := &Profile{}
	d := strictjson.Document{MaxDepth: maxDepth, SkipNull: true, Special: special, Render: render}
	if err := d.Read(data, p); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

// special reads objects with additional keys that their types do not have. Docker writes null for an absent member.
func special(r *strictjson.Reader, path string, to any) (bool, error) {
	switch v := to.(type) {
	case *Profile:
		return true, r.Object(path, []strictjson.Field{
			key("defaultAction", &v.DefaultAction),
			key("defaultErrnoRet", numberedErrno(&v.DefaultErrnoRet)),
			key("defaultErrno", namedErrno(&v.DefaultErrnoRet)),
			key("architectures", &v.Architectures),
			key("flags", &v.Flags),
			key("archMap", &v.ArchMap),
			key("syscalls", &v.Syscalls),
			key("listenerPath", noListener),
			key("listenerMetadata", noListener),
		})
	case *Syscall:
		return true, readSyscall(r, path, v)
	case *Arg:
		return true, readArg(r, path, v)
	}
	return false, nil
}

func key(name string, to any) strictjson.Field { return strictjson.Field{Name: name, To: to} }

func readSyscall(r *strictjson.Reader, path string, to *Syscall) error {
	var name *string
	err := r.Object(path, []strictjson.Field{
		key("names", &to.Names),
		key("name", &name),
		key("action", &to.Action),
		key("errnoRet", numberedErrno(&to.ErrnoRet)),
		key("errno", namedErrno(&to.ErrnoRet)),
		key("comment", &to.Comment),
		key("args", &to.Args),
		key("includes", &to.Includes),
		key("excludes", &to.Excludes),
	})
	if err == nil && name != nil {
		if to.Names != nil {
			return wrong(path, `has both "name" and "names"`, `keep "names"`)
		}
		to.Names = []string{*name}
	}
	return err
}

// numberedErrno returns a reader of an errno as a number.
func numberedErrno(to **uint) func(*strictjson.Reader, string) error {
	return func(r *strictjson.Reader, path string) error {
		var v uint32
		if err := r.Value(path, &v); err != nil {
			return err
		}
		return setErrno(path, to, uint(v))
	}
}

// namedErrno returns a reader of an errno as a name such as "EPERM", which Podman's profiles have in addition to the
// number.
func namedErrno(to **uint) func(*strictjson.Reader, string) error {
	return func(r *strictjson.Reader, path string) error {
		var name string
		if err := r.Value(path, &name); err != nil {
			return err
		}
		v, ok := errnoNumber(name)
		if !ok {
			return wrong(path, "unknown errno "+words.QuoteASCII(name), "write a name such as EPERM or ENOSYS")
		}
		return setErrno(path, to, v)
	}
}

func setErrno(path string, to **uint, v uint) error {
	if *to != nil && **to != v {
		return wrong(path, fmt.Sprintf("is %d, but the other errno key says %d", v, **to), "keep one of them")
	}
	*to = &v
	return nil
}

func noListener(_ *strictjson.Reader, path string) error {
	return wrong(path, "brig has no notification agent", "remove it, and use SCMP_ACT_ERRNO instead of SCMP_ACT_NOTIFY")
}

// readArg refuses a comparison without its value: it would silently be compared with 0.
func readArg(r *strictjson.Reader, path string, to *Arg) error {
	var index *uint32
	var value *uint64
	var op *string
	err := r.Object(path, []strictjson.Field{key("index", &index), key("value", &value), key("valueTwo", &to.ValueTwo),
		key("op", &op)})
	missing := ""
	switch {
	case err != nil:
		return err
	case index == nil:
		missing = "index"
	case value == nil:
		missing = "value"
	case op == nil:
		missing = "op"
	default:
		to.Index, to.Value, to.Op = uint(*index), *value, *op
		return nil
	}
	return wrong(path+"."+missing, "is missing", "write index, value and op")
}

// render converts an error of the JSON text to a ProfileError.
func render(e *strictjson.Error) error {
	var pe *ProfileError
	switch e.Code {
	case strictjson.Encoding:
		if e.Line == 0 {
			return wrong("", "is not UTF-8 text", "save it as UTF-8")
		}
		return wrong(e.Path, "has half of a surrogate pair", "write the character itself")
	case strictjson.Syntax, strictjson.Early, strictjson.Trailing:
		reason := e.Err
		if e.Code == strictjson.Early {
			reason = errors.New("the file ends too early")
		} else if e.Code == strictjson.Trailing {
			reason = errors.New("more text after the profile's closing brace")
		}
		return wrong("", fmt.Sprintf("line %d: not JSON: %v", e.Line, reason),
			"correct the syntax (JSON has no comments and no trailing commas)")
	case strictjson.TooDeep:
		return wrong("", fmt.Sprintf("is nested deeper than %d levels", e.Limit), "flatten it")
	case strictjson.Duplicate:
		return wrong(e.Path, "stands twice in one object", "keep one of them")
	case strictjson.Unknown:
		return wrong(strictjson.Join(e.Path, e.Key), "unknown key", suggest(e.Key, e.Names))
	case strictjson.WrongType:
		want, fix := wants(e.Want)
		return wrong(e.Path, "is "+kind(e.Got)+", not "+want, fix)
	case strictjson.Misfit:
		return wrong(e.Path, "is "+words.QuoteASCII(fmt.Sprint(e.Got)), fmt.Sprintf("write an integer from 0 to %d",
			uint64(math.MaxUint64)>>(64-e.Limit)))
	}
	errors.As(e, &pe)
	return pe
}

// wants returns the expected kind of value in the words of a profile's messages, and how to write it.
func wants(want string) (noun, fix string) {
	switch want {
	case "an object":
		return want, "write {…}"
	case "a list":
		return "an array", "write […]"
	case "a string":
		return want, `write "…"`
	}
	return "a number", "write a decimal integer"
}

// kind returns the kind of a token in the words of a profile's messages.
func kind(t any) string {
	switch t.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	switch s := strictjson.Show(t); {
	case strings.HasPrefix(s, "the number"):
		return "a number"
	case s == "a list":
		return "an array"
	default:
		return s
	}
}
