package rule_test

import (
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
)

// formOf is a rule, or the program of the letter that has its name.
func formOf(byTheLetter bool, sound rule.Rule) rule.Rule {
	if !byTheLetter {
		return sound
	}
	switch r := sound.(type) {
	case *rule.Files:
		return letter.Files()
	case *rule.URLs:
		return letter.URLs()
	case *rule.Queries:
		return letter.Queries()
	case *rule.Snapshots:
		return letter.Snapshots()
	case *rule.Retries:
		return letter.Retries()
	case *rule.Inputs:
		return letter.Inputs(letter.On{Files: true, URLs: true, Queries: true, Snapshots: true, Retries: true})
	case *rule.Errors:
		return letter.Errors(r.Age.Turns)
	case *rule.CodeBlocks:
		return letter.Code(r.Age.Turns)
	case *rule.AttachedFiles:
		return letter.Attachments()
	}
	panic("S002 has no " + sound.Name())
}
