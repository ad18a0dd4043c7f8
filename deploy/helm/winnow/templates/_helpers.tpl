{{- define "winnow.name" -}}
{{- if contains "winnow" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-winnow" (.Release.Name | trunc 43 | trimSuffix "-") }}{{ end -}}
{{- end }}

{{- define "winnow.selector" -}}
app.kubernetes.io/name: winnow
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "winnow.labels" -}}
{{ include "winnow.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "winnow.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "winnow.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "winnow.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "winnow.store" -}}
- name: WINNOW_STORE
  valueFrom:
    secretKeyRef:
      name: {{ .Values.store.secret }}
      key: {{ .Values.store.key }}
- name: HOME
  value: /tmp
{{- end }}
