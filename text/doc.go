// Package text holds what works on bytes, words and files, and knows nothing of sessions.
//
// Its rooms, in reading order:
//
//   - span: where JSON values are in a text, and changes to some of them
//   - visible: foreign text made safe for a terminal
//   - secret: keys and passwords, found and masked
//   - wordlist: lists of words in embedded files
//   - quantity: numbers for people
//   - plainfile: plain files, read and replaced whole or not at all
//   - process: commands that end with what they started
//
// Begin with span, which formats, protocols and the gateway splice with.
package text
