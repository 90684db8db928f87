package claim_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

// TestThePackageDocListsEveryReason holds the table of the package doc, which
// says who has to act, against the code.
func TestThePackageDocListsEveryReason(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var got, want []string
	for _, row := range regexp.MustCompile(`(?m)^//\t([A-Z]\w+) +(\d{3})  +\S`).FindAllStringSubmatch(string(doc), -1) {
		got = append(got, row[1]+" "+row[2])
	}
	for _, r := range claim.Reasons() {
		want = append(want, fmt.Sprintf("%s %d", r, r.Code()))
	}
	assert.Equal(t, want, got)
}
