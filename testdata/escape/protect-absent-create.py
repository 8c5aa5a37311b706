# An absent protected path cannot be created, by any type of file.
# setup: repository
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
import socket
from kernel import *

for make in (lambda: open("/work/.mcp.json", "w").write("evil"), lambda: os.mkdir("/work/.vscode"), lambda: os.symlink("x", "/work/.idea"),
             lambda: os.mkfifo("/work/.codex"), lambda: os.makedirs("/work/.claude/agents"),
             lambda: socket.socket(socket.AF_UNIX).bind("/work/.gitmodules"), lambda: os.mknod("/work/.git/config.worktree")):
    try:
        make()
    except OSError:
        pass
contained("the host's side is checked")
