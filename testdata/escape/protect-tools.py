# Files that editors, debuggers and agents of the host load when they open the directory are protected, most of them also while they are absent.
# setup: tools
# spec: {"mounts": [{"type": "bind", "source": "$DIR/work", "target": "/work", "writable": true}], "protect": ["@git"]}
# off: spec={"protect": []}
import os
from kernel import *

for name in ("AGENTS.md", ".npmrc", ".pre-commit-config.yaml", "lefthook-local.yml", ".husky/pre-commit", "x.code-workspace", ".cargo/config.toml",
             ".github/copilot-instructions.md", ".cursor/mcp.json", ".gemini/settings.json", ".devcontainer/devcontainer.json", ".devcontainer.json",
             ".zed/tasks.json", ".roo/mcp.json", ".kiro/x", ".windsurf/x", "opencode.json", ".opencode/x", ".mise.toml", ".exrc", ".nvim.lua", ".gdbinit", ".lldbinit"):
    try:
        os.makedirs(os.path.dirname("/work/" + name), exist_ok=True)
        open("/work/" + name, "w").write("evil")
    except OSError:
        pass
contained("the host's side is checked")
