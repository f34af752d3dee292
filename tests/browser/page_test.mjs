// The page in a real browser: page_test.mjs PROGRAM CLUSTER_PROGRAM. Exit code 77: there is no browser here.
//
// With SCREENSHOTS=DIR, each view's picture is written there.

import assert from 'node:assert/strict';
import {after, before, describe, test} from 'node:test';
import {join} from 'node:path';
import {Browser, eventually, missingBrowser} from './browser.mjs';
import {Cluster, startProgram} from './processes.mjs';

const [program, clusterProgram] = process.argv.slice(2);
const key = 'initializer.kubernetes.io/envoy';
const hostile = '<img src=x onerror="document.title=1">';

if (missingBrowser()) {
  console.log(`skipped: ${missingBrowser()}`);
  process.exit(77);
}

let browser;
before(async () => { browser = await Browser.start(); });
after(() => browser?.stop());

async function picture(name) {
  if (process.env.SCREENSHOTS) await browser.screenshot(join(process.env.SCREENSHOTS, `${name}.png`));
}

/** Opens a view anew, at the size of a desk. */
async function visit(address) {
  await browser.size(1280, 860);
  await browser.scheme('light');
  await browser.open('about:blank');
  await browser.open(address);
  await eventually(async () => (await browser.text('h1')) !== '');
}

const post = (address, path, body) => fetch(new URL(path, address), {
  method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
});

/** What every view must have: names for controls, one heading, contrast of text. */
const AUDIT = `
  const problems = [];
  const visible = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility !== 'hidden';
  const named = (node) => node.getAttribute('aria-label') || node.getAttribute('aria-labelledby') ||
    [...(node.labels ?? [])].some((label) => label.textContent.trim()) || node.textContent.trim() || node.title;
  for (const node of document.querySelectorAll('button, a[href], input, select, textarea, [role=tab], dialog'))
    if (visible(node) && !named(node)) problems.push('no name: ' + node.outerHTML.slice(0, 120));
  for (const node of document.querySelectorAll('svg[role=img], img'))
    if (!node.getAttribute('aria-label') && node.getAttribute('alt') === null) problems.push('no text: ' + node.outerHTML.slice(0, 120));
  if (document.querySelectorAll('h1').length !== 1) problems.push('not one h1');
  if (!document.documentElement.lang) problems.push('no language');
  const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
  if (new Set(ids).size !== ids.length) problems.push('an id twice');
  const channels = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > .5) return colour;
    }
    return [255, 255, 255];
  };
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !visible(node) || node.closest('.toast, .skip, option, noscript, script') || node.disabled) continue;
    const one = light(channels(getComputedStyle(node).color)), two = light(behind(node));
    const ratio = (Math.max(one, two) + .05) / (Math.min(one, two) + .05);
    if (ratio < 4.5) problems.push('contrast ' + ratio.toFixed(2) + ': ' + node.outerHTML.slice(0, 120));
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) problems.push('wider than the screen: ' + document.documentElement.scrollWidth);
  return problems;`;

/** Light and dark, desk and phone. */
async function audit() {
  for (const scheme of ['light', 'dark']) {
    for (const [width, height] of [[1280, 860], [375, 800]]) {
      await browser.scheme(scheme);
      await browser.size(width, height);
      assert.deepEqual(await browser.run(AUDIT), [], `${scheme}, ${width} wide`);
    }
  }
  await browser.scheme('light');
  await browser.size(1280, 860);
}

