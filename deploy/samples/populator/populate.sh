#!/usr/bin/env bash
# A volume populator by hand, so that each of its steps can be seen: the data is in
# a node PVC before it is bound, and every pod that mounts the claim waits for that.
#
#   ./populate.sh             declare, fill, hand-over and read, one after the other
#   ./populate.sh declare     the kind ThankYou, one of it, and node PVCs that want it
#   ./populate.sh fill        a second PVC for each, in another namespace, and a pod
#                             that writes the note into it
#   ./populate.sh hand-over   its volume goes to the node PVC
#   ./populate.sh read        a DaemonSet mounts the claim and prints the note
#   ./populate.sh tidy        what the populator no longer needs is deleted
#
# Berth must be installed. First put your nodes and your StorageClass into
# node-pvcs.yaml and daemonset.yaml. Variables of the environment:
#
#   NAMESPACE            of the node PVCs and the DaemonSet ("inference")
#   POPULATOR_NAMESPACE  where the populator works ("populators")
#   STORAGE_CLASS        of the node PVCs, instead of what node-pvcs.yaml says
#   IMAGE                of all pods; it must be able to run both commands
#   WRITE_COMMAND        JSON; writes the variable NOTE into /cache/note, and ends
#   READ_COMMAND         JSON; prints /cache/note, and waits
#   TIMEOUT              of every wait ("120s")
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

: "${NAMESPACE:=inference}" "${POPULATOR_NAMESPACE:=populators}" "${TIMEOUT:=120s}"
: "${IMAGE:=docker.io/library/busybox:1.37}"
# shellcheck disable=SC2016 # NOTE is a variable of the pod.
WRITE_COMMAND=${WRITE_COMMAND:-'["sh", "-c", "echo \"$NOTE\" > /cache/note"]'}
READ_COMMAND=${READ_COMMAND:-'["sh", "-c", "cat /cache/note && exec sleep infinity"]'}

claim=model-cache
populated_by=app.kubernetes.io/component=artisanal-populator

say() { printf '\n==> %s\n' "$*"; }
user() { kubectl -n "$NAMESPACE" "$@"; }
populator() { kubectl -n "$POPULATOR_NAMESPACE" "$@"; }

# pending names the node PVCs that are not bound yet.
pending() {
	user get pvc -l "berth.dev/claim=$claim" -o jsonpath='{range .items[?(@.status.phase=="Pending")]}{.metadata.name}{"\n"}{end}'
}

# of PVC PATH prints one field of a node PVC.
of() { user get pvc "$1" -o jsonpath="$2"; }

# await_phase WHAT PHASE KUBECTL waits, and describes what does not get there.
await_phase() {
	local what=$1 phase=$2
	shift 2
	"$@" wait "$what" --for=jsonpath='{.status.phase}'="$phase" --timeout="$TIMEOUT" || {
		"$@" describe "$what" >&2
		return 1
	}
}

namespace() {
	kubectl get namespace "$1" >/dev/null 2>&1 || kubectl create namespace "$1"
}

declare_all() {
	say "A kind for the data source, $(basename "$here")/definition.yaml"
	kubectl apply --server-side -f "$here/definition.yaml"
	kubectl wait --for=condition=Established --timeout="$TIMEOUT" crd/thankyous.artisanal.populators.com

	say "Namespace $NAMESPACE opts in: Berth looks at what is created in it"
	namespace "$NAMESPACE"
	kubectl label namespace "$NAMESPACE" berth.dev/admission=enabled --overwrite

	say "The note, and a PVC for each node that wants to be filled with it"
	user apply -f "$here/thankyou.yaml"
	node_pvcs_manifest | user apply -f -

	say "They are Pending, and stay so: nobody binds a PVC whose data source it does not know"
	user get pvc -l "berth.dev/claim=$claim"
}

node_pvcs_manifest() {
	if [[ -z ${STORAGE_CLASS:-} ]]; then
		cat "$here/node-pvcs.yaml"
		return
	fi
	kubectl patch --local -f "$here/node-pvcs.yaml" --type=merge -p "{\"spec\": {\"storageClassName\": \"$STORAGE_CLASS\"}}" -o json
}

fill_all() {
	namespace "$POPULATOR_NAMESPACE"
	local pvc
	for pvc in $(pending); do
		make_prime "$pvc"
		write_note "$pvc"
	done
	for pvc in $(pending); do
		await_phase "pod/$pvc-prime" Succeeded populator
	done
	say "All is written. The node PVCs are still Pending"
	user get pvc -l "berth.dev/claim=$claim"
}

