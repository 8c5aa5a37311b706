#compdef brig
# zsh completion for brig; load it with: source <(brig completion zsh)
_brig() {
	local -a commands flags
	commands=(
		'run:run a command in a jail and exit as it did'
		'explain:print what run would do, system call by system call, and do nothing'
		'learn:run a command until it works, and print the flags that it needs'
		'spec:print the JSON that the flags mean, for --spec or for the Go library'
		'convert:print the spec that means the same as the words of another tool'
		'verify:perform attacks in the jail of these flags, and show what it holds (brigd verify)'
		'doctor:say which mechanisms this machine has and what to do about the missing ones'
		'gc:remove the control groups that killed runs have left'
		'diff:show the changes that a run with --cow has left'
		'apply:make these changes in the directory itself'
		'discard:remove them without a trace'
		'changes:list the changes that wait to be applied or discarded'
		'isolate:take the command line of isolate, as when brig is called by that name; docs/isolate.md'
		'bwrap:take the command line of bubblewrap, as when brig is called by that name; docs/bwrap.md'
		'image:bring, show and remove images (brigd image)'
		'policy:check and compare what agents may do (brigd policy)'
		'token:make and narrow capability tokens (brigd token)'
		'audit:check and read an audit log (brigd audit)'
		'serve:run jails for programs that ask by HTTP (brigd serve)'
		'worker:run jails for a queue of brigds (brigd worker)'
		'submit:put a command into a queue (brigd submit)'
		'map:run many jobs by a brigd (brigd map)'
		'queue:show a queue (brigd queue)'
		'mcp:run jails for a model that asks by MCP (brigd mcp)'
		'version:print the version'
		'help:print help; the topics are net, limits, tier and seccomp'
		'completion:print the completion script of a shell'
		'man:print the manual page brig(1) in roff'
	)
	if ((CURRENT == 2)); then
		_describe 'command of brig' commands
		return
	fi
	local command=$words[2]
	shift words
	((CURRENT--))
	case $command in
	run|explain|learn|spec|verify)
		flags=(
			'*--input=[show SRC of the host at /input, or DST, read-only]:SRC\[\:DST\]:_files'
			'*--work=[show SRC at /work, or DST, writable; the payload starts in /work]:SRC\[\:DST\]:_files'
			'*--cow=[show SRC at /work, or DST, writable; SRC does not change, and what is written is kept in memory, or on disk]:SRC\[\:DST\]\[\:size=1g,inodes=262144,store=disk\]:_files'
			'--apply-if-ok[apply the changes of --cow at once if the command exits with 0 and has met no limit]'
			'*--output=[show SRC at /output, or DST, writable]:SRC\[\:DST\]:_files'
			'*--bind[show SRC of the host at DST, writable]:SRC:_files:DST:'
			'*--ro-bind[show SRC of the host at DST, read-only with everything mounted below it; a small file as a copy]:SRC:_files:DST:'
			'*--ro-bind-live[the same, and the host'\''s later changes show; locks and watches cross it]:SRC:_files:DST:'
			'*--tmpfs=[an empty directory in memory; what is written there is dropped at the end]:DST\[\:size=64m,inodes=1000,mode=1777,noexec\]:'
			'*--symlink[a symbolic link at LINKPATH with the text TEXT]:TEXT::LINKPATH:'
			'*--dir=[an empty directory]:DST:'
			'*--file[a private read-only copy of the file SRC at DST]:SRC:_files:DST:'
			'*--protect=[let the payload neither change nor create PATH, in each writable mount, or at /PATH of the jail; @git is for files that git and other tools act on, the default for flags that bind a directory of a git repository writable]:PATH:'
			'*--no-protect=-[do not protect PATH, or without =PATH, nothing by default]::PATH:'
			'*--etc=[show /etc/NAME of the host too, as far as everybody may read it; brig doctor lists what programs look for there]:NAME:'
			'--image=[use an image as the root, as docker names it\: python\:3.12-slim; it gives the command, the variables, the directory and the user that no flag gives]:NAME:'
			'--image-store=[look for the image in DIR instead of /var/lib/brig/images for root, or brig/images in $XDG_DATA_HOME]:DIR:_files'
			'--pull=[fetch the image with brigd image pull\: never, missing (the default) or always]:WHEN:(never missing always)'
			'--entrypoint=[run this instead of the image'\''s entrypoint and command, with the words after the flags; '\'''\'' is none]:COMMAND:'
			'--rootfs=[use the directory tree DIR as the root instead of the host'\''s /usr]:DIR:_files'
			'--rootfs-writable=-[let the payload write to its root; up to SIZE is kept in memory, or on disk, and dropped at the end]::SIZE,inodes=N,store=disk:'
			'--commit=[make the image NAME of --image and what the command has changed in its writable root, if it exits with 0]:NAME:'
			'*-e[set a variable; the name alone passes the caller'\''s value]:NAME\[=VALUE\]:'
			'*--env=[set a variable; the name alone passes the caller'\''s value]:NAME\[=VALUE\]:'
			'*--env-file=[set the variables of FILE, one NAME=VALUE a line, as docker reads it]:FILE:_files'
			'*--pass-env=[pass the caller'\''s variables; a glob never matches tokens, keys, passwords and the like]:NAME|GLOB:'
			'--bare-env[set no PATH, HOME, LANG and TERM\: only the variables that flags name]'
			'-w[start in DIR of the jail instead of /work]:DIR:'
			'--workdir=[start in DIR of the jail instead of /work]:DIR:'
			'-u[the payload'\''s ids inside the jail, instead of 1000\:1000; outside it stays unprivileged]:UID\[\:GID\]:'
			'--user=[the payload'\''s ids inside the jail, instead of 1000\:1000; outside it stays unprivileged]:UID\[\:GID\]:'
			'--hostname=[the host name inside the jail, instead of brig]:NAME:'
			'--net=[nothing, lo only (the default), what --allow names, or the host'\''s own]:none|loopback|egress|host:(none loopback egress host)'
			'*--allow=[let the payload reach a name, *.name (every name below it), address or prefix (example.com, *.pypi.org\:443, tcp\://10.1.2.0/24\:5432, udp\://192.0.2.7\:123); modes\: http, tls, tcp, udp]:\[MODE\://\]HOST\[\:PORTS\]:'
			'*--deny=[refuse this even if --allow names it]:HOST\[\:PORTS\]:'
			'--net-policy=[take rules and limits from a JSON file, or from the settings of srt; --allow and --deny add to it]:FILE|-:_files'
			'*--net-limit=[bounds of the network\: max_connections, connections_per_second, names_per_second (new names below a wildcard), max_connection_bytes, max_bytes, bandwidth (bytes a second), connect_timeout, idle_timeout]:NAME=VALUE,...:(max_connections= connections_per_second= names_per_second= max_connection_bytes= max_bytes= bandwidth= connect_timeout= idle_timeout=)'
			'--net-redirect[bring every port to one listener by an nft redirect in the jail'\''s own namespace, so that the payload may listen on the policy'\''s ports itself]'
			'--net-log=[append a JSON line for each connection and each refused attempt to FILE; - is stderr]:FILE|-:_files'
			'*-p[let the host connect to the TCP port JAIL of the jail at port HOST of 127.0.0.1, or of IP]:\[IP\:\]HOST\:JAIL:'
			'*--publish=[let the host connect to the TCP port JAIL of the jail at port HOST of 127.0.0.1, or of IP]:\[IP\:\]HOST\:JAIL:'
			'--seccomp=[the system-call filter\: default, strict, compute, build, debug, unconfined, or a profile in docker'\''s JSON (a path has a /); brig help seccomp]:FILE|NAME:{_values value default strict compute build debug unconfined; _files}'
			'--apparmor=[start the payload in this AppArmor profile, which the kernel must have loaded in enforce mode]:PROFILE:'
			'--selinux-label=[start the payload with this SELinux context\: USER\:ROLE\:TYPE\[\:LEVEL\]]:LABEL:'
			'--tier=[use no namespaces, for machines that forbid them; this is weaker, and needs Linux 6.12\: brig help tier]:process:(process)'
			'-t[give the payload a terminal of its own, for shells and editors; ~. at the start of a line ends the jail, ~? lists more]'
			'--tty[give the payload a terminal of its own, for shells and editors; ~. at the start of a line ends the jail, ~? lists more]'
			'*-i[no effect\: stdin always reaches the payload, so docker'\''s -it is --tty]'
			'*--interactive[no effect\: stdin always reaches the payload, so docker'\''s -it is --tty]'
			'*--rm[no effect\: a jail never leaves anything behind]'
			'--init[run an init as pid 1 that reaps and forwards signals (the default)]'
			'--no-init[make the payload pid 1]'
			'*--require=[fail unless these mechanisms are in force, with no fall-back]:NAME,...:(user mount pid net ipc uts cgroup seccomp landlock apparmor selinux overlay idmap cow keyring proc init processes sockets protect memory memory_sockets memory_swap memory_high memory_zswap memory_low memory_min cpus cpu_burst cpu_weight cpuset cpu_time io io_weight hugetlb cgroup_file)'
			'*--optional=[continue without these mechanisms if this machine lacks them; the report lists them]:NAME,...:(user mount pid net ipc uts cgroup seccomp landlock apparmor selinux overlay idmap cow keyring proc init processes sockets protect memory memory_sockets memory_swap memory_high memory_zswap memory_low memory_min cpus cpu_burst cpu_weight cpuset cpu_time io io_weight hugetlb cgroup_file)'
			'--timeout=[end everything after TIME (30s, 5m; default 1h; 0 for no limit)]:TIME:'
			'--idle-timeout=[end everything after TIME without output on stdout and stderr]:TIME:'
			'--grace=[the time that a payload has to end after SIGTERM, SIGHUP or a second SIGINT to brig, before everything is killed (default 10s); if it is given, the two limits above send SIGTERM first, too]:TIME:'
			'--cpu-time=[the processor time of all processes together; of each by itself where there is no control group]:TIME:'
			'--pids-limit=[the number of processes and threads at once (default 1024; 0 or -1 for no limit)]:N:'
			'-m[memory, with page cache and tmpfs; beyond it the whole jail is killed]:SIZE:'
			'--memory=[memory, with page cache and tmpfs; beyond it the whole jail is killed]:SIZE:'
			'--memory-swap=[memory and swap together; -1 for any amount of swap (default\: that of --memory, so none)]:SIZE:'
			'--cpus=[processor time, counted in processors, such as 0.5]:N:'
			'--max-output=[keep SIZE of stdout and of stderr, head and tail, and count the rest (0 for no limit)]:SIZE:'
			'--output-limit=[end everything when stdout and stderr together exceed SIZE]:SIZE:'
			'*--ulimit=[a limit of getrlimit(2), such as nofile=1024\:2048 or core=unlimited]:NAME=SOFT\[\:HARD\]:(as= core= cpu= data= fsize= locks= memlock= msgqueue= nice= nofile= nproc= rss= rtprio= rttime= sigpending= stack=)'
			'--memory-high=[above SIZE memory is reclaimed and the jail slowed down, not killed]:SIZE:'
			'--memory-zswap=[at most SIZE is kept compressed in zswap before it is swapped to disk]:SIZE:'
			'--memory-reservation=[below SIZE nothing is reclaimed while other groups have memory to reclaim]:SIZE:'
			'--memory-min=[below SIZE nothing is ever reclaimed]:SIZE:'
			'--no-oom-group[out of memory kills one process instead of the whole jail]'
			'--cpu-period=[the period that --cpus is measured in, 1ms to 1s (default 100ms)]:TIME:'
			'--cpu-burst=[the unused time that may be saved up for later periods]:TIME:'
			'--cpu-weight=[the share when processors are short, 1 to 10000 (default 100)]:N:'
			'--cpuset-cpus=[the processors to run on, such as 0-3,6]:LIST:'
			'--cpuset-mems=[the memory nodes to allocate from, such as 0]:LIST:'
			'*--device-read-bps=[bytes a second, such as /dev/sda\:10m; any other PATH stands for the device that holds it]:PATH\:RATE:_files'
			'*--device-write-bps=[the same for writing]:PATH\:RATE:_files'
			'*--device-read-iops=[read operations a second]:PATH\:RATE:_files'
			'*--device-write-iops=[write operations a second]:PATH\:RATE:_files'
			'--io-weight=[the share when a block device is busy, 1 to 10000 (default 100)]:N:'
			'*--hugetlb=[the memory in huge pages of SIZE, such as 2MB=64m]:SIZE=LIMIT:(64KB= 2MB= 1GB=)'
			'*--cgroup=[write VALUE to any other file of the group, such as memory.oom.group=0]:FILE=VALUE:'
			'--cgroup-parent=[make the group below this one, named as in /proc/self/cgroup, instead of brig'\''s own]:PATH:'
			'--systemd-scope[of run only\: ask systemd for a scope to make the group in]'
			'--spec=[start from the JSON that brig spec has printed; the other flags change it]:FILE|-:_files'
			'--report=[write the report, one JSON object, to FILE, or to stdout\: -]:FILE:_files'
			'--report-fd=[write the report to the open descriptor N]:N:'
			'--json[print the report (or the plan) on stdout as JSON, with the captured stdout and stderr inside]'
			'(- *)--help[print help]'
		)
		_arguments -S $flags '(-)1:command:_command_names -e' '*::argument:_normal'
		;;
	convert) if ((CURRENT == 2)); then compadd -- docker compose nsjail bwrap isolate --json --image-store --help; else _files; fi ;;
	doctor) if ((CURRENT == 2)); then compadd -- --json --delegate --help; else _files; fi ;;
	gc) if ((CURRENT == 2)); then compadd -- --json --cgroup-parent --help; else _files; fi ;;
	diff) if ((CURRENT == 2)); then compadd -- --stat --name-only --json --color --help; else _files; fi ;;
	apply) if ((CURRENT == 2)); then compadd -- --force --dry-run --help; else _files; fi ;;
	discard) if ((CURRENT == 2)); then compadd -- --all --force --help; else _files; fi ;;
	changes) if ((CURRENT == 2)); then compadd -- --json --help; else _files; fi ;;
	isolate) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	bwrap) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	image) if ((CURRENT == 2)); then compadd -- pull import list inspect rm prune export commit --help; else _files; fi ;;
	policy) if ((CURRENT == 2)); then compadd -- list show schema lint diff explain --help; else _files; fi ;;
	token) if ((CURRENT == 2)); then compadd -- keygen mint attenuate inspect verify revoke --help; else _files; fi ;;
	audit) if ((CURRENT == 2)); then compadd -- verify show --help; else _files; fi ;;
	serve) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	worker) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	submit) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	map) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	queue) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	mcp) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	version) if ((CURRENT == 2)); then compadd -- --json --help; else _files; fi ;;
	help) if ((CURRENT == 2)); then compadd -- run explain learn spec convert verify doctor gc diff apply discard changes isolate bwrap image policy token audit serve worker submit map queue mcp version help completion man net limits tier seccomp --help; else _files; fi ;;
	completion) if ((CURRENT == 2)); then compadd -- bash zsh fish --help; else _files; fi ;;
	man) if ((CURRENT == 2)); then compadd -- --help; else _files; fi ;;
	esac
}
if [ "$funcstack[1]" = _brig ]; then
	_brig "$@"
else
	compdef _brig brig
fi
