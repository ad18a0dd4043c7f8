// Package interop checks that the products which own the formats open what we write. Its tests run
// the real products against a scripted upstream, without a network; internal/interop/run.sh runs them.
package interop
