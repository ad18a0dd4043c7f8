// Package look holds what a person sees of a session, a day or a replay.
//
// Its rooms, in reading order:
//
//   - display: what all faces show: axes, colours, tables, the facts of a receipt
//   - tui: reports in a terminal
//   - page: the same in a browser, one file
//   - skim: reports of sessions too large to be held in memory
//   - retrieve: parts that were left out, by their handles
//
// Begin with display, then tui.
package look
