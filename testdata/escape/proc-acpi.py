# /proc/acpi is covered by an empty directory.
# off: call="proc/acpi", MOVE_MOUNT
import os
from kernel import *

st = os.statvfs("/proc/acpi")
contained("a file system of its own") if st.f_files == 2 else escaped("the host's /proc/acpi")
