// Package model knows the limits, prices and cache terms of models.
//
// A [Model] is what the engine must know about the reader of a session: how much it can take, what
// that costs, and on what terms the provider caches a prompt. Facts come from an embedded
// [Catalogue], which says where it is from and of which day, and from the user's overrides. What is
// not known is assumed, and said in words: see [Model.Assumed].
//
// Its rooms, in reading order:
//
//   - bill: what the requests of a session cost
//
// Begin with Model in model.go.
package model
