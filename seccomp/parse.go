package seccomp

import (
	"fmt"

	"brig/internal/words"
)

// MaxSize is the greatest profile that Parse reads, in bytes. Docker's is 13 KiB.
const MaxSize = 1 << 20

// Parse reads a profile and checks all of it. The error is a *ProfileError.
func Parse(data []byte) (*Profile, error) {
	if len(data) > MaxSize {
		return nil, wrong("", fmt.Sprintf("is %d bytes long", len(data)), fmt.Sprintf("keep it within %d bytes", MaxSize))
	}
	root, err := parseTree(data)
	if err != nil {
		return nil, err
	}
	p := &Profile{}
	if err := p.decode(root); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Profile) decode(n node) error {
	return n.object("",
		member{"defaultAction", into(&p.DefaultAction)},
		member{"defaultErrnoRet", intoErrno(&p.DefaultErrnoRet)},
		member{"defaultErrno", intoErrnoName(&p.DefaultErrnoRet)},
		member{"architectures", intoList(&p.Architectures)},
		member{"flags", intoList(&p.Flags)},
		member{"archMap", func(path string, n node) error {
			return n.each(path, func(path string, n node) error {
				p.ArchMap = append(p.ArchMap, ArchMap{})
				m := &p.ArchMap[len(p.ArchMap)-1]
				return n.object(path,
					member{"architecture", into(&m.Architecture)},
					member{"subArchitectures", intoList(&m.SubArchitectures)})
			})
		}},
		member{"syscalls", func(path string, n node) error {
			return n.each(path, func(path string, n node) error {
				p.Syscalls = append(p.Syscalls, Syscall{})
				return p.Syscalls[len(p.Syscalls)-1].decode(path, n)
			})
		}},
		member{"listenerPath", noListener}, member{"listenerMetadata", noListener})
}

func noListener(path string, _ node) error {
	return wrong(path, "brig has no notification agent", "remove it, and use SCMP_ACT_ERRNO instead of SCMP_ACT_NOTIFY")
}

func (s *Syscall) decode(path string, n node) error {
	if n.has("name") && n.has("names") {
		return wrong(path, `has both "name" and "names"`, `keep "names"`)
	}
	return n.object(path,
		member{"names", intoList(&s.Names)},
		member{"name", func(path string, n node) error {
			s.Names = []string{""}
			return into(&s.Names[0])(path, n)
		}},
		member{"action", into(&s.Action)},
		member{"errnoRet", intoErrno(&s.ErrnoRet)},
		member{"errno", intoErrnoName(&s.ErrnoRet)},
		member{"comment", into(&s.Comment)},
		member{"args", func(path string, n node) error {
			return n.each(path, func(path string, n node) error {
				s.Args = append(s.Args, Arg{})
				return s.Args[len(s.Args)-1].decode(path, n)
			})
		}},
		member{"includes", func(path string, n node) error { return decodeFilter(path, n, &s.Includes) }},
		member{"excludes", func(path string, n node) error { return decodeFilter(path, n, &s.Excludes) }})
}

func (a *Arg) decode(path string, n node) error {
	err := n.object(path,
		member{"index", func(path string, n node) error {
			v, err := n.number(path, 32)
			a.Index = uint(v)
			return err
		}},
		member{"value", into64(&a.Value)},
		member{"valueTwo", into64(&a.ValueTwo)},
		member{"op", into(&a.Op)})
	if err != nil {
		return err
	}
	// A missing value would be compared as 0 and change the meaning in silence.
	for _, key := range []string{"index", "value", "op"} {
		if !n.has(key) {
			return wrong(join(path, key), "is missing", "write index, value and op")
		}
	}
	return nil
}

func decodeFilter(path string, n node, to **Filter) error {
	f := &Filter{}
	*to = f
	return n.object(path,
		member{"caps", intoList(&f.Caps)},
		member{"arches", intoList(&f.Arches)},
		member{"minKernel", into(&f.MinKernel)})
}

func into(to *string) func(string, node) error {
	return func(path string, n node) error {
		if n.kind != "a string" {
			return wrong(path, "is "+n.kind+", not a string", `write "…"`)
		}
		*to = n.text
		return nil
	}
}

func into64(to *uint64) func(string, node) error {
	return func(path string, n node) (err error) {
		*to, err = n.number(path, 64)
		return err
	}
}

func intoList(to *[]string) func(string, node) error {
	return func(path string, n node) error {
		return n.each(path, func(path string, n node) error {
			var s string
			err := into(&s)(path, n)
			*to = append(*to, s)
			return err
		})
	}
}

func intoErrno(to **uint) func(string, node) error {
	return func(path string, n node) error {
		v, err := n.number(path, 32)
		if err != nil {
			return err
		}
		return setErrno(path, to, uint(v))
	}
}

// intoErrnoName reads "EPERM", the spelling of Podman's profiles, which carry the number beside it.
func intoErrnoName(to **uint) func(string, node) error {
	return func(path string, n node) error {
		var name string
		if err := into(&name)(path, n); err != nil {
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
