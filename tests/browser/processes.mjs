// What the tests run beside the browser: the program, and an API server with objects in it.

import {spawn} from 'node:child_process';
import {readFileSync} from 'node:fs';
import https from 'node:https';

/** A program whose output is searched for the first line that `wanted` matches. */
export function startProgram(argv, wanted) {
  const child = spawn(argv[0], argv.slice(1), {stdio: ['pipe', 'pipe', 'pipe']});
  const stop = () => new Promise((resolve) => {
    if (child.exitCode !== null) resolve();
    child.on('exit', resolve);
    child.stdin.end();
    child.kill();
  });
  return new Promise((resolve, reject) => {
    let text = '';
    const take = (data) => {
      text += data;
      const found = wanted.exec(text);
      if (found) resolve({child, stop, found, output: () => text});
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', reject);
    child.on('exit', (code) => reject(Object.assign(new Error(`${argv[0]} ended (${code}): ${text}`), {code})));
  });
}

export class Cluster {
  /** Null: there is no API server to be had. */
  static async start(program) {
    try {
      const cluster = new Cluster();
      cluster.process = await startProgram([program], /^(\{.*\})$/m);
      Object.assign(cluster, JSON.parse(cluster.process.found[1]));
      cluster.agent = new https.Agent({ca: readFileSync(cluster.ca), keepAlive: true, maxSockets: 16});
      return cluster;
    } catch (error) {
      if (error.code === 77) return null;
      throw error;
    }
  }

  async stop() {
    this.agent.destroy();
    this.process.child.stdin.end();
    await new Promise((resolve) => { this.process.child.on('exit', resolve); });
  }

  request(method, path, object) {
    return new Promise((resolve, reject) => {
      const request = https.request(this.url + path, {method, agent: this.agent, headers: {
        Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json',
      }}, (response) => {
        let text = '';
        response.on('data', (data) => { text += data; });
        response.on('end', () => (response.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(`${method} ${path}: ${text}`))));
      });
      request.on('error', reject);
      request.end(object ? JSON.stringify(object) : undefined);
    });
  }

  namespace(name, labels = {}) {
    return this.request('POST', '/api/v1/namespaces', {metadata: {name, labels}});
  }

  pod(namespace, name, annotations = {}, spec = {}) {
    return this.request('POST', `/api/v1/namespaces/${namespace}/pods`, {
      metadata: {name, annotations}, spec: {containers: [{name: 'app', image: 'nginx:1.29'}], ...spec},
    });
  }

  /** Several at a time. */
  async pods(namespace, count, annotations) {
    const make = async (first) => {
      for (let i = first; i < count; i += 16) await this.pod(namespace, `pod-${String(i).padStart(5, '0')}`, annotations);
    };
    await Promise.all(Array.from({length: 16}, (_, first) => make(first)));
  }

  deployment(namespace, name, annotations, template = {}) {
    return this.request('POST', `/apis/apps/v1/namespaces/${namespace}/deployments`, {
      metadata: {name, annotations},
      spec: {
        selector: {matchLabels: {app: name}},
        template: {metadata: {labels: {app: name}, ...template.metadata}, spec: {containers: [{name: 'app', image: 'nginx:1.29'}], ...template.spec}},
      },
    });
  }
}
