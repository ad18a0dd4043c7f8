package policy

import "github.com/winnowhq/winnow/rule"

// Strategies switches the ten strategies of S002, and what belongs to them.
type Strategies struct {
	ToolInputs, StepMarkers, SourceURLs, Files, Snapshots, RetryParts, UserCodeBlocks, OldErrors, FilePrune, StateQueries bool
	// Duplicates, Todos and Idle are no strategies of S002: the aggressive policy has none of them.
	Duplicates, Todos, Idle bool
	// Ages in turns from which on old errors are shortened, attachments and blocks of code left out. 0 is at once.
	ErrorTurns, FileTurns, CodeTurns int
	// ErrorSteps and FileSteps do so in steps, for turns that are long; 0 leaves the measure out.
	ErrorSteps, FileSteps int
	// KeepSnapshots is how many of the newest snapshots of a page stay, at least 1.
	KeepSnapshots int
	// QuietSteps is how many of the newest steps keep everything that the sound forms could leave out.
	QuietSteps int
	// IdleOutputs and IdleInputs are how many steps an output of a call, and its arguments, must lie idle; 0 leaves them alone.
	IdleOutputs, IdleInputs int
	// Least is how many tokens an elision of the sound forms must save.
	Least int
}

// Defaults of the strategies, by policy.
const (
	DefaultErrorTurns    = 3 // S002 9
	DefaultCodeTurns     = 5 // S002 8
	DefaultFileTurns     = 2 // the request being worked on, and the one before
	DefaultErrorSteps    = 20
	DefaultFileSteps     = 20
	DefaultKeepSnapshots = 1
	DefaultLeast         = 20 // tokens: about what the placeholder takes
	DefaultIdleOutputs   = 10 // measured on recorded sessions, as the next two: docs/economics.md
	DefaultIdleInputs    = 30 // no call brings them back, and edits quote earlier edits
	leastIdle            = 50 // tokens: what is small is not worth the risk
	DefaultQuietSteps    = 5  // what was just seen is what is being worked with, and models imitate the calls that they see last
)

// DefaultStrategies are all switched on under aggressive; under balanced all but the user's blocks of code: what the user typed cannot be read again.
func DefaultStrategies(name string) Strategies {
	s := Strategies{
		ToolInputs: true, StepMarkers: true, SourceURLs: true, Files: true, Snapshots: true, RetryParts: true, UserCodeBlocks: true, OldErrors: true,
		FilePrune: true, StateQueries: true,
		ErrorTurns: DefaultErrorTurns, CodeTurns: DefaultCodeTurns, KeepSnapshots: 1,
	}
	if name == Balanced {
		s.UserCodeBlocks, s.Duplicates, s.Todos, s.Idle = false, true, true, true
		s.IdleOutputs, s.IdleInputs = DefaultIdleOutputs, DefaultIdleInputs
		s.FileTurns, s.KeepSnapshots, s.QuietSteps = DefaultFileTurns, DefaultKeepSnapshots, DefaultQuietSteps
		s.ErrorSteps, s.FileSteps, s.Least = DefaultErrorSteps, DefaultFileSteps, DefaultLeast
	}
	return s
}

// rules are those that are switched on. Of two elisions of one field the earlier rule's counts: what says best why comes first, and what goes for its age
// alone comes last.
func (s Strategies) rules(letter bool) []rule.Rule {
	quiet := rule.Age{Steps: s.QuietSteps}
	var on []rule.Rule
	for _, r := range []struct {
		on   bool
		rule rule.Rule
	}{
		// What is idle goes by itself: it would stay for the sake of others otherwise, that went because it shows what they showed.
		{s.Idle && !letter, &rule.Idle{Outputs: s.IdleOutputs, Inputs: s.IdleInputs, Least: leastIdle}},
		{s.FilePrune, &rule.Files{Letter: letter, Age: quiet}},
		{s.Duplicates && !letter, &rule.Duplicates{Age: quiet}},
		{s.Todos && !letter, &rule.Todos{Age: quiet}},
		{s.SourceURLs, &rule.URLs{Letter: letter, Age: quiet}},
		{s.StateQueries, &rule.Queries{Letter: letter, Age: quiet}},
		{s.Snapshots, &rule.Snapshots{Letter: letter, Age: quiet, Keep: max(1, s.KeepSnapshots)}},
		{s.RetryParts, &rule.Retries{Letter: letter, Age: quiet}},
		{s.ToolInputs, &rule.Inputs{Letter: letter, Age: quiet}},
		{s.OldErrors, &rule.Errors{Letter: letter, Age: rule.Age{Turns: s.ErrorTurns, Steps: s.ErrorSteps}}},
		{s.UserCodeBlocks, &rule.CodeBlocks{Letter: letter, Age: rule.Age{Turns: s.CodeTurns}}},
		{s.Files, &rule.AttachedFiles{Letter: letter, Age: rule.Age{Turns: s.FileTurns, Steps: s.FileSteps}}},
	} {
		if r.on {
			on = append(on, r.rule)
		}
	}
	return on
}
