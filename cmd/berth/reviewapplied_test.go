package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	lazyClass = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: lazy}, provisioner: example.com/disk, volumeBindingMode: WaitForFirstConsumer}"
	newPVC    = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: weights-oslo, labels: {berth.dev/claim: weights, berth.dev/node: oslo}}, spec: {storageClassName: lazy}}"
)

// reservedPV is a PV made by hand for one PVC of the namespace lab.
func reservedPV(name, node string) string {
	return "{apiVersion: v1, kind: PersistentVolume, metadata: {name: " + name + "}, spec: {storageClassName: hand, claimRef: {namespace: lab, name: " + name + "}, " +
		"nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [" + node + "]}]}]}}}}"
}

func reservedPVC(name string) string {
	return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name + "}, spec: {storageClassName: hand, volumeName: " + name + "}}"
}

func statefulSet() string {
	return strings.Replace(workloadYAML("apps/v1", "StatefulSet", "db", ""), "spec: {template", "spec: {volumeClaimTemplates: [{metadata: {name: own}, spec: {storageClassName: hand}}], template", 1)
}

func TestAppliedObjects(t *testing.T) {
	defaultClass := strings.Replace(lazyClass, "name: lazy", `name: lazy, annotations: {storageclass.kubernetes.io/is-default-class: "true"}`, 1)
	freePV := strings.Replace(strings.Replace(reservedPV("spare", "oslo"), "claimRef: {namespace: lab, name: spare}, ", "", 1), "hand", "lazy", 1)
	named := "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " + strings.Replace(podSpec(""), "weights", "weights-oslo", 1) + "}"
	cases := map[string]struct {
		in      []string
		code    int
		verdict string // of the last object
		reason  string
		node    string // that Berth selects for a PVC
	}{
		"a node PVC of a lazy class gets its node":                          {in: []string{lazyClass, newPVC}, verdict: "rewritten", node: "oslo"},
		"one without a class gets it by the default class":                  {in: []string{defaultClass, strings.Replace(newPVC, "storageClassName: lazy", "", 1)}, verdict: "rewritten", node: "oslo"},
		"one for which a PV of the input waits does not":                    {in: []string{freePV, lazyClass, newPVC}, verdict: "admitted"},
		"a pod that names a new node PVC stands on the node selected":       {in: []string{named, lazyClass, newPVC, named}, verdict: "admitted"},
		"where Berth selects no node, such a pod is refused":                {in: []string{freePV, lazyClass, newPVC, named}, code: 1, verdict: "refused", reason: "UnboundNodePVC"},
		"a PVC and a PV for each other are bound, which ties a StatefulSet": {in: []string{reservedPV("own-db-0", "rome"), reservedPVC("own-db-0"), statefulSet()}, verdict: "admitted"},
		"a PVC whose PV is another's is not":                                {in: []string{strings.Replace(reservedPV("own-db-0", "rome"), "lab, name: own", "lab, name: other", 1), reservedPVC("own-db-0"), statefulSet()}, code: 1, verdict: "refused", reason: "NotPinned"},
		"a PVC that waits for a volume is not":                              {in: []string{strings.Replace(reservedPVC("own-db-0"), ", volumeName: own-db-0", "", 1), statefulSet()}, code: 1, verdict: "refused", reason: "NotPinned"},
		"a PVC that can't be decoded is told":                               {in: []string{strings.Replace(newPVC, "{storageClassName: lazy}", "7", 1)}, code: 2, verdict: "refused", reason: "InvalidObject"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := review(t, joinDocs(tc.in...), "-f", "-", "-o", "json", "-n", "lab", "--cluster-file", labCluster(t))
			assert.Equal(t, tc.code, got.code, got.stdout)
			results := got.results(t)
			last := results[len(results)-1]
			assert.Equal(t, tc.verdict, last.Verdict, last.Message)
			assert.Equal(t, tc.reason, last.Reason, last.Message)
			assert.Equal(t, tc.node, last.SelectedNode)
		})
	}
}

// TestNewPVCAgainstACluster: what decides about a node PVC, the cluster's
// default class and the PVs that wait, is listed before.
func TestNewPVCAgainstACluster(t *testing.T) {
	defaultClass := strings.Replace(lazyClass, "name: lazy", `name: lazy, annotations: {storageclass.kubernetes.io/is-default-class: "true"}`, 1)
	freePV := "{apiVersion: v1, kind: PersistentVolume, metadata: {name: spare}, spec: {storageClassName: lazy}, status: {phase: Available}}"
	cases := map[string]struct {
		cluster []string
		in      string
		want    string // the node selected
	}{
		"the class is read":                     {[]string{lazyClass}, newPVC, "oslo"},
		"the default class is put in":           {[]string{defaultClass}, strings.Replace(newPVC, "storageClassName: lazy", "", 1), "oslo"},
		"without a default class there is none": {[]string{lazyClass}, strings.Replace(newPVC, "storageClassName: lazy", "", 1), ""},
		"a PV that waits is seen":               {[]string{lazyClass, freePV}, newPVC, ""},
		"a PVC in an AdmissionReview is no other": {
			[]string{lazyClass, freePV},
			"{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, request: {uid: u, kind: {version: v1, kind: PersistentVolumeClaim}, " +
				"resource: {version: v1, resource: persistentvolumeclaims}, operation: CREATE, namespace: lab, object: " + newPVC + "}}", "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newObjectServer(t, "", append(labObjects(), tc.cluster...)...)
			got := review(t, tc.in, "-f", "-", "-o", "json", "--server", s.URL, "-n", "lab")
			assert.Zero(t, got.code, got.stderr)
			assert.Equal(t, tc.want, got.results(t)[0].SelectedNode)
		})
	}
}