# make_prime makes PVC' (say "PVC prime"): like the node PVC, for the same node, but
# without a data source, so it gets an empty volume.
make_prime() {
	local pvc=$1 selected
	selected=$(of "$pvc" '{.metadata.annotations.volume\.kubernetes\.io/selected-node}')
	say "PVC' $pvc-prime in namespace $POPULATOR_NAMESPACE${selected:+, to be provisioned on node $selected}"
	populator apply -f - <<-YAML
		apiVersion: v1
		kind: PersistentVolumeClaim
		metadata:
		  name: $pvc-prime
		  labels: {${populated_by/=/: }}
		  annotations: {${selected:+volume.kubernetes.io/selected-node: $selected}}
		spec:
		  storageClassName: $(of "$pvc" '{.spec.storageClassName}')
		  accessModes: $(of "$pvc" '{.spec.accessModes}')
		  resources: $(of "$pvc" '{.spec.resources}')
	YAML
}

# write_note runs the pod that writes the note, on the node that the PVC is for.
write_note() {
	local pvc=$1 node host note
	node=$(of "$pvc" '{.metadata.labels.berth\.dev/node}')
	host=$(kubectl get node "$node" -o jsonpath='{.metadata.labels.kubernetes\.io/hostname}')
	note=$(user get thankyou "$(of "$pvc" '{.spec.dataSourceRef.name}')" -o jsonpath='{.spec.note}')
	say "A pod on node $node writes the note into it"
	populator delete pod "$pvc-prime" --ignore-not-found
	populator run "$pvc-prime" --image="$IMAGE" --restart=Never --labels="$populated_by" --env="NOTE=$note" \
		--override-type=strategic --overrides="{\"spec\": {
			\"nodeSelector\": {\"kubernetes.io/hostname\": \"$host\"},
			\"containers\": [{\"name\": \"$pvc-prime\", \"command\": $WRITE_COMMAND,
				\"volumeMounts\": [{\"name\": \"cache\", \"mountPath\": \"/cache\"}]}],
			\"volumes\": [{\"name\": \"cache\", \"persistentVolumeClaim\": {\"claimName\": \"$pvc-prime\"}}]}}"
}

hand_over_all() {
	local pvc claims
	claims=$(pending)
	for pvc in $claims; do
		rebind "$pvc"
	done
	for pvc in $claims; do
		await_phase "pvc/$pvc" Bound user
		await_phase "pvc/$pvc-prime" Lost populator
	done
	say "The node PVCs are Bound, so they are filled; what the populator had is Lost"
	user get pvc -l "berth.dev/claim=$claim"
	populator get pvc -l "$populated_by"
}

# rebind hands the volume of PVC' over to the node PVC.
rebind() {
	local pvc=$1 volume uid
	volume=$(populator get pvc "$pvc-prime" -o jsonpath='{.spec.volumeName}')
	uid=$(of "$pvc" '{.metadata.uid}')
	say "Volume $volume goes from $pvc-prime to $pvc: its claimRef is changed"
	kubectl patch pv "$volume" --type=merge -p "{\"spec\": {\"claimRef\": {
		\"namespace\": \"$NAMESPACE\", \"name\": \"$pvc\", \"uid\": \"$uid\", \"resourceVersion\": null}}}"
}

read_all() {
	say "A DaemonSet mounts the claim \"$claim\"; Berth gives each pod its node's PVC"
	kubectl patch --local -f "$here/daemonset.yaml" --type=strategic -o json -p "{\"spec\": {\"template\": {\"spec\": {
		\"containers\": [{\"name\": \"reader\", \"image\": \"$IMAGE\", \"command\": $READ_COMMAND}]}}}}" | user apply -f -
	user rollout status daemonset/note-reader --timeout="$TIMEOUT"
	user get pods -l app=note-reader -o custom-columns='NODE:.spec.nodeName,POD:.metadata.name,PVC:.spec.volumes[?(@.name=="cache")].persistentVolumeClaim.claimName'
	user logs -l app=note-reader --prefix
}

tidy() {
	say "The populator's pods and its PVCs, which have lost their volumes, go"
	populator delete pod,pvc -l "$populated_by" --timeout="$TIMEOUT"
}

case ${1:-all} in
declare) declare_all ;;
fill) fill_all ;;
hand-over) hand_over_all ;;
read) read_all ;;
tidy) tidy ;;
all)
	declare_all
	fill_all
	hand_over_all
	read_all
	say "Done. \"$0 tidy\" deletes what the populator no longer needs"
	;;
*)
	echo "populate.sh: \"$1\" is no step: say declare, fill, hand-over, read, tidy or nothing" >&2
	exit 2
	;;
esac
