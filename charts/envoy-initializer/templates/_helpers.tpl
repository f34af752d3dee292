{{- define "envoy-initializer.name" -}}
{{- .Values.fullnameOverride -}}
{{- end }}

{{- define "envoy-initializer.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end }}

{{- define "envoy-initializer.tlsSecret" -}}
{{- .Values.certificates.secretName | default (printf "%s-tls" (include "envoy-initializer.name" .)) -}}
{{- end }}

{{/* Labels of every object. Pods and selectors have their own, which never change. */}}
{{- define "envoy-initializer.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: {{ include "envoy-initializer.name" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* conditions or labels: how the API server sees who asks. */}}
{{- define "envoy-initializer.match" -}}
{{- if ne .Values.webhook.match "auto" -}}
{{ .Values.webhook.match }}
{{- else if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version -}}
conditions
{{- else -}}
labels
{{- end -}}
{{- end }}

{{/* {root, name}: a ServiceAccount. */}}
{{- define "envoy-initializer.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "envoy-initializer.labels" .root | nindent 4 }}
  {{- with .root.Values.serviceAccountAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* {root, name, kind, account}: a RoleBinding or a ClusterRoleBinding of the role of that name. */}}
{{- define "envoy-initializer.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "envoy-initializer.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{/* What every Pod of ours has after its containers' own. */}}
{{- define "envoy-initializer.podDefaults" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "envoy-initializer.containerImage" -}}
image: {{ include "envoy-initializer.image" . | quote }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{- define "envoy-initializer.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* {root, mode, values, args}: the Deployment of a control loop. */}}
{{- define "envoy-initializer.controlLoop" -}}
{{- $name := printf "%s-%s" (include "envoy-initializer.name" .root) .mode -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ $name }}
    {{- include "envoy-initializer.labels" .root | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels: {app.kubernetes.io/name: {{ $name }}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: {{ $name }}, app.kubernetes.io/part-of: {{ include "envoy-initializer.name" .root }}}
    spec:
      serviceAccountName: {{ $name }}
      {{- include "envoy-initializer.podDefaults" .root | nindent 6 }}
      containers:
        - name: {{ .mode }}
          {{- include "envoy-initializer.containerImage" .root | nindent 10 }}
          args:
            - controller
            - --mode={{ .mode }}
            {{- range .args }}
            - {{ . }}
            {{- end }}
            - --configmap={{ .root.Release.Namespace }}/{{ include "envoy-initializer.name" .root }}
            - --leader-elect
            - --admin-listen=:8080
            - --log-format=json
            {{- with .values.extraArgs }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - {name: admin, containerPort: 8080, protocol: TCP}
          livenessProbe:
            httpGet: {path: /livez, port: admin}
            timeoutSeconds: 5
          readinessProbe:
            httpGet: {path: /readyz, port: admin}
            timeoutSeconds: 5
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          {{- include "envoy-initializer.containerSecurity" .root | nindent 10 }}
{{- end }}

{{/* {root, mode, extra}: what a control loop may do in our namespace. Leases carry the program's name, whatever ours. */}}
{{- define "envoy-initializer.controlLoopRole" -}}
{{- $name := include "envoy-initializer.name" .root -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}-{{ .mode }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "envoy-initializer.labels" .root | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [{{ $name }}]
    verbs: [get, list, watch]
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [{{ $name }}-last-good]
    verbs: [get, update]
  - apiGroups: [""]
    resources: [configmaps, pods]
    verbs: [create]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [envoy-initializer-{{ .mode }}]
    verbs: [get, patch]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  {{- with .extra }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}
