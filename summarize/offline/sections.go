package offline

// sections returns everything that was found, in the order in which it is written.
func (f *facts) sections() []section {
	all := []section{
		f.goal(), f.constraints(), f.decisions(), f.done(), f.commands(), f.unresolved(), f.progress(), f.next(),
		f.relevant(), f.keyFacts(), f.earlierSummary(),
	}
	for i := range all {
		all[i] = f.update(all[i])
	}
	return all
}

// earlierSize is how many bytes of somebody else's summary are kept: about as much as models write.
const earlierSize = 9000

// earlierSummary quotes a summary that this package did not write, because it cannot be parsed
// safely.
func (f *facts) earlierSummary() section {
	if f.before == nil && f.foreign != "" {
		written := item{text: "Written by another summariser:", more: block(f.foreign, earlierSize), weight: 85}
		return section{heading: headEarlier, items: []item{written}}
	}
	s := section{heading: headEarlier, items: f.quoted}
	if f.before != nil {
		s.items = f.before.items(headEarlier)
	}
	for i := range s.items {
		s.items[i].weight = 80
	}
	return s
}