describe('playground and live view of webhook --standalone', () => {
  let webhook;
  let address;

  before(async () => {
    webhook = await startProgram([program, 'webhook', '--standalone', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0',
      '--shutdown-delay', '0s'], /the page to look at address=(\S+)/);
    address = webhook.found[1];
  });
  after(() => webhook?.stop());

  test('playground: shows the decision and a coloured diff at once', async () => {
    await visit(address);
    await eventually(async () => (await browser.text('.object .badge')) === 'inject');
    assert.match(await browser.text('.summary'), /^1 object: 1 injected/);
    assert.match(await browser.text('.line.add'), /^\+/);
    assert.ok(await browser.count('.line.add') > 10);
    await picture('playground');
    await browser.scheme('dark');
    await picture('playground-dark');
    assert.deepEqual(await browser.complaints(), []);
  });

  test('playground: answers at every keystroke', async () => {
    await visit(address);
    await browser.fill('textarea', `kind: Pod\nmetadata:\n  name: typed\n  annotations: {${key}: "tru`);
    await eventually(async () => /Cannot be read/.test(await browser.text('.results')));
    await browser.type('textarea', 'e"}\nspec: {containers: [{name: a, image: b}]}');
    await eventually(async () => (await browser.text('.object h2')) === 'pod/typed');
    assert.equal(await browser.text('.object .badge'), 'inject');
    await browser.fill('textarea', `kind: Pod\nmetadata: {name: typed, annotations: {${key}: ture}}\nspec: {containers: [{name: a}]}`);
    await eventually(async () => /UnrecognizedValue/.test(await browser.text('.object')));
  });

  test('playground: every format can be seen, by keyboard as well', async () => {
    await visit(address);
    await eventually(() => browser.count('[role=tab]'));
    await browser.run('document.querySelector("[role=tab]").focus()');
    const seen = [];
    for (let i = 0; i < 4; ++i) {
      seen.push(await browser.text('[role=tab][aria-selected=true]'));
      await browser.keys('\uE014');
    }
    assert.deepEqual(seen, ['Diff', 'Strategic merge', 'JSON patch', 'YAML']);
    await browser.keys('\uE012');
    assert.match(await browser.text('[role=tabpanel] code'), /name: envoy/);
  });

  test('playground: a template of one\'s own, a Namespace that asks, a version', async () => {
    await visit(address);
    await browser.run('document.querySelector("details").open = true');
    const field = (name) => browser.run(`return '#' + [...document.querySelectorAll('label')].find((label) => label.textContent === arguments[0]).htmlFor`, name);
    await browser.fill('textarea', 'kind: Pod\nmetadata: {name: quiet}\nspec: {containers: [{name: a, image: b}]}\n');
    await eventually(async () => /NotRequested/.test(await browser.text('.object')));
    await browser.fill(await field('Namespace labels'), `${key}: enabled`);
    await eventually(async () => /namespace label/.test(await browser.text('.object')));
    await browser.fill(await field('Template'), 'own');
    await browser.fill(await field('Template text'), 'initContainers: [{name: logs, image: "fluent-bit:4", restartPolicy: Always}]');
    await eventually(async () => /fluent-bit/.test(await browser.text('.line.add + .line.add, .results')));
    await browser.fill(await field('Kubernetes version'), '1.27');
    await eventually(async () => /native sidecars/.test(await browser.text('.results')));
    await browser.fill(await field('Template text'), 'containers: [{name: logs, imag: x}]');
    await eventually(async () => /cannot be used/.test(await browser.text('.summary')));
  });

  test('playground: the address holds the state, and is not sent to the server', async () => {
    await visit(address);
    await browser.fill('textarea', `kind: Pod\nmetadata: {name: shared, annotations: {${key}: "true"}}\nspec: {containers: [{name: a, image: b}]}\n`);
    await eventually(async () => (await browser.text('.object h2')) === 'pod/shared');
    const url = await browser.run('return location.href');
    assert.ok(url.startsWith(`${address}#/playground?s=`));
    await visit(url);
    await eventually(async () => (await browser.text('.object h2')) === 'pod/shared');
    await visit(`${address}#/playground?s=damaged`);
    await eventually(async () => (await browser.text('.object h2')) === 'pod/hello');
  });

  test('playground: hostile names stay text', async () => {
    await visit(address);
    await browser.fill('textarea', `kind: Pod\nmetadata: {name: '${hostile}', annotations: {${key}: "${hostile.replaceAll('"', '\\"')}"}}\nspec: {containers: [{name: '${hostile}', image: b}]}\n`);
    await eventually(async () => /UnrecognizedValue/.test(await browser.text('.object')));
    assert.match(await browser.text('.object h2'), /<img src=x/);
    assert.equal(await browser.count('main img'), 0);
    assert.notEqual(await browser.run('return document.title'), '1');
    assert.deepEqual(await browser.complaints(), []);
  });

  test('playground: names, contrast and width, light and dark, desk and phone', async () => {
    await visit(address);
    await eventually(() => browser.count('.object'));
    await browser.run('document.querySelector("details").open = true');
    await audit();
    await browser.size(390, 844, true);
    await picture('phone');
  });

  test('keyboard: the first stop skips to the content, and focus is visible', async () => {
    await visit(address);
    await browser.keys('\uE004');
    assert.equal(await browser.run('return document.activeElement.className'), 'skip');
    await browser.keys('\uE007');
    assert.equal(await browser.run('return document.activeElement.id'), 'main');
    await browser.keys('\uE004');
    assert.notEqual(await browser.run('return getComputedStyle(document.activeElement).outlineStyle'), 'none');
  });

  test('live: decisions appear as the webhook makes them', async () => {
    await visit(`${address}#/live`);
    await eventually(async () => (await browser.text('.badge[role=status]')) === 'Connected');
    const port = / serving port=(\d+)/.exec(await eventually(() => / serving port=\d+/.test(webhook.output()) && webhook.output()))[1];
    for (const [name, value] of [['asked', 'true'], [hostile, 'ture']]) {
      const review = {apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: {
        uid: name, operation: 'CREATE', namespace: 'shop', resource: {group: '', version: 'v1', resource: 'pods'},
        object: {kind: 'Pod', metadata: {name, annotations: {[key]: value}}, spec: {containers: [{name: 'app'}]}},
      }};
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';  // The certificate was made for this run.
      const answer = await post(`https://127.0.0.1:${port}/`, 'mutate', review);
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      assert.equal(answer.status, 200);
    }
    await eventually(async () => (await browser.count('tbody tr')) === 2);
    assert.match(await browser.text('tbody tr:last-child'), /inject[\s\S]*shop[\s\S]*asked/);
    assert.match(await browser.text('tbody tr:first-child'), /<img src=x[\s\S]*UnrecognizedValue/);
    assert.equal(await browser.count('main img'), 0);
    await audit();
    assert.deepEqual(await browser.complaints(), []);
  });

  test('no other host is asked, and no file is missing', async () => {
    await visit(address);
    const names = await browser.run('return performance.getEntriesByType("resource").map((entry) => entry.name)');
    assert.ok(names.length > 5);
    assert.deepEqual(names.filter((name) => !name.startsWith(address)), []);
    assert.deepEqual(await browser.complaints(), []);
  });

  test('other sites cannot read it: rebinding and foreign requests are refused', async () => {
    const foreign = await fetch(new URL('api/v1/about', address), {headers: {Origin: 'http://evil.example'}});
    assert.equal(foreign.status, 403);
    await browser.open('data:text/html,<title>elsewhere</title>');
    const seen = await browser.run(`return fetch(arguments[0]).then((reply) => reply.status, () => 'refused')`, `${address}api/v1/about`);
    assert.equal(seen, 'refused');
    await browser.complaints();
  });
});

