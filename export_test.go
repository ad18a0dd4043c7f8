package winnow

// ForbidOffline leaves the engine without the offline summariser to fall back to.
func (e *Engine) ForbidOffline() { e.policy.Offline = false }
