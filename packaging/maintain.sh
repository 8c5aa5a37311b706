# shellcheck shell=sh disable=SC2034
# What the package does to a machine besides its files. scripts/package.sh puts these functions at the head of the
# maintainer scripts of dpkg and rpm. Each may be called twice, and without systemd or AppArmor.
profile=/etc/apparmor.d/usr.bin.brig

# come: after the files have come, and when AppArmor has.
come() {
	if command -v systemd-sysusers >/dev/null; then systemd-sysusers brigd.conf; fi
	# A parser that does not know userns belongs to a kernel that asks for no such profile.
	if command -v apparmor_parser >/dev/null && apparmor_parser -QTK /usr/share/brig/apparmor >/dev/null 2>&1; then
		cp /usr/share/brig/apparmor "$profile"
		if aa-enabled --quiet 2>/dev/null && ! apparmor_parser -rTK "$profile"; then
			echo "brig: AppArmor has not loaded $profile; see brig doctor" >&2
		fi
	fi
	if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
}

# restart: after an upgrade.
restart() {
	if [ -d /run/systemd/system ]; then systemctl try-restart brigd.service; fi
}

# stop: before the files go.
stop() {
	if [ -d /run/systemd/system ]; then systemctl stop brigd.socket brigd.service; fi
	if command -v systemctl >/dev/null; then systemctl --quiet disable brigd.socket brigd.service; fi
}

# gone: after the files have gone.
gone() {
	if [ -e "$profile" ]; then
		if aa-enabled --quiet 2>/dev/null && ! apparmor_parser -R "$profile"; then
			echo "brig: AppArmor keeps $profile until the next start" >&2
		fi
		rm -f "$profile" /var/cache/apparmor/*/usr.bin.brig
	fi
	if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
	if [ -d /run/brigd ]; then rmdir --ignore-fail-on-non-empty /run/brigd; fi
}

# purge removes what brigd and root's brig have kept: the audit log, sandboxes, images, change sets.
purge() {
	rm -rf --one-file-system /var/lib/brigd /var/log/brigd /var/lib/brig
	if getent passwd brigd >/dev/null && command -v userdel >/dev/null; then userdel brigd; fi
}
