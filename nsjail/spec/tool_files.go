package spec

// The files that ProtectGit stands for beside those of git(1), as of November 2026. The rule: a file or directory that
// an editor, a shell, a debugger, version control or an agent of the host loads, executes or takes instructions from
// when somebody opens or enters the directory, without having been asked to build or run the project. What the project
// itself is made of is none (Makefile, package.json, build.rs): who executes that executes the work of the payload.
//
// ToolFiles are protected also while they are absent. Others are protected while they exist: those that ordinary work
// makes as well, such as AGENTS.md, and start-up files of shells; in the caller's home directory also while they are
// absent. docs/reference/protected-paths.md has them.
var ToolFiles = []string{
	".envrc", ".vscode", ".idea", ".claude", ".codex", ".mcp.json", ".gitmodules", ".cursor", ".gemini",
	".devcontainer", ".devcontainer.json", ".zed", ".roo", ".kiro", ".windsurf", ".trae", ".continue",
	".opencode", "opencode.json", "opencode.jsonc", ".mise.toml", "mise.toml", ".mise", ".exrc", ".nvim.lua",
	".gdbinit", ".lldbinit", ".dir-locals.el",
}
