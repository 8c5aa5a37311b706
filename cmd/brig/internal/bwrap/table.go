package bwrap

import (
	"brig/nsjail/steps"
)

// option is a row of the table.
type option struct {
	name  string // without the dashes
	args  string // the names of its arguments, with spaces between
	help  string
	apply func(p *parser, v []string) error
}

// modifiers are the options that change the next one.
const (
	perms      = "perms"
	size       = "size"
	overlaySrc = "overlay-src"
)

// table returns the options in the order of bwrap --help.
func table() []option {
	var list []option
	for _, part := range [][]option{general(), namespaces(), surroundings(), descriptors(), mounts(), files(), process()} {
		list = append(list, part...)
	}
	return list
}

func general() []option {
	return []option{
		{"help", "", "Print this help", func(p *parser, _ []string) error { p.o.Help = true; return nil }},
		{"version", "", "Print version", func(p *parser, _ []string) error { p.o.Version = true; return nil }},
		{"args", "FD", "Parse NUL-separated args from FD", (*parser).argsFile},
		{"argv0", "VALUE", "Set argv[0] to the value VALUE before running the program", (*parser).argv0},
		{"level-prefix", "", "Prepend e.g. <3> to diagnostic messages",
			set(func(o *Options) *bool { return &o.LevelPrefix })},
		{"not-a-security-boundary", "", "Let some failures pass (none does: a mount has its flags before it is seen)",
			func(*parser, []string) error { return nil }},
	}
}

func namespaces() []option {
	return []option{
		{"unshare-all", "", "Unshare every namespace we support by default", func(p *parser, _ []string) error {
			o := p.o
			o.UnshareUserTry, o.UnshareIPC, o.UnsharePID, o.UnshareUTS = true, true, true, true
			o.UnshareCgroupTry, o.UnshareNet = true, true
			return nil
		}},
		{"share-net", "", "Retain the network namespace (can only combine with --unshare-all)",
			func(p *parser, _ []string) error { p.o.UnshareNet = false; return nil }},
		{"unshare-user", "", "Create new user namespace (may be automatically implied if not setuid)",
			set(func(o *Options) *bool { return &o.UnshareUser })},
		{"unshare-user-try", "", "Create new user namespace if possible else continue by skipping it",
			set(func(o *Options) *bool { return &o.UnshareUserTry })},
		{"unshare-ipc", "", "Create new ipc namespace", set(func(o *Options) *bool { return &o.UnshareIPC })},
		{"unshare-pid", "", "Create new pid namespace", set(func(o *Options) *bool { return &o.UnsharePID })},
		{"unshare-net", "", "Create new network namespace", set(func(o *Options) *bool { return &o.UnshareNet })},
		{"unshare-uts", "", "Create new uts namespace", set(func(o *Options) *bool { return &o.UnshareUTS })},
		{"unshare-cgroup", "", "Create new cgroup namespace", set(func(o *Options) *bool { return &o.UnshareCgroup })},
		{"unshare-cgroup-try", "", "Create new cgroup namespace if possible else continue by skipping it",
			set(func(o *Options) *bool { return &o.UnshareCgroupTry })},
		{"userns", "FD", "Use this user namespace (cannot combine with --unshare-user)",
			fd(func(o *Options) *int { return &o.UsernsFD })},
		{"userns2", "FD", "After setup switch to this user namespace, only useful with --userns",
			fd(func(o *Options) *int { return &o.Userns2FD })},
		{"disable-userns", "", "Disable further use of user namespaces inside sandbox",
			set(func(o *Options) *bool { return &o.DisableUserns })},
		{"assert-userns-disabled", "", "Fail unless further use of user namespace inside sandbox is disabled",
			set(func(o *Options) *bool { return &o.AssertUsernsDisabled })},
		{"pidns", "FD", "Use this pid namespace (as parent namespace if using --unshare-pid)",
			fd(func(o *Options) *int { return &o.PIDNSFD })},
		{"uid", "UID", "Custom uid in the sandbox (requires --unshare-user or --userns)",
			id("uid", func(o *Options) *int { return &o.UID })},
		{"gid", "GID", "Custom gid in the sandbox (requires --unshare-user or --userns)",
			id("gid", func(o *Options) *int { return &o.GID })},
		{"hostname", "NAME", "Custom hostname in the sandbox (requires --unshare-uts)", (*parser).hostname},
	}
}

func surroundings() []option {
	return []option{
		{"chdir", "DIR", "Change directory to DIR", text(func(o *Options) *string { return &o.Chdir })},
		{"clearenv", "", "Unset all environment variables",
			func(p *parser, _ []string) error { return p.env(EnvOp{Clear: true}) }},
		{"setenv", "VAR VALUE", "Set an environment variable",
			func(p *parser, v []string) error { return p.env(EnvOp{Set: true, Name: v[0], Value: v[1]}) }},
		{"unsetenv", "VAR", "Unset an environment variable",
			func(p *parser, v []string) error { return p.env(EnvOp{Name: v[0]}) }},
	}
}

