package pivot

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Reasons why an answer does not count. Each says what was wrong, so that a second attempt can be
// told.
var (
	ErrEmpty     = errors.New("the summary is empty")
	ErrReasoning = errors.New("the model reasoned but wrote no summary")
	ErrCalled    = errors.New("the model called a tool instead of writing notes")
	ErrRefused   = errors.New("the provider's filter stopped the summary")
	ErrTruncated = errors.New("the summary was cut off by the output limit")
	ErrBroken    = errors.New("the provider broke the summary off")
	ErrMarkup    = errors.New("the summary contains tool-call markup instead of notes")
	ErrHeadings  = errors.New("the summary has none of the headings that were asked for")
	ErrTooLarge  = errors.New("the summary is not smaller than what it replaces")
)

// markup matches the beginnings of tool calls that models write as text when they have no tools.
var markup = regexp.MustCompile(
	`(?i)<(?:\w+:)?(?:function_calls|invoke\b|tool_call|tool_use)` +
		`|<\|tool[▁_ ]?calls?|<｜tool|\[TOOL_CALLS\]|<function=`)

var heading = regexp.MustCompile(`(?m)^#{1,4} +\S`)

// Validate reports why an answer must not become a summary, nil if it may. tokens is the size of
// the answer and replaces the size of what it replaces, both by the session's counter.
func Validate(a Answer, tokens, replaces int) error {
	text := strings.TrimSpace(a.Text)
	switch {
	case a.CalledTools:
		return ErrCalled
	case a.Refused:
		return ErrRefused
	case text == "" && a.ReasoningOnly:
		return ErrReasoning
	case text == "":
		return ErrEmpty
	case a.Finish == "length" || a.Finish == "max_tokens":
		return ErrTruncated
	case a.Finish == "other":
		return ErrBroken
	case markup.MatchString(text):
		return ErrMarkup
	case !heading.MatchString(text):
		return ErrHeadings
	case replaces > 0 && tokens >= replaces:
		return fmt.Errorf("%w: %d tokens for %d", ErrTooLarge, tokens, replaces)
	}
	return nil
}
