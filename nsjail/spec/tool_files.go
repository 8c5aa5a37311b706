package spec

// The files that ProtectGit stands for beside those of git(1), as of November 2026. The rule: a file or directory that
// an editor, a shell, a debugger, version control or an agent of the host loads, executes or takes instructions from
// when somebody opens or enters the directory, without having been asked to build or run the project. What the project
// itself is made of is none (Makefile, package.json, build.rs): who executes that executes the work of the payload.
//
// ToolFiles are protected also while they are absent.
var ToolFiles = []string{
	".envrc", ".vscode", ".idea", ".claude", ".codex", ".mcp.json", ".gitmodules", ".cursor", ".gemini",
	".devcontainer", ".devcontainer.json", ".zed", ".roo", ".kiro", ".windsurf", ".trae", ".continue",
	".opencode", "opencode.json", "opencode.jsonc", ".mise.toml", "mise.toml", ".mise", ".exrc", ".nvim.lua",
	".gdbinit", ".lldbinit", ".dir-locals.el",
}

// MadeFiles are those that ordinary work makes as well: packages are installed, a project gets its first instructions
// for agents. They are protected while they exist. "*" and "[^_]" are as in path.Match: husky writes .husky/_.
var MadeFiles = []string{
	"AGENTS.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", "CONVENTIONS.md",
	".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".roomodes", ".goosehints", ".rules", ".agents", ".amp",
	".augment", ".devin", ".factory", ".junie", ".qwen", ".crush.json", "crush.json", ".aider.conf.yml",
	".aider.model.settings.yml", ".github/copilot-instructions.md", ".github/instructions", ".github/hooks",
	".pre-commit-config.yaml", "lefthook*.yml", "lefthook*.yaml", "lefthook*.toml", "lefthook*.json",
	".lefthook*", ".config/lefthook*", ".overcommit.yml", ".husky/[^_]*", ".mise.*.toml", "mise.*.toml",
	".config/mise", ".config/mise.toml", ".tool-versions", ".cargo/config.toml", ".cargo/config", ".npmrc",
	".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnpmfile.cjs", "pnpmfile.js",
	"*.code-workspace", "*.sublime-project", ".nvimrc", ".lvimrc", ".vimrc", ".Rprofile", ".irbrc", ".pryrc",
	".fleet", ".vs", ".hg/hgrc", ".jj/repo/config.toml",
}

// ShellFiles are start-up files of shells and sessions. They are protected while they exist, and like HomeFiles in the
// caller's home directory also while they are absent.
var ShellFiles = []string{
	".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".bash_logout", ".zshenv",
	".zprofile", ".zshrc", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc",
	".xprofile", ".xsessionrc", ".pam_environment", ".config/fish",
}

// HomeFiles are what other programs of the caller load or execute from the home directory.
var HomeFiles = []string{
	".gitconfig", ".config/git", ".ssh", ".gnupg", ".config/systemd", ".config/autostart",
	".config/environment.d", ".local/bin", "bin", ".local/share/applications", ".vimrc", ".vim", ".config/nvim",
	".emacs", ".emacs.d", ".tmux.conf", ".screenrc", ".xinitrc", ".xsession", ".xserverrc", ".config/Code",
	".cargo/config.toml", ".cargo/bin", ".cargo/env", ".npmrc", ".yarnrc.yml", ".config/direnv", ".config/mise",
	".claude.json", ".mailcap", ".pythonrc", ".Rprofile", ".local/lib",
}
