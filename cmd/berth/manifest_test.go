package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
)

func TestReadManifests(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}}\n"
	cases := map[string]struct {
		in       string
		want     []string // source kind name
		wantErrs []string
	}{
		"one document":                    {"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", []string{"f:1 Pod p"}, nil},
		"several, and empty ones between": {"# licence\n---\n" + pod + "---\n---\n# nothing\n---\n" + pod, []string{"f:1 Pod p", "f:2 Pod p"}, nil},
		"content after the marker":        {"--- " + pod + "...\n---\t" + pod, []string{"f:1 Pod p", "f:2 Pod p"}, nil},
		"a marker inside a text is none": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: |\n    ---\n    a\n---\n" + pod,
			[]string{"f:1 ConfigMap c", "f:2 Pod p"}, nil,
		},
		"lines that end as on Windows": {"\ufeff---\r\n" + strings.TrimSpace(pod) + "\r\n---\r\n" + pod, []string{"f:1 Pod p", "f:2 Pod p"}, nil},
		"JSON values one after the other": {
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}} {"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"q-"}}`,
			[]string{"f:1 Pod p", "f:2 Pod q-*"}, nil,
		},
		"a List, and a List in it": {
			"kind: List\napiVersion: v1\nitems: [" + strings.TrimSpace(pod) + ", {kind: List, apiVersion: v1, items: [" + strings.TrimSpace(pod) + "]}]",
			[]string{"f:1.1 Pod p", "f:1.2.1 Pod p"}, nil,
		},
		"a typed list, whose items leave out their kind": {
			"kind: DaemonSetList\napiVersion: apps/v1\nitems: [{metadata: {name: d}}]", []string{"f:1.1 DaemonSet d"}, nil,
		},
		"a kind that ends in List but has no items": {"{kind: AllowList, apiVersion: x.io/v1, metadata: {name: a}}", []string{"f:1 AllowList a"}, nil},
		"what is wrong does not hide the rest": {
			"a: [\n---\njust text\n---\n" + pod + "---\n{kind: Pod, metadata: {name: x}}\n---\n{apiVersion: v1, metadata: {name: x}}\n---\n{apiVersion: v1, kind: Pod}\n---\n" + pod,
			[]string{"f:3 Pod p", "f:7 Pod p"},
			[]string{"f:1: not YAML: ", "f:2: not a Kubernetes object", `f:4: Pod has apiVersion ""`, "f:5: not a Kubernetes object: it has no kind", "f:6: Pod has neither metadata.name nor"},
		},
		"a bad item does not hide the others": {
			"kind: List\napiVersion: v1\nitems: [7, " + strings.TrimSpace(pod) + "]", []string{"f:1.2 Pod p"}, []string{"f:1.1: not a Kubernetes object"},
		},
		"items that are no array":     {"{kind: List, apiVersion: v1, items: 7}", nil, []string{"f:1: List has items that are no array"}},
		"a key that stands twice":     {"apiVersion: v1\nkind: Pod\nkind: Pod\nmetadata: {name: p}\n", nil, []string{`f:1: not YAML: `}},
		"JSON that ends in the midst": {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}} {"a":`, []string{"f:1 Pod p"}, []string{"f:2: not JSON: "}},
		"labels that are no strings":  {"{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: {}}}}", nil, []string{"f:1: not a Kubernetes object: "}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			manifests, errs := readManifests([]byte(tc.in), "f")
			var got []string
			for _, m := range manifests {
				got = append(got, m.source+" "+m.head.Kind+" "+m.name())
			}
			assert.Equal(t, tc.want, got)
			require.Len(t, errs, len(tc.wantErrs), "%v", errs)
			for i, want := range tc.wantErrs {
				assert.ErrorContains(t, errs[i], want)
			}
		})
	}
}

func TestNumbersAreKept(t *testing.T) {
	for _, in := range []string{"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {x: 9007199254740993}}", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"x":9007199254740993}}`} {
		manifests, errs := readManifests([]byte(in), "f")
		require.Empty(t, errs)
		body, err := (&world{store: emptyStore()}).body(manifests[0])
		require.NoError(t, err)
		assert.Contains(t, string(body), `"x":9007199254740993`)
	}
}

func TestManifestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yml", "a.yaml", "c.json", "notes.txt", "sub/d.yaml"} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	in := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, filepath.Join(dir, n))
		}
		return out
	}
	cases := map[string]struct {
		path      string
		recursive bool
		want      []string
		wantErr   string
	}{
		"a directory gives its YAML and JSON, sorted":        {path: dir, want: in("a.yaml", "b.yml", "c.json")},
		"with -R those of the directories in it, too":        {path: dir, recursive: true, want: in("a.yaml", "b.yml", "c.json", "sub/d.yaml")},
		"a file is read whatever its name":                   {path: filepath.Join(dir, "notes.txt"), want: in("notes.txt")},
		"standard input is itself":                           {path: "-", want: []string{"-"}},
		"what does not exist is said once":                   {path: filepath.Join(dir, "x"), wantErr: "can't read " + filepath.Join(dir, "x") + ": no such file or directory"},
		"a directory without manifests is a mistake, likely": {path: t.TempDir(), wantErr: "no .yaml, .yml or .json file in this directory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files, err := manifestFiles(tc.path, tc.recursive)
			assert.Equal(t, tc.want, files)
			if tc.wantErr == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tc.wantErr)
		})
	}
}

// TestResources: guessing the plural gives the resource of every kind that the
// webhook knows, and those are judged even without a template.
func TestResources(t *testing.T) {
	kinds := map[string]string{
		"v1 Pod": "pods", "v1 PersistentVolumeClaim": "persistentvolumeclaims", "v1 ReplicationController": "replicationcontrollers",
		"apps/v1 DaemonSet": "daemonsets.apps", "apps/v1 Deployment": "deployments.apps", "apps/v1 ReplicaSet": "replicasets.apps",
		"apps/v1 StatefulSet": "statefulsets.apps", "batch/v1 Job": "jobs.batch", "batch/v1 CronJob": "cronjobs.batch",
		"argoproj.io/v1alpha1 Rollout": "rollouts.argoproj.io", "apps.kruise.io/v1alpha1 CloneSet": "clonesets.apps.kruise.io",
		"apps.kruise.io/v1beta1 StatefulSet": "statefulsets.apps.kruise.io", "apps.kruise.io/v1alpha1 DaemonSet": "daemonsets.apps.kruise.io",
		"apps.kruise.io/v1alpha1 BroadcastJob":        "broadcastjobs.apps.kruise.io",
		"leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": "leaderworkersets.leaderworkerset.x-k8s.io",
		"ray.io/v1 RayCluster":                        "rayclusters.ray.io",
		"jobset.x-k8s.io/v1alpha2 JobSet":             "jobsets.jobset.x-k8s.io",
		"serving.knative.dev/v1 Service":              "services.serving.knative.dev",
	}
	found := map[string]bool{}
	for kind, resource := range kinds {
		version, kind, _ := strings.Cut(kind, " ")
		m := &manifest{raw: []byte("{}"), head: manifestHead{APIVersion: version, Kind: kind}}
		assert.Equal(t, resource, m.resource().GroupResource().String())
		assert.True(t, m.isJudged(), resource)
		found[resource] = true
	}
	for _, k := range admission.Kinds() {
		assert.True(t, found[strings.TrimSuffix(k.Resource+"."+k.Group, ".")], "%v", k)
	}
	for _, m := range []*manifest{
		{raw: []byte("{}"), head: manifestHead{APIVersion: "v1", Kind: "Service"}},
		{raw: []byte(`{"spec":"x"}`), head: manifestHead{APIVersion: "x.io/v1", Kind: "Thing"}},
	} {
		assert.False(t, m.isJudged(), m.head.Kind)
	}
	assert.True(t, (&manifest{raw: []byte(`{"spec":{"template":{}}}`), head: manifestHead{APIVersion: "x.io/v1", Kind: "Thing"}}).isJudged())
}
