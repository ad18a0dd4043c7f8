package lab

import "slices"

// send bills the request of step k, and what it needed.
func (r *run) send(k int) {
	s := &r.trace.steps[k]
	prompt := r.trace.Base + r.layout.total()
	read, write, output := r.terms.at(prompt)
	cached := r.held(prompt)
	r.out.Bill.Read += float64(cached) * read
	r.out.Bill.Write += float64(prompt-cached) * write
	r.out.Bill.Output += float64(s.output) * output
	r.out.Base += r.carried(cached, read, write)
	r.out.Tokens.Sent += prompt
	r.out.Tokens.Cached += cached
	r.out.Tokens.Output += s.output
	r.out.Tokens.Largest = max(r.out.Tokens.Largest, prompt)
	if w := r.model.Limits.Context; w > 0 && prompt > w {
		r.out.Over++
	}
	r.account.Steps++
	r.account.SinceCommit++
	r.account.SincePivot++
	r.account.Carried += r.layout.total()
	r.account.Bill += r.inputs(float64(cached)*read + float64(prompt-cached)*write + float64(s.output)*output)
	r.sent, r.kept, r.hit = prompt, prompt, cached

	r.receive(k)
}

// receive notes what step k was sent, and brings back what it missed.
func (r *run) receive(k int) {
	prompt := r.sent
	r.miss(k, prompt)
	if len(r.entries) == 0 {
		r.entries = append(r.entries, r.trace.Base)
	}
	r.entries = append(r.entries, r.kept)
	if r.opts.Detail {
		r.out.Curve = append(r.out.Curve, r.out.Bill.Total())
		r.out.Sizes = append(r.out.Sizes, prompt)
	}
}

// held is how many tokens of a prompt that goes on with what was kept are read from the cache.
func (r *run) held(prompt int) int {
	held := min(r.kept, prompt)
	r.entries = slices.DeleteFunc(r.entries, func(entry int) bool { return entry > held })
	if r.terms.Marked {
		held = 0
		for _, entry := range r.entries {
			held = max(held, entry)
		}
	}
	if held -= held % max(1, r.terms.Step); held < r.terms.MinPrefix {
		return 0
	}
	return held
}

// inputs is a cost in tokens at the input price.
func (r *run) inputs(cost float64) float64 {
	if in := r.terms.Price.Input; in > 0 {
		return cost * 1e6 / in
	}
	return 0
}
