// Package forecast answers: does the engine do online what the lab forecast offline? Its tests play sessions through both.
package forecast
