package policy

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
)

// Strategy is something that can be left out, as a person switches it on. Its name is the key of
// the configuration, the name of the rule in receipts, the heading in docs/strategies.md, the file
// in rule/ and, in Go's spelling, the field of Strategies.
type Strategy struct {
	Name  string
	Alias string // the name of the switch in S002, or in earlier versions: the configuration takes it too
	Does  string // in one line

	on            func(*Strategies) *bool
	sound, letter func(*Strategies) rule.Rule // nil: the policies of that kind do not have it
	legacy        func() rule.Rule            // the rule that the letter uses instead when it is switched off
	off           bool                        // by default, under balanced
}

// All are the strategies. Of two elisions of one field the earlier strategy's counts: the one that
// says best why comes first, and the one that goes by age alone comes last.
func All() []Strategy {
	quiet := func(s *Strategies) rule.Age { return rule.Age{Steps: s.QuietSteps} }
	return []Strategy{
		{
			Name: "idle", Alias: "pruneIdle", Does: "outputs and arguments that nothing has quoted for a while",
			on: func(s *Strategies) *bool { return &s.Idle },
			// It comes first: what is idle would stay otherwise, for the sake of others that it
			// covers.
			sound: func(s *Strategies) rule.Rule {
				return &rule.Idle{Outputs: s.IdleSteps, Inputs: s.IdleInputSteps, Least: leastIdle}
			},
		}, {
			Name: "files", Alias: "aggressiveFilePrune", Does: "older views of files that newer parts show",
			on:     func(s *Strategies) *bool { return &s.Files },
			sound:  func(s *Strategies) rule.Rule { return &rule.Files{Age: quiet(s)} },
			letter: func(*Strategies) rule.Rule { return letter.Files() },
			legacy: letter.Writes,
		}, {
			Name: "duplicates", Alias: "pruneDuplicates", Does: "outputs that a later identical call repeated",
			on:    func(s *Strategies) *bool { return &s.Duplicates },
			sound: func(s *Strategies) rule.Rule { return &rule.Duplicates{Age: quiet(s)} },
		}, {
			Name: "todos", Alias: "pruneTodos", Does: "todo lists that a newer one replaced",
			on:    func(s *Strategies) *bool { return &s.Todos },
			sound: func(s *Strategies) rule.Rule { return &rule.Todos{Age: quiet(s)} },
		}, {
			Name: "urls", Alias: "pruneSourceUrls", Does: "older fetches of a page, and older searches for the same words",
			on:     func(s *Strategies) *bool { return &s.URLs },
			sound:  func(s *Strategies) rule.Rule { return &rule.URLs{Age: quiet(s)} },
			letter: func(*Strategies) rule.Rule { return letter.URLs() },
		}, {
			Name: "queries", Alias: "stateQuerySupersede", Does: "older results of status queries",
			on:     func(s *Strategies) *bool { return &s.Queries },
			sound:  func(s *Strategies) rule.Rule { return &rule.Queries{Age: quiet(s)} },
			letter: func(*Strategies) rule.Rule { return letter.Queries() },
		}, {
			Name: "snapshots", Alias: "pruneSnapshots", Does: "older snapshots of a page",
			on:     func(s *Strategies) *bool { return &s.Snapshots },
			sound:  func(s *Strategies) rule.Rule { return &rule.Snapshots{Age: quiet(s), Keep: s.KeepSnapshots} },
			letter: func(*Strategies) rule.Rule { return letter.Snapshots() },
		}, {
			Name: "retries", Alias: "pruneRetryParts", Does: "failed calls that succeeded later",
			on:     func(s *Strategies) *bool { return &s.Retries },
			sound:  func(s *Strategies) rule.Rule { return &rule.Retries{Age: quiet(s)} },
			letter: func(*Strategies) rule.Rule { return letter.Retries() },
		}, {
			Name: "inputs", Alias: "pruneToolInputs", Does: "long call arguments whose content is visible elsewhere",
			on:    func(s *Strategies) *bool { return &s.Inputs },
			sound: func(s *Strategies) rule.Rule { return &rule.Inputs{Age: quiet(s)} },
			letter: func(s *Strategies) rule.Rule {
				return letter.Inputs(letter.On{Files: s.Files, URLs: s.URLs, Queries: s.Queries, Snapshots: s.Snapshots,
					Retries: s.Retries})
			},
		}, {
			Name: "errors", Alias: "truncateOldErrors", Does: "old errors, except their most informative lines",
			on: func(s *Strategies) *bool { return &s.Errors },
			sound: func(s *Strategies) rule.Rule {
				return &rule.Errors{Age: rule.Age{Turns: s.ErrorTurns, Steps: s.ErrorSteps}}
			},
			letter: func(s *Strategies) rule.Rule { return letter.Errors(s.ErrorTurns) },
		}, {
			Name: "code", Alias: "pruneUserCodeBlocks", Does: "code blocks in old user messages",
			on:     func(s *Strategies) *bool { return &s.Code },
			sound:  func(s *Strategies) rule.Rule { return &rule.CodeBlocks{Age: rule.Age{Turns: s.CodeBlockTurns}} },
			letter: func(s *Strategies) rule.Rule { return letter.Code(s.CodeBlockTurns) },
			off:    true, // nothing can read again a message that the user typed
		}, {
			Name: "attachments", Alias: "pruneFiles", Does: "old images and PDFs",
			on: func(s *Strategies) *bool { return &s.Attachments },
			sound: func(s *Strategies) rule.Rule {
				return &rule.AttachedFiles{Age: rule.Age{Turns: s.FileTurns, Steps: s.FileSteps}}
			},
			letter: func(*Strategies) rule.Rule { return letter.Attachments() },
		}, {
			Name: "markers", Alias: "pruneStepMarkers", Does: "step markers, unless Policy.Markers shows them",
			on: func(s *Strategies) *bool { return &s.Markers },
		},
	}
}

