package docker

import (
	"path"
	"strconv"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/nsjail"
)

// Notes on mounts.
const (
	volumeNote = "a volume's data is not there, and what is written ends with the run; write --bind DIR DST"
	sharedNote = "what is mounted there later does not show"
	labelNote  = "brig sets no SELinux label"
)

// volume converts [SRC:]DST[:OPTION,...].
func (l *Line) volume(f *given) {
	of, v := f.of, f.value
	parts := strings.SplitN(v, ":", 3)
	if len(parts) == 1 {
		l.named(of, v)
		return
	}
	m := nsjail.Mount{Type: nsjail.MountBind, Source: parts[0], Target: path.Clean(parts[1]), Writable: true}
	options := ""
	if len(parts) == 3 {
		options = parts[2]
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "ro":
			m.Writable = false
		case "", "rw", "z", "Z", "nocopy", "cached", "delegated", "consistent", "private", "rprivate":
		case "shared", "rshared", "slave", "rslave":
			l.Note(of, convert.Missing, sharedNote)
		default:
			l.Note(of, convert.Unknown, "brig does not know the option "+strconv.Quote(option))
		}
	}
	if s := m.Source; s == "" || s[0] != '/' && s[0] != '.' {
		l.named(of, m.Target)
		return
	}
	l.Mount(of, m)
}

// named converts a volume that is no directory of the host to an empty directory.
func (l *Line) named(of, target string) {
	l.Note(of, convert.Missing, volumeNote)
	l.Mount(of, nsjail.Mount{Type: nsjail.MountTmpfs, Target: path.Clean(target)})
}

// mount converts type=T,source=SRC,target=DST,...
func (l *Line) mount(f *given) {
	of, v := f.of, f.value
	kind, m := "volume", nsjail.Mount{Writable: true}
	for option := range strings.SplitSeq(v, ",") {
		name, value, has := strings.Cut(option, "=")
		switch strings.ToLower(name) {
		case "type":
			kind = value
		case "source", "src":
			m.Source = value
		case "target", "dst", "destination":
			m.Target = path.Clean(value)
		case "readonly", "ro":
			m.Writable = has && (value == "false" || value == "0")
		case "tmpfs-size":
			l.size(f, &m, value)
		case "tmpfs-mode":
			m.Mode = strings.TrimPrefix(value, "0")
		case "bind-propagation":
			if strings.HasSuffix(value, "shared") || strings.HasSuffix(value, "slave") {
				l.Note(of, convert.Missing, sharedNote)
			}
		case "bind-nonrecursive", "bind-recursive":
			if value != "enabled" && value != "false" && value != "readonly" {
				l.Note(of, convert.Weaker, "what is mounted below the directory shows as well")
			}
		case "consistency", "volume-nocopy", "volume-label", "bind-create-src":
		default:
			l.Note(of, convert.Unknown, "brig does not know the option "+strconv.Quote(option))
		}
	}
	switch kind {
	case "bind":
		m.Type = nsjail.MountBind
		l.Mount(of, m)
	case "tmpfs":
		m.Type, m.Source, m.Writable, m.NoExec = nsjail.MountTmpfs, "", false, true
		l.Mount(of, m)
	case "volume":
		l.named(of, m.Target)
	default:
		l.Note(of, convert.Missing, "brig has no mount of the type "+strconv.Quote(kind))
	}
}

// tmpfs converts DST[:OPTION,...]. Docker's are noexec unless an option is exec.
func (l *Line) tmpfs(f *given) {
	of, v := f.of, f.value
	target, options, _ := strings.Cut(v, ":")
	m := nsjail.Mount{Type: nsjail.MountTmpfs, Target: path.Clean(target), NoExec: true}
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "size":
			l.size(f, &m, value)
		case "mode":
			m.Mode = strings.TrimPrefix(value, "0")
		case "nr_inodes":
			n, err := strconv.ParseInt(value, 10, 64)
			m.Inodes = n
			l.fail(f, err)
		case "exec":
			m.NoExec = false
		case "uid", "gid":
			l.Note(of, convert.Missing, "the directory is the payload's own")
		case "ro":
			l.Note(of, convert.Ignored, "the directory can be written to")
		case "", "rw", "noexec", "nosuid", "nodev", "relatime", "noatime", "nodiratime", "strictatime", "async":
		default:
			l.Note(of, convert.Unknown, "brig does not know the option "+strconv.Quote(option))
		}
	}
	l.Mount(of, m)
}

func (l *Line) size(f *given, m *nsjail.Mount, v string) {
	var err error
	m.Size, err = nsjail.ParseBytes(v)
	l.fail(f, err)
}
