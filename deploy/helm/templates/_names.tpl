{{- define "holdfast.labels" -}}
app.kubernetes.io/part-of: holdfast
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "holdfast.controller" -}}
{{ .Release.Name }}-controller
{{- end }}

{{- define "holdfast.agent" -}}
{{ .Release.Name }}-agent
{{- end }}

{{- /* The address at which agents reach the controller. */ -}}
{{- define "holdfast.url" -}}
{{ ternary "https" "http" (ne .Values.controller.tlsSecret "") }}://{{ include "holdfast.controller" . }}.{{ .Release.Namespace }}.svc:9477
{{- end }}
