package rooms_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// core are the pure rooms: no client, HTTP, logger, metric or clock.
func core() []string { return []string{"webhook/claim", "webhook/admission", "webhook/admission/scan"} }

// impure is what the core must not import itself, whole trees of packages.
func impure() []string {
	return []string{
		"k8s.io/client-go", "k8s.io/klog", "net", "log", "context", "time", "os",
		"github.com/prometheus", "github.com/gorilla/mux", "github.com/cert-manager", "github.com/spf13",
	}
}

// heavy is what the core must not link, not even through others.
func heavy() []string {
	return []string{"k8s.io/client-go", "github.com/prometheus", "github.com/gorilla/mux", "github.com/cert-manager"}
}

// room says what of our own a package may import, and what of others it must not.
type room struct {
	ours   []string
	banned []string
}

// table is the layout: data flows one way. A package that isn't here is not allowed.
func table() map[string]room {
	return map[string]room{
		"webhook/claim":          {},
		"webhook/admission/scan": {},
		"webhook/admission":      {ours: []string{"webhook/admission/scan", "webhook/claim"}},
		"webhook/lookup":         {ours: []string{"webhook/claim"}, banned: []string{"net/http", "github.com/gorilla/mux", "github.com/prometheus", "github.com/cert-manager"}},
		"webhook":                {ours: []string{"webhook/admission", "webhook/claim"}, banned: []string{"k8s.io/client-go", "github.com/cert-manager", "github.com/spf13"}},
		"certs":                  {banned: []string{"net/http", "k8s.io/client-go", "github.com/gorilla/mux", "github.com/prometheus"}},
		"cmd/berth":              {ours: []string{"webhook", "webhook/admission", "webhook/claim", "webhook/lookup", "certs"}},
	}
}

// within tells whether a package is in one of the trees.
func within(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		return path == tree || strings.HasPrefix(path, tree+"/")
	})
}

// checkBanned finds the imports that are in one of the trees.
func checkBanned(p *listed, imports, trees []string, verb string) []string {
	var out []string
	for _, path := range imports {
		if within(path, trees) {
			out = append(out, fmt.Sprintf("%s %s %s", p.room(), verb, path))
		}
	}
	return out
}

// checkRoom holds a package against the layout. Packages under test/, and
// packages that serve tests only (their names end in "test"), may import
// what they like, but nothing of the product imports them.
func checkRoom(p *listed, layout map[string]room) []string {
	if forTests(p.room()) {
		return nil
	}
	rules, known := layout[p.room()]
	if !known {
		return []string{p.room() + " is no room of the layout"}
	}
	out := checkBanned(p, p.Imports, rules.banned, "imports")
	for _, path := range p.Imports {
		ours, own := strings.CutPrefix(path, module+"/")
		if own && !slices.Contains(rules.ours, ours) {
			out = append(out, p.room()+" imports "+ours)
		}
	}
	return out
}

func forTests(room string) bool {
	return room == "test" || strings.HasPrefix(room, "test/") || strings.HasPrefix(room, "webhook/") && strings.HasSuffix(room, "test")
}

func TestTheCoreIsPure(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains(core(), p.room()) {
			assert.Empty(t, checkBanned(&p, p.Imports, impure(), "imports"))
			assert.Empty(t, checkBanned(&p, p.Deps, heavy(), "depends on"))
		}
	}
}

func TestRoomsImportOneWay(t *testing.T) {
	for _, p := range packages(t) {
		assert.Empty(t, checkRoom(&p, table()))
	}
}

func TestImportChecksFindWhatIsWrong(t *testing.T) {
	of := func(room string, imports ...string) *listed {
		return &listed{ImportPath: module + "/" + room, Imports: imports}
	}
	cases := map[string]struct {
		pkg  *listed
		want []string
	}{
		"a room may import what the table says":     {of("webhook", "fmt", "net/http", module+"/webhook/claim"), nil},
		"the ground floor imports nothing of ours":  {of("webhook/claim", module+"/webhook/admission"), []string{"webhook/claim imports webhook/admission"}},
		"the shell does not know the informers":     {of("webhook", module+"/webhook/lookup"), []string{"webhook imports webhook/lookup"}},
		"the shell has no client":                   {of("webhook", "k8s.io/client-go/kubernetes"), []string{"webhook imports k8s.io/client-go/kubernetes"}},
		"certificates know nothing of ours":         {of("certs", module+"/webhook/claim"), []string{"certs imports webhook/claim"}},
		"nothing of the product imports test code":  {of("webhook", module+"/webhook/claim/claimtest"), []string{"webhook imports webhook/claim/claimtest"}},
		"test code may import the product":          {of("test/fixtures", module+"/webhook"), nil},
		"a package that is no room has to be added": {of("internal/tools"), []string{"internal/tools is no room of the layout"}},
		"a name that only begins alike is another":  {of("webhook", "k8s.io/client-gopher"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, checkRoom(tc.pkg, table())) })
	}
	for _, path := range []string{"net/http", "log", "log/slog", "k8s.io/klog/v2", "context", "time", "k8s.io/client-go/rest", "github.com/prometheus/client_golang/prometheus", "github.com/gorilla/mux"} {
		assert.Len(t, checkBanned(of("webhook/claim"), []string{path}, impure(), "imports"), 1, path)
	}
}
