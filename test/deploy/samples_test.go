package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

// samples are the sample files, decoded strictly.
func samples(t *testing.T) map[string]*rendered {
	t.Helper()
	files, err := filepath.Glob(root + "/deploy/samples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out := map[string]*rendered{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(text), "# "), "%s does not say what it is", file)
		r, err := decode(string(text))
		require.NoError(t, err, file)
		require.NotEmpty(t, r.objects, file)
		out[filepath.Base(file)] = r
	}
	return out
}

// TestSamplesStandTogether: one namespace, opted in, and one claim that every
// workload mounts and every set of node PVCs serves.
func TestSamplesStandTogether(t *testing.T) {
	keys := claim.DefaultRules().Keys
	claims, mounts := map[string][]string{}, 0
	var opted []string
	for file, r := range samples(t) {
		for _, ns := range all[*corev1.Namespace](r) {
			assert.Equal(t, "enabled", ns.Labels[admissionLabel], file)
			opted = append(opted, ns.Name)
		}
		for _, pvc := range all[*corev1.PersistentVolumeClaim](r) {
			if name := pvc.Labels[keys.Claim]; name != "" {
				claims[name] = append(claims[name], pvc.Labels[keys.Node])
				assert.Equal(t, name+"-"+pvc.Labels[keys.Node], pvc.Name, "%s: a name that the default template does not give", file)
			}
		}
		for _, template := range templates(r) {
			assert.Contains(t, claimNames(template), "model-cache", file)
			mounts++
		}
	}
	assert.Len(t, opted, 1)
	assert.Len(t, claims, 1)
	assert.ElementsMatch(t, []string{"node-a", "node-b", "node-a", "node-b"}, claims["model-cache"])
	assert.Equal(t, 3, mounts)
	for file, r := range samples(t) {
		for _, o := range r.objects {
			assert.True(t, o.GetNamespace() == "" || slices.Contains(opted, o.GetNamespace()), "%s: %s is in %s", file, o.GetName(), o.GetNamespace())
		}
	}
}

func templates(r *rendered) []corev1.PodTemplateSpec {
	var out []corev1.PodTemplateSpec
	for _, d := range all[*appsv1.DaemonSet](r) {
		out = append(out, d.Spec.Template)
	}
	for _, d := range all[*appsv1.Deployment](r) {
		out = append(out, d.Spec.Template)
	}
	for _, s := range all[*appsv1.StatefulSet](r) {
		out = append(out, s.Spec.Template)
	}
	return out
}

func claimNames(t corev1.PodTemplateSpec) []string {
	var out []string
	for _, v := range t.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return out
}

// TestSampleVolumesAreReserved: each local PV is tied to a node by its hostname and
// reserved for a PVC that names it in turn, so none can be taken by another.
func TestSampleVolumesAreReserved(t *testing.T) {
	for _, file := range []string{"node-pvcs-local.yaml", "statefulset.yaml"} {
		r := samples(t)[file]
		require.NotNil(t, r, file)
		pvcs := map[string]*corev1.PersistentVolumeClaim{}
		for _, pvc := range all[*corev1.PersistentVolumeClaim](r) {
			pvcs[pvc.Namespace+"/"+pvc.Name] = pvc
		}
		for _, pv := range all[*corev1.PersistentVolume](r) {
			require.NotNil(t, pv.Spec.ClaimRef, pv.Name)
			pvc := pvcs[pv.Spec.ClaimRef.Namespace+"/"+pv.Spec.ClaimRef.Name]
			require.NotNil(t, pvc, pv.Name)
			assert.Equal(t, pv.Name, pvc.Spec.VolumeName)
			assert.Equal(t, pv.Spec.StorageClassName, value(pvc.Spec.StorageClassName))
			assert.Equal(t, pv.Spec.Capacity[corev1.ResourceStorage], pvc.Spec.Resources.Requests[corev1.ResourceStorage])
			term := pv.Spec.NodeAffinity.Required.NodeSelectorTerms
			require.Len(t, term, 1)
			assert.Equal(t, corev1.LabelHostname, term[0].MatchExpressions[0].Key)
			node := pvc.Labels[claim.DefaultRules().Keys.Node]
			assert.True(t, node == "" || slices.Equal([]string{node}, term[0].MatchExpressions[0].Values), pv.Name)
		}
		assert.Len(t, all[*corev1.PersistentVolume](r), len(pvcs), file)
	}
}

// TestSampleStatefulSetFindsItsVolumes: the PVCs are those that the StatefulSet
// controller would make, one for each replica.
func TestSampleStatefulSetFindsItsVolumes(t *testing.T) {
	r := samples(t)["statefulset.yaml"]
	require.NotNil(t, r)
	set := one[appsv1.StatefulSet](r)
	require.Len(t, set.Spec.VolumeClaimTemplates, 1)
	want := []string{}
	for i := range value(set.Spec.Replicas) {
		want = append(want, set.Spec.VolumeClaimTemplates[0].Name+"-"+set.Name+"-"+strconv.Itoa(int(i)))
	}
	var have []string
	for _, pvc := range all[*corev1.PersistentVolumeClaim](r) {
		have = append(have, pvc.Name)
	}
	assert.Equal(t, want, have)
}
