package peers

// peer describes somebody else's tool, or a way to start brig, as data.
type peer struct {
	name    string
	program string // found in PATH; "" for none, and "brig" is the one under test
	pkg     string // Debian's package
	version string // the argument that prints a version; "" for none

	limits bool   // takes Job.Limited
	binds  bool   // takes Job.Show and Job.Dir
	box    bool   // one jail at a time, in which directories alone can be shown
	slow   bool   // takes a tenth of a second or more
	filter bool   // reads Docker's filter from descriptor 3
	device string // needs this device

	namespaces bool // the command is started in the namespaces of a default jail, by os/exec

	// Where its jail is not brig's: always, called by root, called by a user.
	differs, root, user []string

	// Command lines, as expand reads them: what makes the jail, what removes what a failed start has left, and what
	// is run once before all jails and after them.
	line, after string
	open, close []string
}

// Differences that several tools share.
const (
	bindsUsr = "binds where brig overlays: locks and watches of /usr are shared with the host"
	noInit   = "no init: the payload is process 1"
	aTmpfs   = "each writable directory is a tmpfs with limits of its own"
	aGroup   = "always makes a control group in each hierarchy; brig makes one for limits"
	isRoot   = "the payload is root of its user namespace, with no capability: " +
		"a caller without subordinate ids can map no more"
	hostRoot = "called by root, its payload is the host's root outside its user namespace"
)

// bubblewrapDiffers is where bubblewrap's jail is less than brig's, or was made beforehand.
var bubblewrapDiffers = []string{bindsUsr, "leaves the caller's session keyring to the payload",
	"masks less of /proc; its root, with /work and /output, is a writable tmpfs without limits",
	"gets an /etc that was written beforehand, where brig writes one for each jail"}

// bareLine starts a job without a jail.
const bareLine = "@arg $1"

// brigLine makes brig's default jail.
const brigLine = `$program run
	@limits --memory 64m --cpus 1 --pids-limit 64
	@show --ro-bind $1 /brig-bench
	@job --input $1/input --work $1/work --output $1/output --timeout 30s
	--
	@arg $1`

// sharedLine makes the same with the host's /usr by binds, as the others have it.
const sharedLine = `$program run --system shared
	@limits --memory 64m --cpus 1 --pids-limit 64
	@show --ro-bind $1 /brig-bench
	@job --input $1/input --work $1/work --output $1/output --timeout 30s
	--
	@arg $1`

// bubblewrapLine is how bubblewrap is commonly called: few mounts, and directories of its root where brig has a tmpfs.
// Its init is on by default, like brig's. /etc was written beforehand, as one mount.
const bubblewrapLine = `$program --unshare-all --unshare-user --uid 1000 --gid 1000 --hostname brig
	--die-with-parent --new-session --cap-drop ALL --clearenv --setenv PATH $path --setenv HOME $home
	--ro-bind $root/etc /etc
	@usr --ro-bind $1 $1
	@link --symlink $2 $1
	--proc /proc --dev /dev --tmpfs /tmp --dir $home
	@nojob --dir /work --dir /output
	@job --ro-bind $1/input /input --bind $1/work /work --bind $1/output /output
	@show --ro-bind $1 /brig-bench
	--chdir /work`

// ociLine starts a bundle with an OCI runtime that has runc's command line.
const ociLine = ` run --bundle $bundle $id`

const ociAfter = `$program --root $state delete --force $id`

// engineLine is what podman and docker share, from "run" to the image.
const engineLine = `run --rm --name $id --network none --read-only --cap-drop ALL --security-opt no-new-privileges
	--security-opt seccomp=$profile --log-driver none --ipc private --cgroupns private --hostname brig --workdir /work
	--env PATH=$path --env HOME=$home --interactive
	@rlimit --ulimit $1=$2:$3
	@asroot --cgroup-parent /$name
	@disk --tmpfs $1:rw,nosuid,nodev,size=256m,mode=1777
	@dir --volume $1:$1:ro
	@job --volume $1/input:/input:ro --volume $1/work:/work --volume $1/output:/output
	@show --volume $1:/brig-bench:ro
	@limits --memory 64m --cpus 1 --pids-limit 64`

// podmanLine begins each of podman's command lines.
const podmanLine = `$program --root $state/s --runroot $state/r --tmpdir $state/t --cgroup-manager cgroupfs
	--events-backend none --storage-driver vfs
	@runc --runtime $1
	`

