package lang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/nsjail"
)

// park keeps one interpreter of a language parked for stories without a Spec of their own.
func park(t *testing.T, l *Languages, language string, modules ...string) (takes func(s story) (cold, warm outcome)) {
	t.Helper()
	need(t, l, language)
	name := must.Get(l.CanPark(language, modules))(t)
	prepare := func(s story) (*job.Job, *nsjail.Handover) {
		j := &job.Job{Spec: s.spec}
		j.Spec.Limits.Wall = nsjail.Duration(2 * time.Minute)
		if no := l.Prepare(j, name, s.code, s.args); no != nil {
			t.Fatal(no)
		}
		return j, l.Handover(j, modules)
	}
	j, h := prepare(story{})
	kind := j.Spec
	kind.Args, kind.Env, kind.Mounts = h.Args, h.Env, h.Mounts
	r := runner(t)
	must.Do(t, r.PrestartRunning(kind, 1))
	t.Cleanup(func() { must.Do(t, r.PrestartRunning(kind, 0)) })
	return func(s story) (cold, warm outcome) {
		t.Helper()
		for r.Parked(kind).Ready == 0 {
			time.Sleep(time.Millisecond)
		}
		var out, messages bytes.Buffer
		j, _ := prepare(s)
		j.Stdout, j.Stderr = &out, &messages
		if !s.none {
			j.Stdin = strings.NewReader(s.stdin)
		}
		j.Handover = l.Handover(j, modules)
		result := must.Get(job.On(r).Execute(context.Background(), j))(t)
		if !result.Warm {
			t.Errorf("no parked interpreter has run %q", s.code)
		}
		return s.run(t, l, name), outcome{out.String(), messages.String(), result}
	}
}

// same compares a run by a parked interpreter with one by a new interpreter.
func same(t *testing.T, cold, warm outcome) {
	t.Helper()
	if cold.out != warm.out || cold.messages != warm.messages || cold.ExitCode != warm.ExitCode ||
		cold.Status != warm.Status || cold.Signal != warm.Signal || cold.Output != warm.Output {
		t.Errorf("without: %q %q %d %s\nparked:  %q %q %d %s", cold.out, cold.messages, cold.ExitCode, cold.Status,
			warm.out, warm.messages, warm.ExitCode, warm.Status)
	}
}

