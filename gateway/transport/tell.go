package transport

// tell logs what was decided about a request: never what is in it.
func (t *Transport) tell(x *exchange) {
	told := []any{ // held: nothing more may be left out, as the provider refused an edit, or the model is unknown
		"session", x.conversation.id, "messages", x.sent, "edited", x.edited && t.options.Mode != Observe,
		"left_out_tokens", x.left.tokens(), "pruned", x.pruned != nil, "cold", x.cold, "held", x.held, "resent", x.resent,
	}
	what := "decided"
	if x.replayed {
		what = "replayed"
	}
	t.options.Log.Info(what, told...)
}
