// Package lang makes a command out of {language, code, args}: it knows which languages this machine has, as a jail
// shows it, and turns a program's text into the Args, the Env and the Mounts of a Job.
//
// # Where the code goes
//
// The text becomes a mount of type data: a private read-only file that is made inside the jail, /run/brig/main.py, with
// the extension of its language. It is never a file of the host, never an argument and never read by a shell, so that
// any bytes are carried as they are, and tracebacks name that file, the right line, and show the line. An interpreter
// is executed directly. A compiler runs in the same jail as what it makes: /bin/sh runs a script that is a constant of
// this package, to which everything is a positional parameter; where the compiler fails, its status is the run's exit
// code and its messages are in the run's stderr.
//
// # Which languages there are
//
// Find looks for the programs in the directories of nsjail.DefaultPath, and in /usr/local/go/bin and its like,
// following symbolic links as the jail does: what ends outside of what the jail shows is not found. That is a few dozen
// lstat(2). Whether a program works there is known when Versions has run it in a jail: one that fails gives way to the
// next of its name, and a language without any is listed no more.
//
// Python writes its output at once (-u). What C, C++, Perl and most others print to a pipe comes when they flush it.
//
// # What the code finds
//
// Its own modules beside it: the working directory and /input are in the search path of Python, Node.js (require of a
// bare name), Perl and Ruby, by a variable of the environment (EnvNames) that a Job which sets it keeps, and of C and
// C++ for #include "name.h". Go sees go.mod of the working directory, if there is one; it downloads nothing.
package lang
