package command

import (
	"strings"
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Cobra keeps the completion of every flag for as long as the process lives, and the command with
// it. A program has one command line; with the thousands of a test, every collection of garbage
// would go through gigabytes.
//
//go:linkname flagCompletions github.com/spf13/cobra.flagCompletionFunctions
var flagCompletions map[*pflag.Flag]cobra.CompletionFunc

//go:linkname flagCompletionsLock github.com/spf13/cobra.flagCompletionMutex
var flagCompletionsLock *sync.RWMutex

// completing is held by the command lines that ask for completions.
var completing sync.RWMutex

// forgetCompletions begins a command line; the function that it returns ends it, and forgets the
// completions of all flags unless another command line is asking for them.
func forgetCompletions(args []string) (end func()) {
	asks := len(args) > 0 && strings.HasPrefix(args[0], "__complete")
	if asks {
		completing.RLock()
	}
	return func() {
		if asks {
			completing.RUnlock()
		}
		if completing.TryLock() {
			defer completing.Unlock()
			flagCompletionsLock.Lock()
			defer flagCompletionsLock.Unlock()
			clear(flagCompletions)
		}
	}
}
