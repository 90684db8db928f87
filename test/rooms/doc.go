// Package rooms holds the layout of Berth as a test: which package may import
// which, how long files and functions may be, and that everything exported
// is documented. Each check is a function of its input, tested on small bad
// examples, and then run over the packages of this module.
package rooms
