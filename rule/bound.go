package rule

import "github.com/winnowhq/winnow/session"

// boundRule is the rule that elisions of reasoning name that its model would refuse.
const boundRule = "bound"

// Unbound leaves out a reasoning part of which the model would say that it was made for another prompt; ok is false for any other part, and for one that
// is left out already.
func Unbound(m *session.Message, p *session.Part, ledger Ledger, facts *Facts) (e Elision, ok bool) {
	if p.Type != session.ReasoningPart || ledger.Has(Key{p.ID, Text}) || ledger.Has(Key{p.ID, Whole}) {
		return e, false
	}
	return Elision{
		Part: p.ID, Message: m.ID, Field: Text, Rule: boundRule, Saves: facts.Size(p).Total(),
		Because: "its model takes reasoning only behind the exact prompt that it was made for, and something before it was left out",
	}, true
}