// Ten are the switches of the ten strategies of S002.
type Ten struct {
	Inputs      bool `json:"inputs"`
	Markers     bool `json:"markers"`
	URLs        bool `json:"urls"`
	Attachments bool `json:"attachments"`
	Snapshots   bool `json:"snapshots"`
	Retries     bool `json:"retries"`
	Code        bool `json:"code"`
	Errors      bool `json:"errors"`
	Files       bool `json:"files"`
	Queries     bool `json:"queries"`
}

// Strategies switches strategies, and says from which age on they act. Under aggressive only the
// Ten count.
type Strategies struct {
	Ten        `json:",inline"`
	Duplicates bool `json:"duplicates"`
	Todos      bool `json:"todos"`
	Idle       bool `json:"idle"`

	MinTokens int `json:"minTokens"` // the least that an elision must save
	// newest steps in which nothing is left out because something newer shows it
	QuietSteps     int `json:"quietSteps"`
	ErrorTurns     int `json:"errorTurns"`     // turns after which an error is shortened; 0 is at once
	ErrorSteps     int `json:"errorSteps"`     // or steps, whichever comes first; 0: turns alone
	FileTurns      int `json:"fileTurns"`      // turns after which an attachment goes
	FileSteps      int `json:"fileSteps"`      // or steps
	CodeBlockTurns int `json:"codeBlockTurns"` // turns after which a block of code in a message of the user goes
	KeepSnapshots  int `json:"keepSnapshots"`  // newest snapshots of a page that stay
	// steps after which an output that nothing has quoted goes; 0: outputs stay
	IdleSteps      int `json:"idleSteps"`
	IdleInputSteps int `json:"idleInputSteps"` // the same of arguments
	// tokens that the line in place of a read may take to say at which lines things begin; 0: none
	Outline int `json:"outline"`
	// what is left out of outputs before they are sent for the first time
	FirstSend rule.FirstSend `json:"firstSend"`
}

