package spec

import (
	"fmt"
	"slices"

	"brig/internal/words"
)

// limitsFields reads each limit by the type of its field.
func limitsFields(l *Limits) []field {
	fields := make([]field, len(limitRows))
	for i := range limitRows {
		r := &limitRows[i]
		f := &fields[i]
		f.name = r.Name
		switch to := r.Field(l).(type) {
		case *Duration:
			f.read = durationOf(to)
		case *Bytes:
			if f.read = bytesOf(to); r.AnyOf {
				f.read = swapOf(to)
			}
		case *int64:
			f.read = integer(to)
		case *int:
			f.read = integer(to)
		case *float64:
			f.read = number(to)
		case *bool:
			f.read = boolean(to)
		case *string:
			f.read = str(to)
		case *[]string:
			f.read = strs(to)
		case *[]IOLimit:
			f.read = ioList(to)
		case *map[string]Rlimit:
			f.read = rlimitMap(to)
		case *map[string]Bytes:
			f.read = hugeMap(to)
		}
	}
	return fields
}

func ioFields(l *IOLimit) []field {
	return []field{
		{"path", str(&l.Path)},
		{"read_bps", bytesOf(&l.ReadBps)},
		{"write_bps", bytesOf(&l.WriteBps)},
		{"read_iops", integer(&l.ReadIOPS)},
		{"write_iops", integer(&l.WriteIOPS)},
	}
}

func ioList(to *[]IOLimit) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		return d.list(path, func(path string) error {
			var l IOLimit
			err := d.object(path, ioFields(&l))
			*to = append(*to, l)
			return err
		})
	}
}

func rlimitMap(to *map[string]Rlimit) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		*to = map[string]Rlimit{}
		return d.keys(path, func(name string) error {
			if _, twice := (*to)[name]; twice {
				return fmt.Errorf("%s: %s is there twice; remove one", path, words.Quote(name))
			}
			if !slices.Contains(RlimitNames(), name) { // said here, where the path can be trusted to be printable
				return fmt.Errorf("%s: %s is not a resource of getrlimit(2); %s", path, words.Quote(name), words.DidYouMean(name, RlimitNames()))
			}
			var r Rlimit
			err := d.object(path+"."+name, []field{{"soft", integer(&r.Soft)}, {"hard", integer(&r.Hard)}})
			(*to)[name] = r
			return err
		})
	}
}

func hugeMap(to *map[string]Bytes) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		*to = map[string]Bytes{}
		return d.keys(path, func(size string) error {
			if _, twice := (*to)[size]; twice {
				return fmt.Errorf("%s: %s is there twice; remove one", path, words.Quote(size))
			}
			if !hugePageSize(size) { // said here, where the path can be trusted to be printable
				return fmt.Errorf("%s: %s is not a size of huge pages; %s", path, words.Quote(size), hugePageFix)
			}
			var v Bytes
			err := bytesOf(&v)(d, path+"."+size)
			(*to)[size] = v
			return err
		})
	}
}

// swapOf reads a size or -1, which says that there is no limit.
func swapOf(to *Bytes) func(*specReader, string) error {
	return func(d *specReader, path string) error {
		return d.quantity(path, "a size, as in \"64m\", or -1", func(s string) (err error) {
			if s == "-1" {
				*to = -1
				return nil
			}
			*to, err = ParseBytes(s)
			return err
		})
	}
}
