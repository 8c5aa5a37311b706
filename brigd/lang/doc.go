// Package lang converts {language, code, args} to a command. It detects which languages a jail on this machine has, and
// sets the Args, Env and Mounts of a Job to run a program's text.
//
// # Where the code goes
//
// The code becomes a mount of type data: a private read-only file that is created inside the jail, such as
// /run/brig/main.py, with the language's extension. It is never a file of the host, an argument, or input of a shell.
// Therefore it may contain any bytes, and tracebacks show the right file, line number and line. An interpreter is
// executed directly. A compiler runs in the same jail as the compiled program: /bin/sh runs a script that is a constant
// of this package and gets everything as positional parameters. If the compiler fails, its exit status is the run's
// exit code, and its messages are in the run's stderr.
//
// # Which languages there are
//
// Find looks for programs in the directories of spec.DefaultPath, and in others such as /usr/local/go/bin. It follows
// symbolic links as the jail does: a program that the jail does not show is not found. This takes a few dozen calls of
// lstat(2). Versions then runs each program in a jail. If one fails, the next program for the language is tried, and a
// language without a working program is no longer listed.
//
// Python's output is unbuffered (-u). C, C++, Perl and most other languages buffer output to a pipe until they flush
// it.
//
// # What the code finds
//
// Code can import its own modules: the working directory and /input are in the search path of Python, Node.js (require
// with a bare name), Perl and Ruby, set by an environment variable unless the Job sets it, and of C and C++
// for #include "name.h". Go uses go.mod of the working directory, if there is one. It downloads nothing.
package lang
