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
	kind, options, m := "volume", "", nsjail.Mount{Type: nsjail.MountBind, Writable: true}
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
		case "tmpfs-size", "tmpfs-mode":
			options += "," + strings.TrimPrefix(option, "tmpfs-")
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
		l.Mount(of, m)
	case "tmpfs":
		if !m.Writable {
			options += ",ro"
		}
		l.tmpfs(&given{of: of, value: m.Target + ":" + options})
	case "volume":
		l.named(of, m.Target)
	default:
		l.Note(of, convert.Missing, "brig has no mount of the type "+strconv.Quote(kind))
	}
}

// tmpfs converts DST[:OPTION,...]. Docker's are noexec unless an option is exec.
func (l *Line) tmpfs(f *given) {
	target, options, _ := strings.Cut(f.value, ":")
	kept := ":noexec"
	for option := range strings.SplitSeq(options, ",") {
		switch name, _, _ := strings.Cut(option, "="); name {
		case "size", "mode", "nr_inodes":
			kept += "," + option
		case "exec":
			kept = strings.Replace(kept, "noexec", "", 1)
		case "uid", "gid":
			l.Note(f.of, convert.Missing, "the directory is the payload's own")
		case "ro":
			l.Note(f.of, convert.Weaker, "the directory can be written to")
		case "", "rw", "noexec", "nosuid", "nodev", "relatime", "noatime", "nodiratime", "strictatime", "async":
		default:
			l.Note(f.of, convert.Unknown, "brig does not know the option "+strconv.Quote(option))
		}
	}
	kept = strings.TrimSuffix(strings.Replace(kept, ":,", ":", 1), ":")
	l.Flag(f.of, "tmpfs", path.Clean(target)+kept)
}
