package rule

// Codes of what is asked of a session and its engine, beside those of rules.
const (
	NotFound      Code = "not-found"       // no such session, message, part or receipt
	NothingToFold Code = "nothing-to-fold" // all there is would stay verbatim
	// the provider rejected the request, and nothing may or can be done about it
	TooLong     Code = "context-too-long"
	BadSummary  Code = "bad-summary"       // no summariser gave a summary that counts
	Cancelled   Code = "cancelled"         // the caller, or a hook, wanted it to stop
	Busy        Code = "busy"              // somebody else kept changing the session
	BeforePivot Code = "before-pivot"      // a summary stands for it already
	Stale       Code = "stale"             // its source has changed
	BadInput    Code = "bad-input"         // the arguments cannot be right
	StoreFailed Code = "store-failed"      // the store could not read or write
	BadConfig   Code = "bad-configuration" // the configuration cannot be right
	Undone      Code = "undone"            // it came with something that was undone
	TooLarge    Code = "too-large"         // the window has no room for it
	NotKept     Code = "not-kept"          // the log has nothing of it that could be shown
)
