# File handles, which open inodes without a path, cannot be made or opened.
# off: spec={"seccomp": "unconfined"}
import ctypes
from kernel import *

handle = ctypes.create_string_buffer(b"\x80\0\0\0", 136)
mount = (ctypes.c_int * 1)()
made = call("name_to_handle_at", -100, b"/usr\0", handle, mount, 0)
opened = call("open_by_handle_at", -100, b"\0" * 16, 0)
expect("name_to_handle_at", made) if name(opened) == "EPERM" else escaped(f"open_by_handle_at gave {name(opened)}")
