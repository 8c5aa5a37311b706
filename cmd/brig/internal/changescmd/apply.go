package changescmd

import (
	"errors"
	"fmt"
	"os/signal"

	"brig/changes"
	"brig/cmd/brig/internal/console"
	"brig/internal/cli"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// exitRefused is the exit code of apply if the directory no longer fits a change.
const exitRefused = 1

// applyFlags is brig apply with its flags.
type applyFlags struct {
	force, dryRun, undo bool
	allow               []string
}

const applyAbout = "\nNothing is changed if a file that is concerned is not what the run saw, or is protected. A " +
	"PATH\nis below the directory, and chooses all below it; the rest waits. A change set of which nothing\n" +
	"waits is removed. To git directories only data comes, such as commits; hooks, settings and the rest\n" +
	"take a PATH below .git or --force=PATH, and links do not come. All is prepared before the first\n" +
	"file is replaced: after an error nothing is changed. An apply that was killed is finished by the\n" +
	"next one, which needs no ID, taken back by --undo ID, or taken back but for the PATHs that are\n" +
	"named. The exit code is 1 if changes are refused.\n" + noID

// Flags returns its table.
func (o *applyFlags) Flags() []cli.Flag {
	allow := func(v []string) error {
		if v[0] == "" {
			return errors.New("it is empty; write --force alone, or name a protected path")
		}
		o.allow = append(o.allow, v[0])
		return nil
	}
	return cli.InGroup("Flags", []cli.Flag{
		{Name: "force", Args: "PATH", Many: true, Bare: cli.Switch(&o.force, true), Set: allow,
			Help: "replace files that have changed since the run; with PATH, change this protected path; " +
				"with . take another directory at the same path"},
		{Name: "dry-run", Set: cli.Switch(&o.dryRun, true),
			Help: "print what would be changed; it is prepared in the directory, to see that it can be, and removed again"},
		{Name: "undo", Help: "take back an apply that was interrupted", Set: cli.Switch(&o.undo, true)},
	})
}

// Run makes the changes of a set.
func (o *applyFlags) Run(list []string, std *console.Console) (code int, err error) {
	signal.Ignore(unix.SIGXFSZ) // a file size limit is an error of write(2)
	if o.undo && (o.dryRun || o.force || len(o.allow) > 0 || len(list) > 1) {
		return 0, errors.New("--undo takes back all of an apply; write it alone, as in brig apply --undo 7f3a")
	}
	return withStore(func(store *changes.Store) (int, error) {
		resumed := -1
		if !o.dryRun && !o.undo {
			resumed = resume(store, list, std)
		}
		if len(list) == 0 && resumed >= 0 {
			return resumed, nil
		}
		var set *changes.Set
		if len(list) == 0 {
			set, err = chosen(store, "apply", std)
			list = []string{""}
		} else {
			set, err = store.Find(list[0])
		}
		if err != nil {
			return 0, err
		}
		if o.undo {
			return undo(set, store, std), nil
		}
		done, err := set.Apply(&changes.ApplyOptions{Paths: list[1:], Force: o.force, Allow: o.allow, DryRun: o.dryRun,
			Named: true})
		if err != nil {
			return refusedChanges(set, store, err, std), nil
		}
		sayLeft(done, std)
		for _, line := range Stayed(done, store.Short(set.ID)) {
			std.Say("apply: %s", line)
		}
		return o.tell(set, done, std), nil
	})
}

// undo takes back an interrupted apply.
func undo(set *changes.Set, store *changes.Store, std *console.Console) int {
	done, err := set.Undo()
	if err != nil {
		return std.Refuse("apply", err)
	}
	sayLeft(done, std)
	return std.Emit(fmt.Sprintf("%s is as it was before the apply; the changes wait in %s\n",
		changes.GitQuote(string(set.Dir.Path)), store.Short(set.ID)))
}

// sayLeft prints what could not be applied.
func sayLeft(done *changes.Applied, std *console.Console) {
	for _, l := range done.Left {
		std.Say("apply: left out: %s: %s", changes.GitQuote(string(l.Path)), words.Printable(l.Reason.In(std.Words)))
	}
}

// Stayed returns a line for each git directory to which not all has come.
func Stayed(done *changes.Applied, id string) (lines []string) {
	for _, s := range done.Stayed {
		lines = append(lines, fmt.Sprintf("%s; brig apply %s PATH brings a file", s.String(), id))
	}
	return lines
}

// resume finishes interrupted applies, except that of the set that is to be applied. The code is -1 if there were none.
func resume(store *changes.Store, list []string, std *console.Console) (code int) {
	code = -1
	sets, _ := store.List() // a damaged set does not prevent the others from being applied
	for _, set := range sets {
		if !set.Interrupted || len(list) > 0 && len(list[0]) > 3 && set.ID[:min(len(list[0]), len(set.ID))] == list[0] {
			continue
		}
		id := store.Short(set.ID)
		done, err := set.Resume()
		if err != nil {
			code = max(code, refusedChanges(set, store, err, std))
			continue
		}
		sayLeft(done, std)
		for _, line := range Stayed(done, id) {
			std.Say("apply: %s", line)
		}
		std.Say("apply: the interrupted apply of %s to %s is finished", id, changes.GitQuote(string(set.Dir.Path)))
		code = max(code, 0)
	}
	return code
}

// refusedChanges prints why changes were not made.
func refusedChanges(set *changes.Set, store *changes.Store, err error, std *console.Console) int {
	var conflict *changes.ConflictError
	dir, id := changes.GitQuote(string(set.Dir.Path)), store.Short(set.ID)
	if !errors.As(err, &conflict) {
		code := std.Refuse("apply", err)
		if set.Interrupted {
			std.Say("apply: %s is half changed; brig apply %s finishes it, brig apply --undo %s takes it back", dir, id, id)
		} else {
			std.Say("apply: nothing was changed of %s", dir)
		}
		return code
	}
	for _, c := range conflict.List {
		std.Say("apply: %s: %s", changes.GitQuote(string(c.Path)), c.Reason.In(std.Words))
	}
	std.Say("apply: nothing was changed of %s; brig diff %s shows it", dir, id)
	return exitRefused
}

// tell prints what was done in one line, or what would be, a line at a time: all names may have 64 MiB.
func (o *applyFlags) tell(set *changes.Set, done *changes.Applied, std *console.Console) (code int) {
	if o.dryRun {
		for i := 0; i < len(done.Files) && code == 0; i++ {
			f := done.Files[i]
			code = std.Emit(fmt.Sprintf("%-8s %s\n", f.Op(), changes.GitQuote(string(f.Path))))
		}
		return code
	}
	line := fmt.Sprintf("%s changed in %s", Concerned(done.Count()), changes.GitQuote(string(set.Dir.Path)))
	if done.Done == 1 {
		line += ", 1 was there already"
	} else if done.Done > 1 {
		line += fmt.Sprintf(", %d were there already", done.Done)
	}
	if !done.Removed {
		line += "; the others wait"
	}
	return std.Emit(line + "\n")
}

// discardFlags is brig discard with its flags.
type discardFlags struct{ force, all bool }

// Flags returns its table.
func (o *discardFlags) Flags() []cli.Flag {
	return cli.InGroup("Flags", []cli.Flag{
		{Name: "all", Help: "discard all change sets", Set: cli.Switch(&o.all, true)},
		{Name: "force", Help: "also one that is half applied, and leave its directory so", Set: cli.Switch(&o.force, true)},
	})
}

// Run removes change sets.
func (o *discardFlags) Run(list []string, std *console.Console) (code int, err error) {
	if len(list) > 0 && o.all {
		return 0, errors.New("write IDs, as in brig discard 7f3a, or --all")
	}
	return withStore(func(store *changes.Store) (int, error) {
		if len(list) == 0 && !o.all {
			set, err := chosen(store, "discard", std)
			if err != nil {
				return 0, err
			}
			list = []string{set.ID}
		}
		if o.all {
			unkept, kerr := keptNames()
			if list, err = store.IDs(); errors.Join(err, kerr) != nil {
				return 0, errors.Join(err, kerr)
			}
			list = append(list, unkept...)
		}
		if list, err = discardKept(list); err != nil {
			code = std.Refuse("discard", err)
		}
		for _, id := range list {
			set, err := store.Find(id)
			var damaged *changes.DamagedError
			if errors.As(err, &damaged) {
				err = store.Remove(damaged.ID)
			} else if err == nil {
				err = set.Discard(o.force)
			}
			if err != nil {
				code = std.Refuse("discard", err)
			}
		}
		return code, nil
	})
}
