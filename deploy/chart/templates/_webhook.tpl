{{/* Where a review is sent. Input: root, path. cert-manager adds the caBundle. */}}
{{- define "berth.clientConfig" -}}
clientConfig:
  service:
    name: {{ include "berth.fullname" .root }}
    namespace: {{ .root.Release.Namespace }}
    path: {{ .path }}
    port: 443
{{- end -}}

{{/*
What all webhooks share; the configurations' comments say why. timeoutSeconds: a
decision takes 3 s at most, live reads included.
*/}}
{{- define "berth.webhookDefaults" -}}
admissionReviewVersions: [v1]
sideEffects: None
timeoutSeconds: 5
matchPolicy: Equivalent
namespaceSelector:
  matchExpressions:
    - key: berth.dev/admission
      operator: In
      values: [enabled]
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
        - kube-system
        - {{ .Release.Namespace }}
        {{- range .Values.excludedNamespaces }}
        - {{ . }}
        {{- end }}
objectSelector:
  matchExpressions:
    - key: berth.dev/admission
      operator: NotIn
      values: [disabled]
{{- end -}}

{{/*
Pods, on both configurations. Under failurePolicy Fail a condition that can't be
evaluated refuses the pod, so every optional field is guarded.
*/}}
{{- define "berth.pods" -}}
failurePolicy: {{ .Values.failurePolicy }}
rules:
  - apiGroups: [""]
    apiVersions: [v1]
    operations: [CREATE]
    resources: [pods]
    scope: Namespaced
matchConditions:
  - name: mounts-a-pvc
    expression: has(object.spec.volumes) && object.spec.volumes.exists(v, has(v.persistentVolumeClaim))
  # Of static pods; refusing one would only hide it, and it can mount no PVC anyway.
  - name: no-mirror-pod
    expression: >-
      !(has(object.metadata.annotations) && "kubernetes.io/config.mirror" in object.metadata.annotations)
{{- end -}}