describe('dashboard of a cluster', {skip: process.env.INJ_APISERVER_BIN === '' ? 'no API server' : false}, () => {
  let cluster;
  let dashboard;
  let address;
  const many = 10_000;

  before(async () => {
    cluster = await Cluster.start(clusterProgram);
    if (!cluster) return;
    await cluster.namespace('shop');
    await cluster.namespace('bank', {[key]: 'enabled'});
    await cluster.namespace('many');
    await cluster.pod('shop', 'missing', {[key]: 'true'});
    await cluster.pod('shop', 'silent');
    await cluster.pod('shop', 'outdated', {[key]: 'true', [`${key}-status`]: '{"template":"sha256:0000000000000000","containers":["envoy"]}'},
      {containers: [{name: 'app', image: 'nginx:1.29'}, {name: 'envoy', image: 'envoy:old'}]});
    await cluster.pod('bank', 'by-namespace', {note: hostile});
    await cluster.deployment('shop', 'misplaced', {[key]: 'true'});
    dashboard = await startProgram([program, 'dashboard', '--kubeconfig', cluster.kubeconfig], /^(http:\S+)$/m);
    address = dashboard.found[1];
  });
  after(async () => {
    await dashboard?.stop();
    await cluster?.stop();
  });
  const withCluster = (name, body) => test(name, async (t) => (cluster ? body(t) : t.skip('no API server')));

  withCluster('overview: Pods by state and namespace, template, warnings', async () => {
    await visit(address);
    await eventually(async () => /4 Pods/.test(await browser.text('main')));
    assert.match(await browser.text('.legend'), /1\s*Outdated\s*2\s*Missing[\s\S]*1\s*Not asked/);
    assert.match(await browser.text('.bars'), /shop[\s\S]*3[\s\S]*bank/);
    assert.match(await browser.text('main'), /built-in template/);
    assert.match(await browser.text('main'), /deployment\/misplaced in namespace shop: MisplacedKey/);
    await audit();
    assert.deepEqual(await browser.complaints(), []);
  });

  withCluster('workloads: search, filters, and why', async () => {
    await visit(`${address}#/workloads?state=missing`);
    await eventually(async () => (await browser.count('tbody tr')) === 2);
    await browser.fill('input[type=search]', 'BY-NAMES');
    await eventually(async () => (await browser.count('tbody tr')) === 1);
    await browser.click('button.link');
    await eventually(async () => /namespace label/.test(await browser.text('dialog')));
    assert.match(await browser.text('dialog'), /no webhook is registered/);
    assert.match(await browser.text('dialog .code'), /\+.*name: envoy/);
    assert.match(await browser.text('dialog .code'), /<img src=x/);
    assert.equal(await browser.count('main img'), 0);
    await audit();
    await browser.keys('\uE00C');
    assert.equal(await browser.count('dialog[open]'), 0);
    assert.equal(await browser.run('return document.activeElement.textContent'), 'by-namespace');
    assert.deepEqual(await browser.complaints(), []);
  });

  withCluster('workloads: the diff of an outdated Pod replaces its sidecar', async () => {
    await visit(`${address}#/workloads?search=outdated`);
    await eventually(async () => (await browser.count('tbody tr')) === 1);
    await browser.click('button.link');
    await eventually(() => browser.count('dialog .line.del'));
    assert.match(await browser.text('dialog .line.del, dialog'), /sha256:0000000000000000/);
    assert.match(await browser.text('dialog .code'), /-.*image: envoy:old/);
    await picture('workload');
  });

  withCluster('live: a Pod appears when it is made', async () => {
    await visit(`${address}#/live`);
    await eventually(async () => (await browser.text('.badge[role=status]')) === 'Connected');
    await cluster.pod('shop', 'newcomer', {[key]: 'true'});
    await eventually(async () => /newcomer/.test(await browser.text('tbody')));
    assert.match(await browser.text('tbody tr:first-child'), /Missing[\s\S]*Pod added/);
    await cluster.request('DELETE', '/api/v1/namespaces/shop/pods/newcomer?gracePeriodSeconds=0');
    await eventually(async () => /Pod deleted/.test(await browser.text('tbody')));
    await audit();
    await picture('live');
    assert.deepEqual(await browser.complaints(), []);
  });

  withCluster(`workloads: ${many.toLocaleString('en')} Pods come a page at a time, and rows stay in place`, async () => {
    await cluster.pods('many', many, {[key]: 'true'});
    await visit(`${address}#/workloads?namespace=many`);
    await eventually(async () => /of 10,000 rows/.test(await browser.text('.pager')));
    assert.equal(await browser.count('tbody tr'), 100);
    await browser.click('.pager button:last-child');
    await eventually(async () => /101–200 of/.test(await browser.text('.pager')));
    assert.match(await browser.text('tbody tr:first-child'), /pod-00100/);
    await browser.run('window.kept = document.querySelector("tbody tr")');
    await browser.run('window.asked = performance.getEntriesByType("resource").length');
    await eventually(() => browser.run('return performance.getEntriesByType("resource").length > window.asked'));
    assert.equal(await browser.run('return document.querySelector("tbody tr") === window.kept'), true);
    await browser.fill('input[type=search]', 'pod-09999');
    await eventually(async () => (await browser.count('tbody tr')) === 1);
    await browser.fill('input[type=search]', '');
    await picture('workloads');
    await visit(`${address}#/overview`);
    await eventually(async () => /10,004 Pods/.test(await browser.text('main')));
    await picture('overview');
    assert.deepEqual(await browser.complaints(), []);
  });
});
