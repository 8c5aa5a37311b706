package plan

// The users and groups of Debian's base-passwd. They reveal nothing about the host. Programs look up tty, users or
// www-data by name. No process in a jail can assume these identities.
const (
	baseUsers = "" +
		"daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n" +
		"bin:x:2:2:bin:/bin:/usr/sbin/nologin\n" +
		"sys:x:3:3:sys:/dev:/usr/sbin/nologin\n" +
		"games:x:5:60:games:/usr/games:/usr/sbin/nologin\n" +
		"man:x:6:12:man:/var/cache/man:/usr/sbin/nologin\n" +
		"lp:x:7:7:lp:/var/spool/lpd:/usr/sbin/nologin\n" +
		"mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n" +
		"news:x:9:9:news:/var/spool/news:/usr/sbin/nologin\n" +
		"uucp:x:10:10:uucp:/var/spool/uucp:/usr/sbin/nologin\n" +
		"proxy:x:13:13:proxy:/bin:/usr/sbin/nologin\n" +
		"www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n" +
		"backup:x:34:34:backup:/var/backups:/usr/sbin/nologin\n" +
		"list:x:38:38:list:/var/list:/usr/sbin/nologin\n" +
		"irc:x:39:39:irc:/run/ircd:/usr/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	baseGroups = "" +
		"daemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\nlp:x:7:\nmail:x:8:\nnews:x:9:\nuucp:x:10:\n" +
		"man:x:12:\nproxy:x:13:\nkmem:x:15:\ndialout:x:20:\nfax:x:21:\nvoice:x:22:\ncdrom:x:24:\nfloppy:x:25:\n" +
		"tape:x:26:\nsudo:x:27:\naudio:x:29:\ndip:x:30:\nwww-data:x:33:\nbackup:x:34:\noperator:x:37:\nlist:x:38:\n" +
		"irc:x:39:\nsrc:x:40:\nshadow:x:42:\nutmp:x:43:\nvideo:x:44:\nsasl:x:45:\nplugdev:x:46:\nstaff:x:50:\n" +
		"games:x:60:\nusers:x:100:\nnogroup:x:65534:\n"
)