// table lists the programs in the order in which they are shown.
var table = []peer{
	{name: "no jail", binds: true, differs: []string{"no isolation at all"}, line: bareLine},
	{name: "brig run", program: "brig", version: "version", limits: true, binds: true, line: brigLine},
	{name: "brig run, shared", program: "brig", limits: true, binds: true,
		differs: []string{bindsUsr}, line: sharedLine},
	{name: "bubblewrap", program: "bwrap", pkg: "bubblewrap", version: "--version", binds: true, filter: true,
		differs: append([]string{"loads Docker's filter as libseccomp compiles it, for three architectures and linear: " +
			"the kernel takes longer to load it than a tree for one"}, bubblewrapDiffers...),
		root: []string{hostRoot}, line: bubblewrapLine + "\n--seccomp 3 --\n@arg $1"},
	{name: "bubblewrap, no filter", program: "bwrap", pkg: "bubblewrap", version: "--version", binds: true,
		differs: bubblewrapDiffers, root: []string{hostRoot}, line: bubblewrapLine + "\n--\n@arg $1"},
	{name: "isolate", program: "isolate", version: "--version", binds: true, box: true,
		differs: []string{"setuid root, with no user namespace: its payload is a user of the host that is isolate's",
			"its filter, if it has one, forbids a handful of calls; no init that others can see", bindsUsr,
			"one jail at a time, in a box that is made before all starts and removed after them"},
		line: `$program --box-id 977 --silent --processes --env=PATH=$path --env=HOME=/box
			--dir=/etc=$root/etc
			@job --wall-time=30 --dir=/input=$1/input --dir=/work=$1/work:rw --dir=/output=$1/output:rw --chdir=/work
			--run --
			@arg $1`,
		open: []string{"$program --box-id 977 --init"}, close: []string{"$program --box-id 977 --cleanup"}},
	{name: "nsjail", program: "nsjail", binds: true,
		differs: []string{"no system-call filter: it takes Kafel, not compiled BPF",
			"masks nothing of /proc, and has no files of /etc", bindsUsr, noInit},
		line: `$program --mode o --really_quiet --user 1000:$hostuid:1 --group 1000:$hostgid:1
			--hostname brig --cwd /work --env PATH=$path --env HOME=$home --rlimit_as hard --rlimit_fsize hard
			--rlimit_nofile 768 --rlimit_core 0 --rlimit_stack 8 --nice_level 0
			@nojob --time_limit 0
			@job --time_limit 30 --bindmount_ro $1/input:/input --bindmount $1/work:/work --bindmount $1/output:/output
			@dir --bindmount_ro $1
			@link --symlink $2:$1
			--bindmount /dev/null --bindmount /dev/zero --bindmount /dev/full
			--bindmount /dev/random --bindmount /dev/urandom --bindmount /dev/tty
			@tmpfs --mount none:$1:tmpfs:size=268435456
			@show --bindmount_ro $1:/brig-bench
			--
			@arg $1`},
	{name: "firejail", program: "firejail", pkg: "firejail", version: "--version",
		differs: []string{
			"setuid root; its root is the host's, read-only, with /home and /root hidden and all else shown",
			"its filter knows names and no arguments: brig's rules on flags, socket families and process 1 are missing",
			"no /work and /output, and the limits of brig's tmpfs are missing"},
		root: []string{"called by root it makes no user namespace: the payload is the host's root, without capabilities"},
		line: `$program --quiet --noprofile --net=none --ipc-namespace --hostname=brig --caps.drop=all --nonewprivs
			--nogroups --read-only=/ --private=$bundle/rootfs --private-cwd=/tmp --private-dev --private-tmp
			--blacklist=/home --blacklist=/root
			--private-etc=group,passwd,hosts,hostname,nsswitch.conf,services,protocols,ld.so.cache,alternatives,ssl
			--seccomp.keep=$calls
			@asuser --noroot
			--
			@arg $1`},
	{name: "crun", program: "crun", pkg: "crun", version: "--version", limits: true, binds: true,
		differs: []string{bindsUsr, aTmpfs, noInit}, user: []string{isRoot},
		line:  "$program --root $state\n@nolimits --cgroup-manager=disabled\n@limits --cgroup-manager=cgroupfs\n" + ociLine,
		after: ociAfter},
	{name: "runc", program: "runc", pkg: "runc", version: "--version", limits: true, binds: true,
		differs: []string{bindsUsr, aTmpfs, noInit},
		root:    []string{aGroup}, user: []string{isRoot},
		line: "$program --root $state" + ociLine, after: ociAfter},
	{name: "gVisor runsc", program: "runsc", pkg: "runsc", version: "--version", limits: true, binds: true, slow: true,
		differs: []string{bindsUsr, aTmpfs, noInit,
			"a kernel of its own in user space: stronger than brig, and what it isolates differently is not comparable",
			"ignores the profile: its own filter confines its kernel"},
		root: []string{aGroup}, user: []string{isRoot},
		line:  "$program --root $state --network=none --platform=ptrace\n@asuser --rootless --ignore-cgroups\n" + ociLine,
		after: ociAfter},
	{name: "podman", program: "podman", pkg: "podman", version: "--version",
		limits: true, binds: true, slow: true,
		differs: []string{bindsUsr,
			"a container that is kept in a store and watched by conmon; always in a control group if it may", noInit},
		line: podmanLine + engineLine + `
			@asroot --uidmap 0:64200:1 --uidmap 1000:64201:1 --gidmap 0:64200:1 --gidmap 1000:64201:1
			--ulimit nproc=$processes:$processes --no-hosts --read-only-tmpfs=false --user $uid:$uid --rootfs $bundle/rootfs
			@arg $1`,
		after: podmanLine + "rm --force --ignore --time 0 $id",
		close: []string{podmanLine + "system migrate"}}, // a user's podman keeps a process that holds its user namespace
	{name: "docker", program: "docker", pkg: "docker.io", version: "--version",
		limits: true, binds: true, slow: true,
		differs: []string{"no user namespace unless the engine is configured for it",
			"the jail's parent is the engine's, not the caller; always in a control group", bindsUsr, noInit},
		line:  "$program " + engineLine + "\n--user 1000:1000 $name:bench\n@arg $1",
		after: "$program rm --force --volumes $id",
		open: []string{"$program version --format {{.Server.Version}}",
			"tar --create --file $tmp/docker.tar --directory $root .", "$program import $tmp/docker.tar $name:bench"},
		close: []string{"$program image rm --force $name:bench"}},
}
