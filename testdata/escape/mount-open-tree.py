# open_tree cannot clone a mount out of its place.
# spec: {"user": "0:0"}
# off: label=caps
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("open_tree clone", call("open_tree", -100, b"/tmp\0", 1))
