package host

// The files that spec.ProtectGit stands for beside those of git(1) and spec.ToolFiles, where the rule is.

// madeFiles are those that ordinary work makes as well: packages are installed, a project gets its first instructions
// for agents. They are protected while they exist. "*" and "[^_]" are as in path.Match: husky writes .husky/_.
var madeFiles = []string{
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

// shellFiles are start-up files of shells and sessions. They are protected while they exist, and like homeFiles in the
// caller's home directory also while they are absent.
var shellFiles = []string{
	".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".bash_logout", ".zshenv",
	".zprofile", ".zshrc", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc",
	".xprofile", ".xsessionrc", ".pam_environment", ".config/fish",
}

// homeFiles are what other programs of the caller load or execute from the home directory.
var homeFiles = []string{
	".gitconfig", ".config/git", ".ssh", ".gnupg", ".config/systemd", ".config/autostart",
	".config/environment.d", ".local/bin", "bin", ".local/share/applications", ".vimrc", ".vim", ".config/nvim",
	".emacs", ".emacs.d", ".tmux.conf", ".screenrc", ".xinitrc", ".xsession", ".xserverrc", ".config/Code",
	".cargo/config.toml", ".cargo/bin", ".cargo/env", ".npmrc", ".yarnrc.yml", ".config/direnv", ".config/mise",
	".claude.json", ".mailcap", ".pythonrc", ".Rprofile", ".local/lib",
}
