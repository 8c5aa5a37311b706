package lang

// row describes a language: the programs that run it, and their arguments.
type row struct {
	name    string
	aliases []string
	// programs are searched in this order, each in every directory of the path and then in dirs.
	programs []string
	dirs     []string
	// file is the name of the file with the code.
	file string
	// flags are the arguments before the file, and separator is the one after it.
	flags     []string
	separator []string
	// script compiles and runs the code, if the program is a compiler: see compiled.
	script string
	// pathVar is the variable with the directories of modules.
	pathVar string
	// probe is a program that prints the version, and 6*7 in a line at the end. probeArgs are arguments that only print
	// the version, if running a program takes long.
	probe     string
	probeArgs []string
}

// The scripts of compilers. $1 is the compiler, $2 the file with the code, and $3 the directory of Go's cache, which
// need not exist; the others are the program's arguments. Compilers do not read stdin, which is the program's. Their
// output goes to stderr, and their temporary files in /tmp are removed before the program runs.
const (
	scriptC = `cc=$1 src=$2; shift 3
"$cc" -O2 -pthread -iquote . -iquote /input -o /tmp/main "$src" -lm </dev/null >&2 || exit $?
exec /tmp/main "$@"`

	scriptGo = `go=$1 src=$2 cache=$3; shift 3
[ -d "$cache" ] || cache=/tmp/go-cache
CGO_ENABLED=0 GOCACHE=$cache GOENV=off GOFLAGS=-buildvcs=false GOPATH=/tmp/go GOPROXY=off GOSUMDB=off GOTELEMETRY=off \
GOTOOLCHAIN=local GOWORK=off "$go" build -o /tmp/main "$src" </dev/null >&2 || exit $?
rm -rf /tmp/go-cache /tmp/go
exec /tmp/main "$@"`
)

// rows returns all languages of this package.
func rows() []row {
	return []row{
		{name: "python", aliases: []string{"python3", "py"}, programs: []string{"python3", "python"}, file: "main.py",
			flags: []string{"-u", "-B"}, pathVar: "PYTHONPATH",
			probe: "import sys\nprint('%d.%d.%d' % sys.version_info[:3])\nprint(6*7)\n"},
		{name: "javascript", aliases: []string{"js", "node", "nodejs"}, programs: []string{"node", "nodejs"}, file: "main.js",
			pathVar: "NODE_PATH", probe: "console.log(process.versions.node)\nconsole.log(6*7)\n"},
		{name: "javascript-module", aliases: []string{"mjs", "esm"}, programs: []string{"node", "nodejs"}, file: "main.mjs",
			probe: "import process from 'node:process'\nconsole.log(process.versions.node)\nconsole.log(6*7)\n"},
		{name: "bash", aliases: []string{"shell"}, programs: []string{"bash"}, file: "main.sh",
			probe: "echo \"${BASH_VERSION%%(*}\"\necho $((6*7))\n"},
		{name: "sh", aliases: []string{"posix-shell"}, programs: []string{"sh"}, file: "main.sh", probe: "echo $((6*7))\n"},
		{name: "perl", aliases: []string{"pl"}, programs: []string{"perl"}, file: "main.pl", pathVar: "PERL5LIB",
			probe: "printf \"%vd\\n%d\\n\", $^V, 6*7;\n"},
		{name: "c", programs: []string{"cc", "gcc", "clang"}, file: "main.c", script: scriptC,
			probe: "#include <stdio.h>\nint main(void) { puts(__VERSION__); printf(\"%d\\n\", 6*7); }\n"},
		{name: "c++", aliases: []string{"cpp", "cxx", "cplusplus"}, programs: []string{"c++", "g++", "clang++"},
			file:   "main.cpp",
			script: scriptC, probe: "#include <cstdio>\nint main() { std::puts(__VERSION__); std::printf(\"%d\\n\", 6*7); }\n"},
		{name: "go", aliases: []string{"golang"}, programs: []string{"go"},
			dirs: []string{"/usr/local/go/bin", "/usr/lib/go/bin", "/usr/lib/golang/bin"}, file: "main.go", script: scriptGo,
			probeArgs: []string{"version"}},
		{name: "java", programs: []string{"java"}, file: "Main.java", flags: []string{"-XX:+UseSerialGC"},
			probe: "public class Main { public static void main(String[] a) { " +
				"System.out.println(System.getProperty(\"java.version\") + \"\\n\" + 6*7); } }\n"},
		{name: "ruby", aliases: []string{"rb"}, programs: []string{"ruby"}, file: "main.rb", pathVar: "RUBYLIB",
			probe: "puts RUBY_VERSION, 6*7\n"},
		{name: "lua", programs: []string{"lua", "lua5.4", "lua5.3", "luajit"}, file: "main.lua",
			probe: "print(_VERSION)\nprint(6*7)\n"},
		{name: "php", programs: []string{"php"}, file: "main.php", probe: "<?php echo PHP_VERSION, \"\\n\", 6*7, \"\\n\";\n"},
		{name: "tcl", programs: []string{"tclsh"}, file: "main.tcl", probe: "puts [info patchlevel]\nputs [expr {6*7}]\n"},
		{name: "awk", programs: []string{"awk"}, file: "main.awk", flags: []string{"-f"}, separator: []string{"--"},
			probe: "BEGIN { print PROCINFO[\"version\"]; print 6*7 }\n"},
		{name: "r", programs: []string{"Rscript"}, file: "main.R",
			probe: "cat(R.version$major, R.version$minor, sep = \".\")\ncat(\"\\n\", 6*7, \"\\n\", sep = \"\")\n"},
	}
}