// Defaults of the strategies.
const (
	DefaultErrorTurns    = 3 // S002 9
	DefaultCodeTurns     = 5 // S002 8
	DefaultFileTurns     = 2 // the request being worked on, and the one before
	DefaultErrorSteps    = 20
	DefaultFileSteps     = 20
	DefaultKeepSnapshots = 1
	DefaultLeast         = 20  // tokens: about what the placeholder takes
	DefaultIdleOutputs   = 180 // measured on recorded sessions, as the next two: docs/economics.md
	DefaultIdleInputs    = 360 // no call brings them back, and edits quote earlier edits
	DefaultOutline       = 80  // tokens; measured like the two above
	leastIdle            = 50  // tokens: what is small is not worth the risk
	DefaultQuietSteps    = 5   // the agent works with the newest outputs, and models imitate the newest calls
)

// DefaultStrategies are the strategies that a policy has where nothing else is said.
func DefaultStrategies(policy string) Strategies {
	s := Strategies{ErrorTurns: DefaultErrorTurns, CodeBlockTurns: DefaultCodeTurns,
		KeepSnapshots: DefaultKeepSnapshots}
	for _, one := range All() {
		*one.on(&s) = Sound(policy) && !one.off || !Sound(policy) && (one.letter != nil || one.sound == nil)
	}
	if Sound(policy) {
		s.MinTokens, s.QuietSteps = DefaultLeast, DefaultQuietSteps
		s.ErrorSteps, s.FileTurns, s.FileSteps = DefaultErrorSteps, DefaultFileTurns, DefaultFileSteps
		w := WishOf(policy)
		s.IdleSteps, s.IdleInputSteps, s.Outline = w.IdleSteps, w.IdleInputSteps, DefaultOutline
		s.FirstSend = rule.FirstSend{Noise: true, Repeats: true}
	}
	return s
}

// rules are those of the strategies that are switched on.
func (s *Strategies) rules(letter bool) (on []rule.Rule) {
	for _, one := range All() {
		form := one.sound
		if letter {
			form = one.letter
		}
		switch {
		case form != nil && *one.on(s):
			on = append(on, form(s))
		case letter && one.legacy != nil:
			on = append(on, one.legacy())
		}
	}
	return on
}

// Key is the key of the configuration that turns a rule off under a policy, "" of one that no key
// governs: marks of other products, what somebody asked for, and what the letter has in place of a
// strategy that is off.
func Key(ruleName, policyName string) string {
	if ruleName == (rule.Backward{}).Name() {
		return "compaction.prune"
	}
	if slices.ContainsFunc(All(), func(s Strategy) bool { return s.Name == ruleName }) {
		return group(policyName) + ruleName
	}
	if slices.Contains(rule.FirstSends(), ruleName) {
		return group(Balanced) + "firstSend." + ruleName
	}
	return ""
}

// Alias is the other name of the key of a strategy, with its group before it; "" of other keys. The
// configuration takes it wherever it takes the key.
func Alias(key string) string {
	at := strings.LastIndexByte(key, '.') + 1
	for _, s := range All() {
		if s.Name == key[at:] && strings.HasPrefix(key, "strategies.") {
			return key[:at] + s.Alias
		}
	}
	return ""
}

// AgeKey is the key that says how long a rule leaves a part alone, "" where that is fixed.
func AgeKey(ruleName, policyName string) string {
	ages := map[string]string{"errors": "errorTurns", "attachments": "fileTurns", "code": "codeBlockTurns"}
	switch age := ages[ruleName]; {
	case policyName != Balanced:
		return ""
	case age != "":
		return group(policyName) + age
	}
	return group(policyName) + "quietSteps"
}

func group(policyName string) string {
	if policyName == Aggressive {
		return "strategies.aggressivePruning."
	}
	return "strategies.balancedPruning."
}
