{{/* The arguments of the container. A rule that isn't set is not given: the preset or Berth's default holds. */}}
{{- define "berth.args" -}}
- serve
- --bind-address=:9443
- --metrics-bind-address=:8080
- --tls-cert-file=/etc/berth/tls/tls.crt
- --tls-private-key-file=/etc/berth/tls/tls.key
- --shutdown-delay-duration={{ .Values.shutdownDelaySeconds }}s
- --http2={{ .Values.http2 }}
- --log-format={{ .Values.logFormat }}
- --log-level={{ .Values.logLevel }}
{{- with .Values.preset }}
- --preset={{ . }}
{{- end }}
{{- with .Values.labelKeys.claim }}
- --claim-label={{ . }}
{{- end }}
{{- with .Values.labelKeys.node }}
- --node-label={{ . }}
{{- end }}
{{- with .Values.labelKeys.revision }}
- --revision-label={{ . }}
{{- end }}
{{- with .Values.labelKeys.scope }}
- --claim-scope-label={{ . }}
{{- end }}
{{- with .Values.nodeTopologyKeys }}
- --node-topology-keys={{ join "," . }}
{{- end }}
- --missing-node-pvc={{ .Values.missingNodePVC }}
{{- if not (kindIs "invalid" .Values.nodePVCNameTemplate) }}
- {{ printf "--node-pvc-name-template=%s" .Values.nodePVCNameTemplate | quote }}
{{- end }}
{{- with .Values.populatedAnnotation }}
- {{ printf "--populated-annotation=%s" . | quote }}
{{- end }}
{{- if .Values.populatedRequired }}
- --populated-required
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
