// Manifests to start from: what to see is in the name.

const pod = (annotation, spec = '') => `apiVersion: v1
kind: Pod
metadata:
  name: hello
  annotations:
    initializer.kubernetes.io/envoy: "${annotation}"
spec:
${spec}  containers:
    - name: app
      image: busybox
      command: ["sh", "-c", "sleep 3600"]
`;

const deployment = `# The pod template asks, not the Deployment.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
      annotations:
        initializer.kubernetes.io/envoy: "true"
    spec:
      containers:
        - name: web
          image: nginx:1.29  # listens on 8080
          ports:
            - containerPort: 8080
`;

const silent = `apiVersion: v1
kind: Pod
metadata:
  name: quiet
  namespace: shop
spec:
  containers:
    - name: app
      image: nginx:1.29
`;

const cronJob = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: report
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        metadata:
          annotations:
            initializer.kubernetes.io/envoy: "true"
        spec:
          restartPolicy: Never
          containers:
            - name: report
              image: busybox
              command: ["sh", "-c", "echo done"]
`;

const portConflict = deployment.replaceAll('8080', '10000').replace('name: web\n  namespace', 'name: taken-port\n  namespace');

const ownTemplate = `containers:
  - name: logs
    image: fluent/fluent-bit:4.1
    volumeMounts:
      - name: logs
        mountPath: /logs
volumes:
  - name: logs
    emptyDir: {}
labels:
  logging: sidecar
`;

export const EXAMPLES = [
  ['A Pod that asks', {manifest: pod('true')}],
  ['A Deployment that asks', {manifest: deployment}],
  ['A Pod that opts out', {manifest: pod('false')}],
  ['A typo: "ture"', {manifest: pod('ture')}],
  ['On the host network', {manifest: pod('true', '  hostNetwork: true\n')}],
  ['A whole Namespace', {manifest: silent, labels: 'initializer.kubernetes.io/envoy: enabled'}],
  ['A port that is taken', {manifest: portConflict}],
  ['A CronJob that never completes', {manifest: cronJob}],
  ['Another sidecar', {manifest: pod('true'), template: ownTemplate}],
  ['Several objects', {manifest: [pod('true'), deployment, silent, cronJob].join('---\n')}],
];
