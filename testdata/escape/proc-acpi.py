# /proc/acpi is covered by an empty directory.
# off: call="proc/acpi", NULL
import os
from kernel import *

if not os.path.exists("/proc/acpi"):
    contained("this machine has none")
contained("another file system") if os.stat("/proc/acpi").st_dev != os.stat("/proc").st_dev else escaped("the host's /proc/acpi")
