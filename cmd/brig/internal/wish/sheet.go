package wish

import (
	"strings"

	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// sheet is the Spec that flags fill in, one after the other.
type sheet struct {
	spec  *nsjail.Spec
	from  *Origin
	read  ReadFunc
	flag  string // the current flag, for example "--memory"
	filed int    // the number of mounts from --spec
}

// note records the current flag as the input for a path.
func (s *sheet) note(path string) { s.from.Set(path, s.flag) }

// readFile reads the file of the current flag, which has that name from then on.
func (s *sheet) readFile(name string, limit int) ([]byte, error) {
	data, err := s.read(name, limit)
	if err == nil {
		s.flag += " " + words.Quote(name)
	}
	return data, err
}

// mount adds a mount. It replaces one of the --spec with the same target, since flags change the Spec. Two flags with
// the same target are an error, which Check finds.
func (s *sheet) mount(m nsjail.Mount) {
	mounts := s.spec.Mounts
	at := len(mounts)
	for i := range mounts[:min(s.filed, at)] {
		if mounts[i].Target == m.Target && s.from.Of(place("mounts", i)) == "" {
			at = i
		}
	}
	if at == len(mounts) {
		mounts = append(mounts, m)
	}
	mounts[at] = m
	s.spec.Mounts = mounts
	s.note(place("mounts", at))
}

// add appends to a list of the Spec and records the flag that did.
func (s *sheet) add(field string, to *[]string, value string) {
	s.note(place(field, len(*to)))
	*to = append(*to, value)
}

// list returns a setter that appends to a list of the Spec, after change if there is one.
func (s *sheet) list(field string, to *[]string, change ...func(string) string) func([]string) error {
	return func(v []string) error {
		value := v[0]
		for _, f := range change {
			value = f(value)
		}
		s.add(field, to, value)
		return nil
	}
}

// names returns a setter that adds the words of a comma-separated list to a field of the Spec.
func (s *sheet) names(field string, to *[]string) func([]string) error {
	return func(v []string) error {
		for name := range strings.SplitSeq(v[0], ",") {
			s.add(field, to, name)
		}
		return nil
	}
}

// setSpec starts from the Spec of a file.
func (s *sheet) setSpec(v []string) error {
	data, err := s.readFile(v[0], spec.MaxSpecSize)
	if err != nil {
		return err
	}
	from, err := spec.ParseSpec(data)
	if err != nil {
		return err
	}
	*s.spec, s.from.file, s.filed = *from, v[0], len(from.Mounts)
	return nil
}
