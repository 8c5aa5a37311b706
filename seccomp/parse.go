package seccomp

import (
	"errors"
	"fmt"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// MaxSize is the maximum size of a profile, in bytes. Docker's has 13 KiB.
const MaxSize = 1 << 20

// maxDepth is the maximum nesting of objects and lists in a profile. Docker's has 5 levels.
const maxDepth = 16

// Parse parses and checks a profile. The error is a *ProfileError.
func Parse(data []byte) (*Profile, error) {
	p := &Profile{}
	d := strictjson.Document{MaxSize: MaxSize, MaxDepth: maxDepth, SkipNull: true, Special: special, Render: render}
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
	if pe, ok := errors.AsType[*ProfileError](e.Err); ok {
		return pe
	}
	return wrong(e.Parts())
}
