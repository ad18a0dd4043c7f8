// Package forecast tests that the engine does what the lab forecast. Its tests play sessions
// through both.
package forecast