var pythonStories = map[string]story{
	"nothing":   {},
	"print":     {code: "print(1)"},
	"no end":    {code: "x = 1\nif x:\n  print('é', end='')"},
	"arguments": {code: "import sys\nprint(sys.argv, sys.orig_argv, ascii(sys.argv))", args: []string{"-x", "", "a b\n", "é", "\xff"}},
	"itself": {code: "import sys, os\nprint(__name__, __file__, __doc__, __package__, __spec__, type(__loader__).__name__, " +
		"__cached__, sorted(globals()), sys.path, os.getcwd(), sys.flags, sys.executable)\n" +
		"print(open(__file__).read(), oct(os.stat(__file__).st_mode), os.listdir('/run/brig'), sys.modules['__main__'].__dict__ is globals())"},
	"environment": {code: "import os\nprint(sorted(os.environ.items()), os.popen('env | sort').read())"},
	"modules":     {code: "import sys\nprint(sorted(sys.modules), sorted(sys.path_importer_cache), len(sys.meta_path), len(sys.path_hooks))"},
	"frames":      {code: "import sys, traceback\nprint(sys._getframe().f_back)\ntraceback.print_stack()\ndef f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError as e: print(e)"},
	"exception":   {code: "def f():\n\n  return 1 / 0\n\nprint('before')\nf()\n"},
	"chained":     {code: "try:\n  {}['x']\nexcept KeyError:\n  raise ValueError('é\\n')\n"},
	"syntax":      {code: "print(1)\nif True print(2)\n"},
	"encoding":    {code: "# -*- coding: latin-1 -*-\nprint('\xe9')"},
	"bom":         {code: "\ufeffprint(1)\r\nprint(2)\r\n"},
	"not utf-8":   {code: "print('\xff')"},
	"exit":        {code: "import sys\nprint('x', end='')\nsys.exit(7)"},
	"exit text":   {code: "raise SystemExit('why')"},
	"exit none":   {code: "raise SystemExit"},
	"_exit":       {code: "import os\nos._exit(3)"},
	"signal":      {code: "import os\nos.kill(os.getpid(), 9)"},
	"interrupt":   {code: "import os, signal\nprint(signal.getsignal(2))\nraise KeyboardInterrupt"},
	"hook":        {code: "import sys\nsys.excepthook = lambda t, e, b: print('hook', t, b.tb_lineno, b.tb_next)\n\nraise ValueError"},
	"atexit":      {code: "import atexit, threading\natexit.register(print, 'end')\nthreading.Thread(target=print, args=['thread']).start()"},
	"destructor":  {code: "class C:\n  def __del__(self): print('gone')\nc = C()\nc.me = c"},
	"unflushed":   {code: "import os\nf = os.fdopen(os.dup(1), 'w')\nf.write('flushed')\ndef g(): return f"},
	"main":        {code: "import __main__, sys\nprint(__main__.__dict__ is globals(), list(globals()), __annotations__)\nx: int = 1\nprint(__annotations__)"},
	"stdin":       {code: "import sys\nprint(sys.stdin.readline(), sys.stdin.buffer.read(), sys.stdin.encoding)", stdin: "one é\ntwo\nthree"},
	"input":       {code: "print(input('? '), input())", stdin: "a\nb"},
	"end of file": {code: "print(input())"},
	"raw stdin":   {code: "import os\nprint(os.read(0, 100), os.read(0, 100))", stdin: "raw"},
	"no stdin": {none: true, code: "import os, sys, fcntl\ns = os.fstat(0)\nprint(s.st_mode, s.st_rdev, oct(fcntl.fcntl(0, fcntl.F_GETFL)), fcntl.fcntl(0, fcntl.F_GETFD), " +
		"sys.stdin.read(), os.listdir('/proc/self/fd'), os.path.exists('/dev/stdin'))\nos.execlp('sh', 'sh', '-c', 'readlink /proc/self/fd/0')"},
	"streams":    {code: "import sys, os\nfor f in sys.stdin, sys.stdout, sys.stderr: print(f.fileno(), f.isatty(), f.encoding, f.errors, f.line_buffering, f.write_through)\nprint(os.listdir('/proc/self/fd'))"},
	"unbuffered": {code: "import os\nprint('a', end='')\nos.write(1, b'b')\nprint('c', end='')\nos._exit(0)"},
	"children":   {code: "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n  m.set_start_method('spawn')\n  with m.Pool(1) as p: print(p.map(f, [1, 2, 3]))"},
	"inspect":    {code: "import inspect\ndef f():\n  'doc'\n  return 1\nprint(inspect.getsource(f), inspect.stack()[-1].filename)"},
	"its module": {code: "import usercustomize"},
	"large":      {code: "x = '''" + strings.Repeat("0123456789abcdef", 60_000) + "'''\nprint(len(x))"},
	"state":      {code: "import os\nprint(os.umask(0), os.getpid(), os.getppid(), os.nice(0), sorted(os.listdir('/tmp')), os.getcwd())"},
}

// A parked interpreter runs a program as a new one does.
func TestParkedPython(t *testing.T) {
	takes := park(t, Find(), "python")
	for name, s := range pythonStories {
		t.Run(name, func(t *testing.T) {
			cold, warm := takes(s)
			same(t, cold, warm)
		})
	}
}

