# A directory of the host that nobody shared does not exist in the jail.
# args: $DIR/secret
# off: bind=/tmp
# off: user bind=$DIR
# off: label=scratch
# spec: {"workdir": "/"}
import sys
from kernel import *

denied("read the host's file", lambda: open(sys.argv[1]).read())
