package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/brigd/workspace"
	"brig/internal/words"
)

func refuse(layer, code, rule, message string, next ...string) *job.Refusal {
	return &job.Refusal{Message: message, Code: code, Layer: layer, Rule: rule, NextSteps: next}
}

// asRefusal converts an error to a Refusal: the one that it wraps, or a new one. It returns nil for nil.
func asRefusal(err error, layer, code string) *job.Refusal {
	var no *job.Refusal
	if err == nil || errors.As(err, &no) {
		return no
	}
	return refuse(layer, code, "", err.Error())
}

func bad(code, rule, message string, next ...string) *job.Refusal {
	return refuse("request", code, rule, message, next...)
}

// tellOperator is what a caller can do about a fault of the machine.
const tellOperator = "tell the operator: the log of this server has the reason and the remedy"

// inRequest is the dialect of requests, which have other fields than a Spec: advice about those is left out. Rules for
// the network are in a list of its own.
func inRequest(r words.Ref) (string, bool) {
	if r.Field == "allow" {
		return words.Ref{Field: "network", Value: r.Value}.String(), true
	}
	return "", false
}

// notKept returns the Refusal for a save or snapshot that failed. It does not contain the path of the store.
func notKept(err error) *job.Refusal {
	if file, ok := errors.AsType[*os.PathError](err); ok {
		err = fmt.Errorf("the sandbox store: %w", file.Err)
	}
	no := asRefusal(err, "sandbox", "snapshot_failed")
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		no.Code = workspace.CodeDiskFull
		no.NextSteps = []string{"delete snapshots, or have the operator make room on its disk"}
	}
	return no
}

// amount is a field of a request that holds a number.
type amount struct {
	field    string
	negative bool
	example  string
}

// negative refuses fields that are negative. It names each of them, with what to send instead.
func negative(fields ...amount) *job.Refusal {
	var names, next []string
	for _, f := range fields {
		if f.negative {
			names = append(names, f.field)
			next = append(next, f.field+": leave it out, or send a positive one, as in "+f.example)
		}
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return bad("negative_limit", names[0], names[0]+": it is negative", next...)
	}
	return bad("negative_limit", strings.Join(names, ", "), strings.Join(names, ", ")+": they are negative", next...)
}
