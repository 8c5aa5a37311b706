#compdef brig
# zsh completion for brig; load it with: source <(brig completion zsh)
_brig() {
	local -a commands flags
	commands=(
		'run:run a command in a jail and exit as it did'
		'explain:print what run would do, system call by system call, and do nothing'
		'spec:print the JSON that the flags mean, for --spec or for the Go library'
		'doctor:say which mechanisms this machine has and what to do about the missing ones'
		'version:print the version'
		'help:print help'
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
	run|explain|spec)
		flags=(
			'*--input=[show SRC of the host at /input, or DST, read-only]:SRC\[\:DST\]:_files'
			'*--work=[show SRC at /work, or DST, writable; the payload starts in /work]:SRC\[\:DST\]:_files'
			'*--output=[show SRC at /output, or DST, writable]:SRC\[\:DST\]:_files'
			'*--bind[show SRC of the host at DST, writable]:SRC:_files:DST:'
			'*--ro-bind[show SRC of the host at DST, read-only with everything mounted below it]:SRC:_files:DST:'
			'*--ro-bind-live[the same, and the host'\''s later changes show; locks and watches cross it]:SRC:_files:DST:'
			'*--tmpfs=[an empty directory in memory; what is written there is dropped at the end]:DST\[\:size=64m,inodes=1000,mode=1777\]:'
			'*--symlink[a symbolic link at LINKPATH that says TEXT]:TEXT::LINKPATH:'
			'*--dir=[an empty directory]:DST:'
			'*--file[a private read-only copy of the file SRC at DST]:SRC:_files:DST:'
			'--rootfs=[use the directory tree DIR as the root instead of the host'\''s /usr]:DIR:_files'
			'--rootfs-writable=-[let the payload write to its root; up to SIZE is kept in memory and dropped at the end]::SIZE:'
			'*-e[set a variable; the name alone passes the caller'\''s value]:NAME\[=VALUE\]:'
			'*--env=[set a variable; the name alone passes the caller'\''s value]:NAME\[=VALUE\]:'
			'*--env-file=[set the variables of FILE, one NAME=VALUE a line, as docker reads it]:FILE:_files'
			'*--pass-env=[pass the caller'\''s variables; a glob never matches tokens, keys, passwords and the like]:NAME|GLOB:'
			'-w[start in DIR of the jail instead of /work]:DIR:'
			'--workdir=[start in DIR of the jail instead of /work]:DIR:'
			'-u[who the payload is inside the jail, instead of 1000\:1000; outside it stays nobody]:UID\[\:GID\]:'
			'--user=[who the payload is inside the jail, instead of 1000\:1000; outside it stays nobody]:UID\[\:GID\]:'
			'--hostname=[the host name inside the jail, instead of brig]:NAME:'
			'--net=[the network\: nothing, lo only (the default), or the host'\''s own]:none|loopback|host:(none loopback host)'
			'--seccomp=[the system-call filter\: default, unconfined, a preset, or a profile in docker'\''s JSON (a path has a /)]:FILE|NAME:{_values value default unconfined; _files}'
			'-t[give the payload a terminal of its own, for shells and editors]'
			'--tty[give the payload a terminal of its own, for shells and editors]'
			'--init[run an init as pid 1 that reaps and forwards signals (the default)]'
			'--no-init[make the payload pid 1]'
			'*--require=[fail unless these mechanisms are in force, with no fall-back]:NAME,...:(user mount pid net ipc uts cgroup seccomp overlay idmap keyring proc init processes sockets memory memory_swap cpus cpuset)'
			'*--optional=[go on without these mechanisms where they are missing, and say so in the report]:NAME,...:(user mount pid net ipc uts cgroup seccomp overlay idmap keyring proc init processes sockets memory memory_swap cpus cpuset)'
			'--timeout=[end everything after TIME (30s, 5m; default 1h; 0 for no limit)]:TIME:'
			'--cpu-time=[the processor time of one process]:TIME:'
			'--pids-limit=[how many processes and threads at once (default 1024; 0 or -1 for no limit)]:N:'
			'--max-output=[keep SIZE of stdout and of stderr, head and tail, and count the rest (0 for no limit)]:SIZE:'
			'*--ulimit=[a limit of getrlimit(2), such as nofile=1024\:2048 or core=unlimited]:NAME=SOFT\[\:HARD\]:(as= core= cpu= data= fsize= locks= memlock= msgqueue= nice= nofile= nproc= rss= rtprio= rttime= sigpending= stack=)'
			'--memory=[memory; this version cannot limit it and refuses, unless --optional memory is given]:SIZE:'
			'--memory-swap=[memory and swap together; refused likewise (--optional memory_swap)]:SIZE:'
			'--cpus=[a share of the processors, such as 0.5; refused likewise (--optional cpus)]:N:'
			'--cpuset-cpus=[the processors to run on, such as 0-3; refused likewise (--optional cpuset)]:LIST:'
			'--spec=[begin with the JSON of brig spec; the other flags change it]:FILE|-:_files'
			'--report=[write the report, one JSON object, to FILE]:FILE:_files'
			'--report-fd=[write the report to the open descriptor N]:N:'
			'--json[print the report (or the plan) on stdout as JSON, with the captured stdout and stderr inside]'
			'(- *)--help[print help]'
		)
		_arguments -S $flags '(-)1:command:_command_names -e' '*::argument:_normal'
		;;
	help) _describe 'command of brig' commands ;;
	completion) _values shell bash zsh fish ;;
	doctor|version) _arguments '--json[answer in JSON]' ;;
	esac
}
if [ "$funcstack[1]" = _brig ]; then
	_brig "$@"
else
	compdef _brig brig
fi
