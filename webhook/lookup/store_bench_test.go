package lookup

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

const (
	benchNodes  = 5_000
	benchClaims = 20 // for each node: 100,000 node PVCs, and as many PVs
)

// benchCluster makes objects as a decoder does: every string on its own.
func benchCluster() (nodes []*claim.Node, pvcs []*claim.PVC, pvs []*claim.PV) {
	str := fmt.Sprintf
	for n := range benchNodes {
		nodes = append(nodes, &claim.Node{Name: str("node-%04d.example.internal", n), Labels: map[string]string{
			str("kubernetes.io/%s", "hostname"): str("node-%04d", n), str("kubernetes.io/%s", "os"): str("li%s", "nux"),
			str("node.kubernetes.io/%s", "instance-type"): str("gpu-%s", "large"), str("topology.kubernetes.io/%s", "zone"): str("zone-%d", n%3),
		}})
		for c := range benchClaims {
			node := str("node-%04d.example.internal", n)
			volume := str("pvc-6d5f0c1e-0000-4000-8000-%06d%06d", n, c)
			pvcs = append(pvcs, &claim.PVC{
				Namespace: str("team-%d", c%5), Name: str("model-%02d-%s", c, node), Claim: str("model-%02d", c), Node: node,
				Revision: str("%040d", c), Phase: corev1.PersistentVolumeClaimPhase(str("Bou%s", "nd")), VolumeName: volume,
				StorageClass: str("local-%s", "nvme"), SelectedNode: str("%s", node), Created: 1,
			})
			pvs = append(pvs, &claim.PV{Name: str("%s", volume), StorageClass: str("local-%s", "nvme"), Affinity: hostnameAffinity(str("node-%04d", n))})
		}
	}
	return nodes, pvcs, pvs
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkStoreBulkLoad(b *testing.B) {
	rules := claim.DefaultRules()
	for b.Loop() {
		b.StopTimer()
		before := heap()
		nodes, pvcs, pvs := benchCluster()
		b.StartTimer()
		s := NewStore(&rules)
		s.ReplaceNodes(nodes)
		s.ReplacePVCs(pvcs)
		s.ReplacePVs(pvs)
		b.StopTimer()
		objects := len(nodes) + len(pvcs) + len(pvs)
		clear(nodes)
		clear(pvcs)
		clear(pvs)
		bytes := float64(heap() - before)
		b.ReportMetric(bytes/float64(objects), "B/object")
		b.ReportMetric(bytes/(1<<20), "MiB")
		runtime.KeepAlive(s)
		b.StartTimer()
	}
}

func BenchmarkStoreUpdate(b *testing.B) {
	s, pvcs := loadedStore()
	i := 0
	for b.Loop() {
		p := *pvcs[i%len(pvcs)]
		p.Created += int64(i) + 1
		s.SetPVC(&p)
		i++
	}
}

func BenchmarkStoreDeleteAndAdd(b *testing.B) {
	s, pvcs := loadedStore()
	i := 0
	for b.Loop() {
		p := pvcs[i%len(pvcs)]
		s.DeletePVC(p.Namespace, p.Name)
		s.SetPVC(p)
		i++
	}
}

func BenchmarkViewLookups(b *testing.B) {
	s, pvcs := loadedStore()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p := pvcs[i%len(pvcs)]
		view := s.View()
		if len(view.NodePVCs(p.Namespace, p.Claim, p.Node)) != 1 || view.Summary(p.Namespace, p.Claim).Live != benchNodes || view.PV(p.VolumeName) == nil {
			b.Fatal("not found")
		}
		i++
	}
}

func loadedStore() (*Store, []*claim.PVC) {
	rules := claim.DefaultRules()
	s := NewStore(&rules)
	nodes, pvcs, pvs := benchCluster()
	s.ReplaceNodes(nodes)
	s.ReplacePVCs(pvcs)
	s.ReplacePVs(pvs)
	return s, pvcs
}
