package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestHelpFitsATerminalOf80Columns(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"review", "--help"}, {"coverage", "--help"}, {"expand", "--help"}} {
		code, stdout, _ := berth(t, args...)
		assert.Zero(t, code)
		for line := range strings.SplitSeq(stdout, "\n") {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), helpColumns, "%v: %s", args, line)
		}
	}
}
