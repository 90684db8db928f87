#!/usr/bin/env bash
# Builds the image for each platform into bin/image/berth-<arch>.tar, an OCI
# archive, with buildah and no registry: build.sh NAME:TAG ARCH...
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v buildah >/dev/null || { echo "make image needs buildah: apt-get install buildah" >&2; exit 1; }
name=$1
shift
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
options=(--storage-driver vfs --root "$store/root" --runroot "$store/run")
for arch in "$@"; do
	archive=bin/image/berth-$arch.tar
	rm -f "$archive"
	buildah "${options[@]}" build --quiet --isolation chroot --platform "linux/$arch" --build-arg "TARGETARCH=$arch" \
		--format oci --timestamp 0 --tag "$name-$arch" . >/dev/null
	buildah "${options[@]}" push --quiet "$name-$arch" "oci-archive:$archive:$name"
	echo "$archive: $name for linux/$arch"
done
