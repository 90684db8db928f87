{{/* The name of most objects. Cut so that suffixes still fit a DNS label. */}}
{{- define "berth.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects Berth's pods. Never changes: a Deployment's selector is immutable. */}}
{{- define "berth.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* On every object. Helm adds its own managed-by, and only where Helm manages. */}}
{{- define "berth.labels" -}}
{{ include "berth.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "berth.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Secret that cert-manager writes and the pods mount; the Certificate's name, too. */}}
{{- define "berth.servingCertificate" -}}
{{ include "berth.fullname" . }}-serving
{{- end -}}

{{/* The seconds that requests under way get once the listener is closed (drainTimeout in webhook/server.go). */}}
{{- define "berth.drainSeconds" -}}10{{- end -}}

{{/* The label keys that Berth will read: what is set, else the preset's, else the defaults. */}}
{{- define "berth.claimKey" -}}
{{- .Values.labelKeys.claim | default (eq .Values.preset "gkm" | ternary "cache-name" "berth.dev/claim") -}}
{{- end -}}
{{- define "berth.nodeKey" -}}
{{- .Values.labelKeys.node | default (eq .Values.preset "gkm" | ternary "node" "berth.dev/node") -}}
{{- end -}}

{{/* What JSON schema can't say: one duration against another. */}}
{{- define "berth.checkCertificates" -}}
{{- $leaf := trimSuffix "h" .Values.certificate.duration | int -}}
{{- if ge (trimSuffix "h" .Values.certificate.renewBefore | int) $leaf -}}
{{- fail "certificate.renewBefore must be shorter than certificate.duration" -}}
{{- end -}}
{{- $ca := .Values.certificate.ca -}}
{{- if ge (trimSuffix "h" $ca.renewBefore | int) (trimSuffix "h" $ca.duration | int) -}}
{{- fail "certificate.ca.renewBefore must be shorter than certificate.ca.duration" -}}
{{- end -}}
{{- if lt (trimSuffix "h" $ca.renewBefore | int) $leaf -}}
{{- fail "certificate.ca.renewBefore must be at least certificate.duration, or a serving certificate could outlive its CA" -}}
{{- end -}}
{{- end -}}
