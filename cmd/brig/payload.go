package main

import (
	"fmt"
	"runtime"
	"strings"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/daemon"
	"brig/cmd/brig/internal/rootimage"
	"brig/cmd/brig/internal/runcmd"
	"brig/cmd/brig/internal/wish"
	"brig/internal/cli"
)

// jailed is a command that takes the flags of a jail and a command to run in it.
type jailed interface {
	Flags() []cli.Flag // those that run does not have
	Run(w *wish.Wish, root rootimage.Root, std *console.Console) int
}

// payload returns such a command.
func payload[T any, P interface {
	*T
	jailed
}](name, what string) cli.Command {
	return cli.Command{Name: name, Args: "[FLAG...] [--] COMMAND [ARG...]", What: what, Kind: cli.Payload, Jails: true,
		Flags: func() []cli.Flag { return append(wish.NewDraft(name, nil).Flags(), P(new(T)).Flags()...) },
		After: func(h *cli.Help) {
			h.WriteString("\nSizes are as docker's (64k, 512m, 1g), times as Go's (500ms, 30s, 1h) or in seconds.\n" +
				"A relative SRC, or PATH of a device, starts at the caller's directory.\n\nExit codes:\n")
			for _, e := range exitCodes() {
				h.Row(e[0], e[1], 14)
			}
		},
		Run: func(args []string, streams cli.Stdio) int { return grant(name, P(new(T)), args, open(streams)) }}
}

// grant runs a command for what its flags ask.
func grant(name string, act jailed, args []string, std *console.Console) int {
	w, help, err := wish.Parse(name, act.Flags(), args, wish.FileReader(std.In))
	if err == nil && !help && name == "run" && w.Image.Commit != "" {
		if _, err = daemon.Find("which makes images"); err != nil {
			err = fmt.Errorf("--commit: %w", err)
		}
	}
	if err != nil {
		return std.Fail(strings.Split(err.Error(), "\n")...)
	}
	if help {
		return std.Emit(std.Help(name))
	}
	var lines []string
	root, err := rootimage.Apply(w, std)
	if err != nil {
		lines = []string{std.Told(err)}
	} else {
		lines = w.Problems(std.Words)
	}
	if len(lines) > 0 {
		code := std.Fail(lines...)
		if name == "run" {
			runcmd.Refuse(w, lines[0], std)
		}
		return code
	}
	defer runtime.KeepAlive(root.Held)
	return act.Run(w, root, std)
}

// exitCodes returns the exit codes of run.
func exitCodes() [][2]string {
	return [][2]string{
		{"0-255", "the command's own"},
		{"123", "it has run, and what it has changed could not all be kept"},
		{"124", "the time limit ended it"},
		{"125", "brig could not make the jail; nothing has run"},
		{"126", "the command cannot be executed"},
		{"127", "the command is not in the jail's root"},
		{"128+N", "signal N ended it"},
	}
}

// printed is brig spec. It has no flags of its own.
type printed struct{}

// Flags returns none.
func (*printed) Flags() []cli.Flag { return nil }

// Run prints the Spec.
func (*printed) Run(w *wish.Wish, _ rootimage.Root, std *console.Console) int {
	if w.Image.Name != "" {
		w.Spec.Rootfs.Path = "" // a directory of this machine; the image's digest identifies the tree
	}
	if bad := w.Spec.NotUTF8(); len(bad) > 0 {
		return std.Fail(w.Translate(bad[0], std.Words))
	}
	return std.Emit(string(w.Spec.JSON()))
}
