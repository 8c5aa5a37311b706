# Control groups cannot be mounted, so there is no release_agent to write (CVE-2022-0492).
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("mount cgroup2", call("mount", b"none\0", b"/tmp\0", b"cgroup2\0", 0, 0))