var nodeStories = map[string]story{
	"nothing":   {},
	"print":     {code: "console.log(1)"},
	"arguments": {code: "console.log(process.argv, process.execArgv, process.argv0, process.execPath)", args: []string{"-x", "", "a b\n", "é"}},
	"itself":    {code: "console.log(__filename, __dirname, require.main === module, module.id, module.paths, module.parent, process.cwd(), Object.keys(globalThis), module.children, Object.keys(require.cache))"},
	"exception": {code: "function f() {\n\n  throw new Error('é')\n}\nconsole.log('before')\nf()\n"},
	"stack":     {code: "console.log(new Error('x').stack)"},
	"syntax":    {code: "console.log(1)\nif true\n"},
	"exit":      {code: "process.on('exit', (c) => console.log('end', c)); process.exitCode = 7"},
	"exit now":  {code: "setTimeout(() => {}, 100000); process.exit(3)"},
	"stdin":     {code: "process.stdin.setEncoding('utf8'); let s = ''; process.stdin.on('data', (d) => s += d).on('end', () => console.log(s))", stdin: "one é\ntwo"},
	"no stdin":  {code: "console.log(require('fs').readFileSync(0, 'utf8').length)"},
	"null":      {none: true, code: "const f = require('fs'), s = f.fstatSync(0); console.log(s.mode, s.rdev, f.readdirSync('/proc/self/fd').length, process.stdin.constructor.name, require('child_process').execSync('readlink /proc/self/fd/0', {stdio: ['inherit', 'pipe', 'inherit']}).toString())"},
	"promise":   {code: "Promise.reject(new TypeError('no'))"},
	"worker":    {code: "const { Worker, isMainThread } = require('worker_threads');\nif (isMainThread) new Worker(__filename); else console.log('worker', process.execArgv, process.argv.length)"},
	"child":     {code: "if (process.argv[2]) console.log('child', process.argv[2], process.execArgv); else require('child_process').fork(__filename, ['x'])"},
	"variables": {code: "console.log(Object.entries(process.env).sort())"},
	"not utf-8": {code: "console.log(require('fs').readFileSync(__filename).toString('hex')) // \xff"},
	"cache":     {code: "const { Worker, isMainThread } = require('worker_threads'); console.log(Object.keys(require.cache), process._preload_modules)\nif (isMainThread) new Worker(__filename)"},
	"ending":    {code: "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 10000)"},
}

func TestParkedNode(t *testing.T) {
	long.Again(t)
	takes := park(t, Find(), "javascript")
	for name, s := range nodeStories {
		t.Run(name, func(t *testing.T) {
			cold, warm := takes(s)
			same(t, cold, warm)
		})
	}
}

func TestParkedNodeModule(t *testing.T) {
	takes := park(t, Find(), "javascript-module")
	for name, code := range map[string]string{
		"print": "import fs from 'node:fs'\nconsole.log(import.meta.url, fs.readFileSync(0, 'utf8'), process.argv, process.execArgv)",
		"await": "await new Promise((r) => setTimeout(r, 1))\nconsole.log(await import('node:path').then((m) => m.sep))\nthrow new Error('x')",
	} {
		t.Run(name, func(t *testing.T) {
			cold, warm := takes(story{code: code, stdin: "in", args: []string{"a"}})
			same(t, cold, warm)
		})
	}
}

// The modules of the option are loaded, a later import finds them, and they are all that differs.
func TestParkedModules(t *testing.T) {
	l := Find()
	cold, warm := park(t, l, "python", "json", "xml.dom.minidom")(story{code: "import sys\nprint(*sorted(sys.modules))"})
	before := " " + cold.out
	for _, m := range strings.Fields(warm.out) {
		known := strings.Contains(before, " "+m+" ")
		if !known && !strings.HasPrefix(m, "json") && !strings.HasPrefix(m, "xml") && !strings.Contains(" re copyreg enum functools collections ", " "+strings.Split(m, ".")[0]+" ") {
			t.Logf("also loaded: %s", m)
		}
	}
	if !strings.Contains(warm.out, " json.decoder ") || !strings.Contains(warm.out, " xml.dom.minidom ") || strings.Contains(warm.out, "usercustomize") {
		t.Errorf("%q", warm.out)
	}
	_, warm = park(t, l, "python", "json")(story{code: "print(json.dumps(1))"})
	if !strings.Contains(warm.messages, "NameError") {
		t.Errorf("a module is in the program's namespace: %q", warm.out)
	}
}

