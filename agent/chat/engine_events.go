package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/plan/budget"
)

// happened handles what loop and engine told. What belongs to other sessions, such as those of
// sub-agents, is not for this transcript.
func (m *chat) happened(items fedMsg) tea.Cmd {
	read := false
	var commands []tea.Cmd
	for _, item := range items {
		switch e := item.(type) {
		case agent.Event:
			if e.SessionID == m.session.id {
				read = m.loopTold(e) || read
			}
		case winnow.Event:
			if e.SessionID == m.session.id {
				more, cmd := m.engineTold(e)
				read = more || read
				commands = append(commands, cmd)
			}
		case *question:
			commands = append(commands, m.asked(e))
		case withdrawn:
			m.questions.withdraw(e.question)
		}
	}
	m.transcript.Asking = map[string]bool{}
	for _, q := range m.questions.waiting {
		m.transcript.Asking[q.want.Tool] = true
	}
	if len(m.session.queued) > 0 && m.work != nil {
		m.handOver()
	}
	if read {
		commands = append(commands, m.sync())
	}
	return tea.Batch(commands...)
}

// loopTold handles an event of the loop, and says whether the log has something new.
func (m *chat) loopTold(e agent.Event) bool {
	t := m.transcript
	switch e.Type {
	case agent.StepStarted:
		if m.work != nil {
			m.work.step, m.work.silent, m.work.waits = e.Step, true, ""
		}
	case agent.Waiting:
		if m.work != nil {
			m.work.waits, m.work.until = e.Text, m.now().Add(e.Wait)
		}
	case agent.Delta:
		t.Delta(e.Step, e.Text)
		if m.work != nil {
			m.work.silent, m.work.waits = false, ""
		}
	case agent.Restarted:
		if t.Writing() != nil {
			t.DropLive()
			t.Say(draw.Say("the answer broke off; it is asked for again"))
		} else {
			t.Say(draw.Say("nothing usable came; it is asked for again"))
		}
	case agent.Answered:
		if m.work != nil {
			m.work.waits = ""
		}
		t.Answered(e.Message)
		return true
	case agent.CallStarted:
		t.Started[e.Part.CallID] = true
		t.Call(e.Message, e.Part)
		return true
	case agent.CallProgress:
		t.Progress[e.Part.CallID] = e.Text
	case agent.CallEnded:
		delete(t.Progress, e.Part.CallID)
		delete(t.Started, e.Part.CallID)
		t.Call(e.Message, e.Part)
		return true
	case agent.Noticed:
		m.noteAfter(draw.Warn(draw.OneLine(e.Text)))
		return true
	case agent.Observed, agent.TurnEnded:
		return true
	}
	return false
}

// engineTold handles an event of the engine.
func (m *chat) engineTold(e winnow.Event) (read bool, cmd tea.Cmd) {
	t := m.transcript
	switch e.Type {
	case winnow.MessageAppended, winnow.PartUpdated:
		return true, nil
	case winnow.ElisionCommitted:
		m.status.doing, m.folding.warned = "", ""
		if e.Receipt != nil {
			m.noteAfter(draw.PrunedNotice(e.Receipt, m.model))
		}
		return true, nil
	case winnow.CompactionStarted:
		if e.Background {
			m.folding.preparing = true
			return false, nil
		}
		m.status.doing, m.folding.written = "folding the past", 0
		return false, m.tickLater()
	case winnow.CompactionDelta:
		if !e.Background {
			m.folding.written += len(e.Text)
		}
	case winnow.Compacted:
		m.status.doing, m.folding.warned, m.folding.preparing = "", "", false
		if e.Receipt != nil {
			t.Folded(e.Receipt)
		}
		return true, nil
	case winnow.CompactionFailed:
		if e.Background {
			m.folding.preparing = false
			if !stopped(e) {
				m.noteAfter(draw.Say("the summary that was prepared beside the work is not used: " + reasonOf(e)))
			}
			return true, nil
		}
		m.status.doing = ""
		if !stopped(e) && e.Code != winnow.NothingToFold {
			m.noteAfter(draw.Wrong(failedCompaction(e)))
			return true, nil
		}
	case winnow.BudgetWarning, winnow.BudgetOverflow:
		switch told := m.folding.warned == e.Type; {
		case e.Verdict == nil: // about what is known of the model
			m.noteAfter(draw.Warn(draw.OneLine(e.Text)))
			return true, nil
		case !told && (e.Type == winnow.BudgetWarning || e.Verdict.Code == budget.CodeAutoOff):
			m.folding.warned = e.Type
			m.noteAfter(draw.Warn(budgetText(e)))
			return true, nil
		}
	}
	return false, nil
}

// stopped reports whether a compaction ended because the user stopped it, who knows it, then. A
// hook that cancels has a reason of its own.
func stopped(e winnow.Event) bool {
	return e.Code == winnow.Cancelled && !strings.Contains(e.Text, "a hook cancelled it")
}

// reasonOf is what a failure is about, without what stands on the screen anyway.
func reasonOf(e winnow.Event) string {
	why := e.Text
	for _, op := range []string{"compact", "prepare"} {
		why = strings.TrimPrefix(why, "winnow: "+op+" "+e.SessionID+": ")
	}
	return draw.OneLine(strings.Replace(why, " ("+string(e.Code)+")", "", 1))
}

// failedCompaction says what a compaction that came to nothing means, and what to do.
func failedCompaction(e winnow.Event) string {
	next := "/compact tries again"
	switch e.Code {
	case winnow.NoProgress:
		next = "/context shows what takes the space, /model takes one with a larger window"
	case winnow.BadSummary, winnow.BadConfig:
		next = "/compact tries again, /model takes another model"
	}
	return "folding failed: " + reasonOf(e) + "\nthe session is as it was; " + next
}

func budgetText(e winnow.Event) string {
	text := "the window fills up"
	if e.Type == winnow.BudgetOverflow {
		text = "the window overflows"
	}
	if e.Text != "" {
		text += ": " + draw.OneLine(e.Text)
	}
	text += " · /compact folds now, /context shows what takes the space"
	if e.Type == winnow.BudgetWarning {
		text += ", /later postpones it"
	}
	return text
}
