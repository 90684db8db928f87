package main

import (
	"berth.dev/berth/webhook/claim"
)

// unmatched gives the node PVCs of the templates' claims that are of none of
// the nodes, as little of each as kubectl delete needs, and says why.
func (o *expandOptions) unmatched(inv *inventory, templates []*expandTemplate, nodes []string, io streams) []map[string]any {
	keys := &inv.rules.Keys
	var out []map[string]any
	for _, p := range claim.Unmatched(inv.pvcs, o.inCluster(templates), nodes) {
		why := "does not exist"
		if inv.store.View().Node(p.Node) != nil {
			why = "is not selected"
		}
		io.say("PVC %s/%s: node %q %s", p.Namespace, p.Name, p.Node, why)
		out = append(out, pvcObject(p.Namespace, p.Name, map[string]string{keys.Claim: p.Claim}))
	}
	if len(out) == 0 {
		io.say("nothing to prune")
	}
	return out
}

// inCluster are the templates in the namespaces in which kubectl would apply them.
func (o *expandOptions) inCluster(templates []*expandTemplate) []claim.Template {
	out := parts(templates)
	for i := range out {
		out[i].Namespace = o.cluster.namespaceOr(out[i].Namespace)
	}
	return out
}

// pvcObject is a PVC by its name, with labels for people.
func pvcObject(namespace, name string, labels map[string]string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": labels},
	}
}
