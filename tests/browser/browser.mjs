// A real Chromium, driven by the WebDriver protocol: chromium and chromium-driver of Debian, and nothing from elsewhere.

import {execFileSync, spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const FLAGS = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--force-device-scale-factor=1',
];
const PATIENCE = 60_000;

/** Why there is no browser to be had; empty: there is one. */
export function missingBrowser() {
  for (const program of ['chromium', 'chromedriver']) {
    try {
      execFileSync('which', [program], {stdio: 'ignore'});
    } catch {
      return `${program} is not installed (tools/install-packages browser)`;
    }
  }
  return '';
}

/** Asks until the answer is one, or the time has passed: then throws the last reason. */
export async function eventually(ask, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    try {
      const answer = await ask();
      if (answer) return answer;
      if (Date.now() > end) throw new Error(`still not so after ${patience} ms: ${ask}`);
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}

export class Browser {
  /** Starts the driver and a browser with a profile of its own. */
  static async start() {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), 'browser-'));
    browser.driver = spawn('chromedriver', ['--port=0'], {stdio: ['ignore', 'pipe', 'ignore'], env: {...process.env, HOME: browser.profile}});
    const port = await new Promise((resolve, reject) => {
      let text = '';
      browser.driver.stdout.on('data', (data) => {
        text += data;
        const found = /started successfully on port (\d+)/.exec(text);
        if (found) resolve(found[1]);
      });
      browser.driver.on('exit', () => reject(new Error(`chromedriver: ${text}`)));
    });
    browser.address = `http://127.0.0.1:${port}/session`;
    const session = await browser.call('POST', '', {capabilities: {alwaysMatch: {
      browserName: 'chrome',
      'goog:chromeOptions': {args: [...FLAGS, `--user-data-dir=${browser.profile}/profile`]},
      'goog:loggingPrefs': {browser: 'ALL'},
    }}});
    browser.address += `/${session.sessionId}`;
    return browser;
  }

  async stop() {
    await this.call('DELETE', '').catch(() => {});
    this.driver.kill();
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5});
  }

  async call(method, path, body) {
    const response = await fetch(this.address + path, {method, body: method === 'POST' ? JSON.stringify(body ?? {}) : undefined});
    const {value} = await response.json();
    if (!response.ok) throw new Error(`${value.error}: ${value.message}`);
    return value;
  }

  open(url) {
    return this.call('POST', '/url', {url});
  }

  /** Runs `script`, the text of a function's body, in the page. */
  run(script, ...args) {
    return this.call('POST', '/execute/sync', {script, args});
  }

  devtools(cmd, params = {}) {
    return this.call('POST', '/goog/cdp/execute', {cmd, params});
  }

  async find(selector) {
    return Object.values(await this.call('POST', '/element', {using: 'css selector', value: selector}))[0];
  }

  async click(selector) {
    return this.call('POST', `/element/${await this.find(selector)}/click`);
  }

  async type(selector, text) {
    return this.call('POST', `/element/${await this.find(selector)}/value`, {text});
  }

  /** Keys to whatever has the focus. */
  keys(...keys) {
    return this.call('POST', '/actions', {actions: [{type: 'key', id: 'keys', actions: keys.flatMap((value) =>
      [{type: 'keyDown', value}, {type: 'keyUp', value}])}]});
  }

  /** The text that a reader sees; empty where there is no such element. */
  text(selector) {
    return this.run('return document.querySelector(arguments[0])?.innerText ?? ""', selector);
  }

  count(selector) {
    return this.run('return document.querySelectorAll(arguments[0]).length', selector);
  }

  /** Sets a field's value as typing would. */
  fill(selector, value) {
    return this.run(`const field = document.querySelector(arguments[0]);
      field.value = arguments[1];
      field.dispatchEvent(new Event('input', {bubbles: true}));
      field.dispatchEvent(new Event('change', {bubbles: true}));`, selector, value);
  }

  /** What the page wrote to the console since the last call: errors and violations of the policy. */
  async complaints() {
    const lines = await this.call('POST', '/se/log', {type: 'browser'});
    return lines.filter((line) => line.level === 'SEVERE' || /Content Security Policy|Refused/.test(line.message)).map((line) => line.message);
  }

  size(width, height, mobile = false) {
    return this.devtools('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile});
  }

  scheme(value) {
    return this.devtools('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value}]});
  }

  async screenshot(file) {
    const {data} = await this.devtools('Page.captureScreenshot', {format: 'png'});
    writeFileSync(file, Buffer.from(data, 'base64'));
  }
}
