# bash completion for brig; load it with: source <(brig completion bash)
_brig() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} left=0 flag= i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "run explain learn spec convert verify doctor gc diff apply discard changes isolate bwrap image policy token audit serve worker submit map queue mcp version help completion man" -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
	run|explain|learn|spec|verify) ;;
	convert) COMPREPLY=($(compgen -W "docker compose nsjail bwrap isolate --json --image-store --help" -- "$cur")); ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;
	doctor) COMPREPLY=($(compgen -W "--json --delegate --help" -- "$cur")); return ;;
	gc) COMPREPLY=($(compgen -W "--json --cgroup-parent --help" -- "$cur")); return ;;
	diff) COMPREPLY=($(compgen -W "--stat --name-only --json --color --help" -- "$cur")); return ;;
	apply) COMPREPLY=($(compgen -W "--force --dry-run --help" -- "$cur")); return ;;
	discard) COMPREPLY=($(compgen -W "--all --force --help" -- "$cur")); return ;;
	changes) COMPREPLY=($(compgen -W "--json --help" -- "$cur")); return ;;
	isolate) COMPREPLY=($(compgen -W "--help" -- "$cur")); ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;
	bwrap) COMPREPLY=($(compgen -W "--help" -- "$cur")); ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;
	image) COMPREPLY=($(compgen -W "pull import list inspect rm prune export commit --help" -- "$cur")); ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;
	policy) COMPREPLY=($(compgen -W "list show schema lint diff explain --help" -- "$cur")); ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;
	token) COMPREPLY=($(compgen -W "keygen mint attenuate inspect verify revoke --help" -- "$cur")); ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;
	audit) COMPREPLY=($(compgen -W "verify show --help" -- "$cur")); ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;
	serve) COMPREPLY=($(compgen -W "--help" -- "$cur")); return ;;
	worker) COMPREPLY=($(compgen -W "--help" -- "$cur")); return ;;
	submit) COMPREPLY=($(compgen -W "--help" -- "$cur")); ((COMP_CWORD == 2)) || COMPREPLY=($(compgen -f -- "$cur")); return ;;
	map) COMPREPLY=($(compgen -W "--help" -- "$cur")); return ;;
	queue) COMPREPLY=($(compgen -W "--help" -- "$cur")); return ;;
	mcp) COMPREPLY=($(compgen -W "--help" -- "$cur")); return ;;
	version) COMPREPLY=($(compgen -W "--json --help" -- "$cur")); return ;;
	help) COMPREPLY=($(compgen -W "run explain learn spec convert verify doctor gc diff apply discard changes isolate bwrap image policy token audit serve worker submit map queue mcp version help completion man net limits tier seccomp --help" -- "$cur")); return ;;
	completion) COMPREPLY=($(compgen -W "bash zsh fish --help" -- "$cur")); return ;;
	man) COMPREPLY=($(compgen -W "--help" -- "$cur")); return ;;
	*) return ;;
	esac
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == "=" ]]; then left=1; continue; fi # readline breaks --flag=value into three words
		if ((left > 0)); then left=$((left - 1)); continue; fi
		flag=${COMP_WORDS[i]}
		case $flag in
		--) i=$((i + 1)); _brig_command "$i"; return ;;
		--input|--work|--cow|--output|--tmpfs|--dir|--protect|--etc|--image|--image-store|--pull|--entrypoint|--rootfs|--commit|-e|--env|--env-file|--pass-env|-w|--workdir|-u|--user|--hostname|--net|--allow|--deny|--net-policy|--net-limit|--net-log|-p|--publish|--seccomp|--apparmor|--selinux-label|--tier|--require|--optional|--timeout|--idle-timeout|--grace|--cpu-time|--pids-limit|-m|--memory|--memory-swap|--cpus|--max-output|--output-limit|--ulimit|--memory-high|--memory-zswap|--memory-reservation|--memory-min|--cpu-period|--cpu-burst|--cpu-weight|--cpuset-cpus|--cpuset-mems|--device-read-bps|--device-write-bps|--device-read-iops|--device-write-iops|--io-weight|--hugetlb|--cgroup|--cgroup-parent|--spec|--report|--report-fd) left=1 ;;
		--bind|--ro-bind|--ro-bind-live|--symlink|--file) left=2 ;;
		-*) ;;
		*) _brig_command "$i"; return ;;
		esac
	done
	if [[ $cur == "=" ]]; then cur=; left=1; fi
	if ((left == 0)); then
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "--help --input --work --cow --apply-if-ok --output --bind --ro-bind --ro-bind-live --tmpfs --symlink --dir --file --protect --no-protect --etc --image --image-store --pull --entrypoint --rootfs --rootfs-writable --commit --env --env-file --pass-env --bare-env --workdir --user --hostname --net --allow --deny --net-policy --net-limit --net-redirect --net-log --publish --seccomp --apparmor --selinux-label --tier --tty --interactive --rm --init --no-init --require --optional --timeout --idle-timeout --grace --cpu-time --pids-limit --memory --memory-swap --cpus --max-output --output-limit --ulimit --memory-high --memory-zswap --memory-reservation --memory-min --no-oom-group --cpu-period --cpu-burst --cpu-weight --cpuset-cpus --cpuset-mems --device-read-bps --device-write-bps --device-read-iops --device-write-iops --io-weight --hugetlb --cgroup --cgroup-parent --systemd-scope --spec --report --report-fd --json" -- "$cur"))
		else
			_brig_command "$COMP_CWORD"
		fi
		return
	fi
	case $flag in
	--pull) COMPREPLY=($(compgen -W "never missing always" -- "$cur")) ;;
	--net) COMPREPLY=($(compgen -W "none loopback egress host" -- "$cur")) ;;
	--net-limit) COMPREPLY=($(compgen -W "max_connections= connections_per_second= names_per_second= max_connection_bytes= max_bytes= bandwidth= connect_timeout= idle_timeout=" -- "$cur")) ;;
	--seccomp) COMPREPLY=($(compgen -W "default strict compute build debug unconfined" -- "$cur")) ;;
	--tier) COMPREPLY=($(compgen -W "process" -- "$cur")) ;;
	--require) COMPREPLY=($(compgen -W "user mount pid net ipc uts cgroup seccomp landlock apparmor selinux overlay idmap cow keyring proc init processes sockets protect memory memory_sockets memory_swap memory_high memory_zswap memory_low memory_min cpus cpu_burst cpu_weight cpuset cpu_time io io_weight hugetlb cgroup_file" -- "$cur")) ;;
	--optional) COMPREPLY=($(compgen -W "user mount pid net ipc uts cgroup seccomp landlock apparmor selinux overlay idmap cow keyring proc init processes sockets protect memory memory_sockets memory_swap memory_high memory_zswap memory_low memory_min cpus cpu_burst cpu_weight cpuset cpu_time io io_weight hugetlb cgroup_file" -- "$cur")) ;;
	--ulimit) COMPREPLY=($(compgen -W "as= core= cpu= data= fsize= locks= memlock= msgqueue= nice= nofile= nproc= rss= rtprio= rttime= sigpending= stack=" -- "$cur")) ;;
	--hugetlb) COMPREPLY=($(compgen -W "64KB= 2MB= 1GB=" -- "$cur")) ;;
	esac
	if ((${#COMPREPLY[@]} == 0)); then
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
_brig_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif (($1 == COMP_CWORD)); then
		COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
	else
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
	fi
}
complete -F _brig brig