func descriptors() []option {
	return []option{
		{"lock-file", "DEST", "Take a lock on DEST while sandbox is running",
			func(p *parser, v []string) error { p.o.LockFiles = append(p.o.LockFiles, v[0]); return nil }},
		{"sync-fd", "FD", "Keep this fd open while sandbox is running", fd(func(o *Options) *int { return &o.SyncFD })},
		{"seccomp", "FD", "Load and use seccomp rules from FD (not repeatable)", (*parser).seccomp},
		{"add-seccomp-fd", "FD", "Load and use seccomp rules from FD (repeatable)", (*parser).addSeccomp},
		{"block-fd", "FD", "Block on FD until some data to read is available",
			fd(func(o *Options) *int { return &o.BlockFD })},
		{"userns-block-fd", "FD", "Block on FD until the user namespace is ready",
			fd(func(o *Options) *int { return &o.UsernsBlockFD })},
		{"info-fd", "FD", "Write information about the running container to FD",
			fd(func(o *Options) *int { return &o.InfoFD })},
		{"json-status-fd", "FD", "Write container status to FD as multiple JSON documents",
			fd(func(o *Options) *int { return &o.StatusFD })},
	}
}

func mounts() []option {
	return []option{
		{"bind", "SRC DEST", "Bind mount the host path SRC on DEST", bind(steps.Bind, false)},
		{"bind-try", "SRC DEST", "Equal to --bind but ignores non-existent SRC", bind(steps.Bind, true)},
		{"dev-bind", "SRC DEST", "Bind mount the host path SRC on DEST, allowing device access",
			bind(steps.DevBind, false)},
		{"dev-bind-try", "SRC DEST", "Equal to --dev-bind but ignores non-existent SRC", bind(steps.DevBind, true)},
		{"ro-bind", "SRC DEST", "Bind mount the host path SRC readonly on DEST", bind(steps.ROBind, false)},
		{"ro-bind-try", "SRC DEST", "Equal to --ro-bind but ignores non-existent SRC", bind(steps.ROBind, true)},
		{"bind-fd", "FD DEST", "Bind open directory or path fd on DEST", withFD(steps.Bind, 0)},
		{"ro-bind-fd", "FD DEST", "Bind open directory or path fd read-only on DEST", withFD(steps.ROBind, 0)},
		{"remount-ro", "DEST", "Remount DEST as readonly; does not recursively remount", target(steps.RemountRO, 0)},
		{overlaySrc, "SRC", "Read files from SRC in the following overlay",
			func(p *parser, v []string) error { p.lower = append(p.lower, v[0]); return nil }},
		{"overlay", "RWSRC WORKDIR DEST", "Mount overlayfs on DEST, with RWSRC as the host path for writes and WORKDIR " +
			"an empty directory on the same filesystem as RWSRC", func(p *parser, v []string) error {
			return p.overlay(Step{Kind: steps.Overlay, Source: v[0], Work: v[1], Target: v[2]}, 1)
		}},
		{"tmp-overlay", "DEST", "Mount overlayfs on DEST, with writes going to an invisible tmpfs",
			func(p *parser, v []string) error {
				return p.overlay(Step{Kind: steps.TmpOverlay, Target: v[0]}, 1)
			}},
		{"ro-overlay", "DEST", "Mount overlayfs read-only on DEST",
			func(p *parser, v []string) error { return p.overlay(Step{Kind: steps.ROOverlay, Target: v[0]}, 2) }},
		{"proc", "DEST", "Mount new procfs on DEST", target(steps.Proc, 0)},
		{"dev", "DEST", "Mount new dev on DEST", target(steps.Dev, 0)},
		{"tmpfs", "DEST", "Mount new tmpfs on DEST", target(steps.Tmpfs, 0o755)},
		{"mqueue", "DEST", "Mount new mqueue on DEST", target(steps.Mqueue, 0)},
	}
}

func files() []option {
	return []option{
		{"dir", "DEST", "Create dir at DEST", target(steps.Dir, 0o755)},
		{"file", "FD DEST", "Copy from FD to destination DEST", withFD(steps.File, 0o666)},
		{"bind-data", "FD DEST", "Copy from FD to file which is bind-mounted on DEST", withFD(steps.BindData, 0o600)},
		{"ro-bind-data", "FD DEST", "Copy from FD to file which is readonly bind-mounted on DEST",
			withFD(steps.ROBindData, 0o600)},
		{"symlink", "SRC DEST", "Create symlink at DEST with target SRC", bind(steps.Symlink, false)},
		{perms, "OCTAL", "Set permissions of next argument (--bind-data, --file, etc.)", (*parser).perms},
		{size, "BYTES", "Set size of next argument (only for --tmpfs)", (*parser).size},
		{"chmod", "OCTAL PATH", "Change permissions of PATH (must already exist)", (*parser).chmod},
	}
}

func process() []option {
	return []option{
		{"exec-label", "LABEL", "Exec label for the sandbox", text(func(o *Options) *string { return &o.ExecLabel })},
		{"file-label", "LABEL", "File label for temporary sandbox content",
			text(func(o *Options) *string { return &o.FileLabel })},
		{"new-session", "", "Create a new terminal session", set(func(o *Options) *bool { return &o.NewSession })},
		{"die-with-parent", "", "Kills with SIGKILL child process (COMMAND) when bwrap or bwrap's parent dies.",
			set(func(o *Options) *bool { return &o.DieWithParent })},
		{"as-pid-1", "", "Do not install a reaper process with PID=1", set(func(o *Options) *bool { return &o.AsPID1 })},
		{"cap-add", "CAP", "Add cap CAP when running as privileged user", capability(true)},
		{"cap-drop", "CAP", "Drop cap CAP when running as privileged user", capability(false)},
	}
}