// Each parked interpreter has an address space and a hash seed of its own.
func TestParkedInterpretersDiffer(t *testing.T) {
	l := Find()
	takes := park(t, l, "python", "random")
	seen := map[string]int{}
	for range 4 {
		_, warm := takes(story{code: "import random\nprint(hash('x'), id(print), [l for l in open('/proc/self/maps') if 'stack' in l or 'libc' in l][0], random.random(), sep='\\n')"})
		for _, line := range strings.Split(strings.TrimSpace(warm.out), "\n") {
			seen[line]++
		}
	}
	for line, n := range seen {
		if n > 1 && line != "" {
			t.Errorf("%d of 4 interpreters have %q", n, line)
		}
	}
	if len(seen) < 16 {
		t.Errorf("only %d values: %v", len(seen), seen)
	}
}

func TestCanPark(t *testing.T) {
	l := Find()
	need(t, l, "python")
	for language, modules := range map[string]string{"python": "a.b", "Python3": "", "py": "_x,y1"} {
		if name, err := l.CanPark(language, strings.FieldsFunc(modules, func(r rune) bool { return r == ',' })); name != "python" || err != nil {
			t.Errorf("%s %s: %q, %v", language, modules, name, err)
		}
	}
	for _, x := range [][2]string{{"sh", ""}, {"cobol", ""}, {"", ""}, {"python", "a;b"}, {"python", `x"`}, {"python", "a b"},
		{"python", "a\nb"}, {"python", ""}, {"python", ".a"}, {"python", "1"}} {
		modules := []string{x[1]}
		if x[0] != "python" {
			modules = nil
		}
		if _, err := l.CanPark(x[0], modules); err == nil || !strings.Contains(fmt.Sprint(err), "; ") {
			t.Errorf("%q: %v", x, err)
		}
	}
}

// An empty search path does not become the working directory.
func TestParkWithAnEmptyPath(t *testing.T) {
	l := Find()
	need(t, l, "python")
	j := &job.Job{Spec: nsjail.Spec{Env: []string{"PYTHONPATH="}}}
	if no := l.Prepare(j, "python", "", nil); no != nil {
		t.Fatal(no)
	}
	if env := l.Handover(j, nil).Env; len(env) != 1 || env[0] != "PYTHONPATH="+l.dir+"-boot" {
		t.Errorf("%q", env)
	}
}

// The error of an interpreter that cannot load a module names the module.
func TestParkWithoutModule(t *testing.T) {
	l := Find()
	for language, want := range map[string]string{"python": "ModuleNotFoundError: No module named 'no_such_module'",
		"javascript": "Cannot find module 'no_such_module'"} {
		t.Run(language, func(t *testing.T) {
			need(t, l, language)
			j := new(job.Job)
			if no := l.Prepare(j, language, "", nil); no != nil {
				t.Fatal(no)
			}
			h := l.Handover(j, []string{"no_such_module"})
			s := j.Spec
			s.Args, s.Env, s.Mounts = h.Args, h.Env, h.Mounts
			if err := runner(t).PrestartRunning(s, 1); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// An interpreter that does not import usercustomize tells why, not that the program's file is missing.
func TestParkWithoutUserSite(t *testing.T) {
	l := Find()
	need(t, l, "python")
	j := &job.Job{Spec: nsjail.Spec{Env: []string{"PYTHONNOUSERSITE=1"}}}
	if no := l.Prepare(j, "python", "", nil); no != nil {
		t.Fatal(no)
	}
	h, s := l.Handover(j, nil), j.Spec
	s.Args, s.Env, s.Mounts = h.Args, h.Env, h.Mounts
	const want = "it imports no usercustomize: "
	err := runner(t).PrestartRunning(s, 1)
	if err == nil || !strings.Contains(err.Error(), want+"PYTHONNOUSERSITE is set") {
		t.Error(err)
	}
	venv := t.TempDir()
	python := venv + "/bin/python3"
	must.Do(t, errors.Join(os.Mkdir(venv+"/bin", 0o755), os.Symlink("/usr/bin/python3", python),
		os.WriteFile(venv+"/pyvenv.cfg", []byte("home = /usr/bin\n"), 0o644)))
	if out, err := exec.Command(python, "-c", bootPython).CombinedOutput(); err == nil ||
		string(out) != want+"its virtual environment is without system site-packages\n" {
		t.Errorf("%s, %v", out, err)
	}
}
