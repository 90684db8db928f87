# The image holds one static binary and nothing else: no shell, no libc, no
# package to keep up to date. `make image` builds the binary for each platform
# into bin/image/<arch>/ first, so building the image needs no network and no base image.
FROM scratch
ARG TARGETARCH=amd64
COPY bin/image/${TARGETARCH}/berth /berth
# 65532 is the customary "nonroot"; a number, so that runAsNonRoot can be checked.
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/berth"]
CMD ["serve"]
