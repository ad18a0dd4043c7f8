package session

// Turn is what follows one message that the user wrote, up to the next: messages[Start:End].
// What stands before the first such message belongs to no turn.
type Turn struct{ Start, End int }

// Turns finds the turns of a log.
func Turns(messages []Message) []Turn {
	var turns []Turn
	for i := range messages {
		if !messages[i].Written() {
			continue
		}
		if n := len(turns); n > 0 {
			turns[n-1].End = i
		}
		turns = append(turns, Turn{Start: i, End: len(messages)})
	}
	return turns
}

// LastUser returns the position of the newest user message that is not a marker and shows nothing
// again, -1 without one.
func LastUser(messages []Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == User && messages[i].Marker() == nil {
			if _, kept := messages[i].Kept(); kept {
				continue
			}
			return i
		}
	}
	return -1
}

// Index returns the position of the message with this id, -1 without one. Where an id occurs twice
// the later one counts, as the later write does.
func Index(messages []Message, id string) int {
	if id == "" {
		return -1
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].ID == id {
			return i
		}
	}
	return -1
}

// FindPart returns the part with this id, else the newest one with this call id, and its message;
// nil without one. The part's own id comes first: where a call id occurs twice, a format gives the
// older part that id and the newer one another, and the older must be found by it.
func FindPart(messages []Message, id string) (*Message, *Part) {
	var message *Message
	var part *Part
	for i := len(messages) - 1; i >= 0; i-- {
		for j := range messages[i].Parts {
			switch p := &messages[i].Parts[j]; {
			case p.ID == id:
				return &messages[i], p
			case part == nil && p.CallID != "" && p.CallID == id:
				message, part = &messages[i], p
			}
		}
	}
	return message, part
}

// Steps counts model requests: an assistant message is one, or as many as it has step-finish parts.
func Steps(messages []Message) int {
	steps := 0
	for i := range messages {
		if messages[i].Role != Assistant {
			continue
		}
		finished := 0
		for j := range messages[i].Parts {
			if messages[i].Parts[j].Type == StepFinishPart {
				finished++
			}
		}
		steps += max(1, finished)
	}
	return steps
}

// PartsByID returns every part of a log by its id.
func PartsByID(messages []Message) map[string]*Part {
	parts := make(map[string]*Part, 2*len(messages))
	for i := range messages {
		for j := range messages[i].Parts {
			parts[messages[i].Parts[j].ID] = &messages[i].Parts[j]
		}
	}
	return parts
}

// LastStep returns the position of the newest message of the assistant, -1 without one.
func LastStep(messages []Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == Assistant {
			return i
		}
	}
	return -1
}
