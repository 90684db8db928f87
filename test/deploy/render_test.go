package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// variant is one way to install the chart.
type variant struct {
	release, namespace string
	values             []string // files
}

// variants are the default values and each values file. One stands elsewhere
// under another name, so that a name written out in the chart shows.
func variants(t *testing.T) map[string]variant {
	t.Helper()
	out := map[string]variant{"defaults": {release: "berth", namespace: "berth-system"}}
	files, err := filepath.Glob("values/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		v := variant{release: "berth", namespace: "berth-system", values: []string{file}}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if name == "single" {
			v.release, v.namespace = "data", "infra"
		}
		out[name] = v
	}
	return out
}

// template renders the chart; the error is Helm's.
func template(v variant, set ...string) (string, error) {
	args := []string{"template", v.release, chart, "--namespace", v.namespace}
	for _, file := range v.values {
		args = append(args, "--values", file)
	}
	for _, s := range set {
		args = append(args, "--set-json", s)
	}
	return output(tools.helm, args...)
}

// render renders and decodes a variant.
func render(t *testing.T, v variant) *rendered {
	t.Helper()
	text, err := template(v)
	require.NoError(t, err)
	r, err := decode(text)
	require.NoError(t, err)
	r.release, r.namespace = v.release, v.namespace
	return r
}

// TestChecks runs every check over every variant.
func TestChecks(t *testing.T) {
	for name, v := range variants(t) {
		t.Run(name, func(t *testing.T) {
			r := render(t, v)
			for check, run := range checks() {
				assert.Empty(t, run(r), check)
			}
		})
	}
}

const berthYAML = root + "/deploy/berth.yaml"

// header stands at the top of berth.yaml, and says how it came to be.
const header = `# Berth, ready for kubectl apply. cert-manager must be installed.
# Rendered from deploy/chart with its default values; a test holds the two
# together. Don't edit it here: change the chart, then
#   cd test/deploy && UPDATE_DEPLOY=1 go test -run TestBerthYAML
`

// TestBerthYAML holds deploy/berth.yaml against the chart.
func TestBerthYAML(t *testing.T) {
	text, err := template(variants(t)["defaults"])
	require.NoError(t, err)
	want := header + text
	if os.Getenv("UPDATE_DEPLOY") != "" {
		require.NoError(t, os.WriteFile(berthYAML, []byte(want), 0o644))
		t.Log("wrote deploy/berth.yaml")
	}
	got, err := os.ReadFile(berthYAML)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "deploy/berth.yaml drifted: UPDATE_DEPLOY=1 go test -run TestBerthYAML")
}

// TestBerthYAMLComesInOrder: kubectl apply makes objects in the order of the
// file, and the namespace must be there for the others.
func TestBerthYAMLComesInOrder(t *testing.T) {
	r := render(t, variants(t)["defaults"])
	require.NotEmpty(t, r.objects)
	assert.Equal(t, "Namespace", r.objects[0].GetObjectKind().GroupVersionKind().Kind)
}

// TestLint: Helm finds nothing to complain of.
func TestLint(t *testing.T) {
	_, err := output(tools.helm, "lint", "--strict", chart)
	require.NoError(t, err)
	for name, v := range variants(t) {
		for _, file := range v.values {
			_, err := output(tools.helm, "lint", "--strict", chart, "--values", file)
			require.NoError(t, err, name)
		}
	}
}

// TestImage: the tag is the chart's version unless one is given, and a digest wins.
func TestImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	cases := map[string]struct {
		set  []string
		want string
	}{
		"by default":                 {nil, "ghcr.io/berth-dev/berth:v0.1.0"},
		"another tag":                {[]string{`image.tag="v0.2.0"`}, "ghcr.io/berth-dev/berth:v0.2.0"},
		"another registry":           {[]string{`image.repository="registry.example.com:5000/berth"`}, "registry.example.com:5000/berth:v0.1.0"},
		"a digest":                   {[]string{`image.digest="` + digest + `"`}, "ghcr.io/berth-dev/berth@" + digest},
		"a digest wins over the tag": {[]string{`image.tag="v0.2.0"`, `image.digest="` + digest + `"`}, "ghcr.io/berth-dev/berth@" + digest},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text, err := template(variants(t)["defaults"], tc.set...)
			require.NoError(t, err)
			r, err := decode(text)
			require.NoError(t, err)
			assert.Equal(t, tc.want, container(r).Image)
		})
	}
}
