// What happens to a manifest, at every keystroke.

import * as api from './api.js';
import {EXAMPLES} from './examples.js';
import {pack, unpack, writeAddress} from './state.js';
import {badge, codeView, copy, debounce, diffView, el, field, plural, tabs, toast} from './ui.js';

const VERSIONS = ['', '1.36', '1.35', '1.34', '1.33', '1.32', '1.31', '1.30', '1.29', '1.28', '1.27', '1.20', '1.16'];

/** "key: value" or "key=value", a line each. */
function pairs(text) {
  const map = {};
  for (const line of text.split('\n')) {
    const found = /^\s*([^\s:=]+)\s*[:=]\s*"?([^"]*?)"?\s*$/.exec(line);
    if (found) map[found[1]] = found[2];
  }
  return map;
}

function messages(title, tone, lines) {
  if (lines.length === 0) return null;
  return el('div', {class: `note ${tone}`}, el('strong', {}, title),
    el('ul', {}, lines.map((line) => el('li', {}, line))));
}

const problemLine = (problem) =>
  `${problem.line ? `line ${problem.line}: ` : ''}${problem.path ? `${problem.path}: ` : ''}${problem.message}`;

class Playground {
  constructor(main, context) {
    this.context = context;
    this.chosenTab = 0;
    this.abort = null;
    this.manifest = el('textarea', {rows: 18, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', wrap: 'off', class: 'code-input'});
    this.template = el('textarea', {rows: 12, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', wrap: 'off', class: 'code-input'});
    this.labels = el('textarea', {rows: 2, spellcheck: 'false', class: 'code-input', placeholder: `${context.annotation}: enabled`});
    this.annotations = el('textarea', {rows: 2, spellcheck: 'false', class: 'code-input'});
    this.version = el('select', {}, VERSIONS.map((version) => el('option', {value: version}, version || 'Any')));
    this.choice = el('select', {}, el('option', {value: ''}, 'The one in use'), el('option', {value: 'own'}, 'My own'));
    this.templateField = field('Template text', this.template, 'Containers, volumes, labels: what is added. A ConfigMap that holds it works as well.');
    this.results = el('div', {class: 'results'});
    this.summary = el('p', {class: 'summary', 'aria-live': 'polite'}, 'Deciding…');
    this.update = debounce(120, () => this.decide());
    this.build(main);
    this.follow();
  }

  build(main) {
    const examples = el('select', {}, el('option', {value: ''}, 'Choose…'),
      EXAMPLES.map(([name], i) => el('option', {value: i}, name)));
    examples.addEventListener('change', () => this.useExample(examples));
    const share = el('button', {type: 'button', onclick: () => copy(location.href)}, 'Copy link');
    main.replaceChildren(
      el('div', {class: 'heading'},
        el('div', {}, el('h1', {}, 'Playground'),
          el('p', {class: 'lead'}, 'Paste a manifest and see what the injector does with it, and why. Nothing is stored, and nothing leaves this machine.')),
        el('div', {class: 'actions'}, field('Example', examples), share)),
      el('div', {class: 'columns'},
        el('section', {class: 'card input', 'aria-label': 'Input'},
          field('Manifest', this.manifest, 'YAML or JSON, any number of documents. Files can be dropped here.'),
          el('details', {class: 'more'}, el('summary', {}, 'Template, Namespace, version'),
            el('div', {class: 'pair'}, field('Template', this.choice), field('Kubernetes version', this.version)),
            this.templateField,
            el('div', {class: 'pair'},
              field('Namespace labels', this.labels, 'One per line, key: value'),
              field('Namespace annotations', this.annotations, 'One per line, key: value')))),
        el('section', {class: 'card output', 'aria-label': 'Decision'}, this.summary, this.results)));
    this.details = main.querySelector('details');
  }

  follow() {
    for (const control of [this.manifest, this.template, this.labels, this.annotations, this.version]) {
      control.addEventListener('input', () => this.update());
    }
    this.choice.addEventListener('change', () => {
      if (this.choice.value === 'own' && !this.template.value) this.template.value = this.context.builtInTemplate;
      this.showTemplate();
      this.update();
    });
    this.manifest.addEventListener('dragover', (event) => event.preventDefault());
    this.manifest.addEventListener('drop', (event) => this.drop(event));
  }

  async drop(event) {
    const files = [...event.dataTransfer.files];
    if (files.length === 0) return;
    event.preventDefault();
    const texts = await Promise.all(files.map((file) => file.text()));
    this.manifest.value = texts.map((text) => text.replace(/\n?$/, '\n')).join('---\n');
    this.update();
  }

  useExample(select) {
    const example = EXAMPLES[select.value]?.[1];
    select.value = '';
    if (!example) return;
    this.restore(example);
    this.update();
  }

  showTemplate() {
    this.templateField.hidden = this.choice.value !== 'own';
  }

  state() {
    const own = this.choice.value === 'own';
    return {
      manifest: this.manifest.value,
      ...(own && {template: this.template.value}),
      ...(this.labels.value && {labels: this.labels.value}),
      ...(this.annotations.value && {annotations: this.annotations.value}),
      ...(this.version.value && {version: this.version.value}),
    };
  }

  restore(state) {
    const text = (value) => (typeof value === 'string' ? value : '');
    this.manifest.value = text(state.manifest);
    this.template.value = text(state.template);
    this.choice.value = typeof state.template === 'string' ? 'own' : '';
    this.labels.value = text(state.labels);
    this.annotations.value = text(state.annotations);
    this.version.value = VERSIONS.includes(state.version) ? state.version : '';
    this.details.open = Boolean(this.choice.value || this.labels.value || this.annotations.value || this.version.value);
    this.showTemplate();
  }

  request() {
    const state = this.state();
    return {
      manifest: state.manifest,
      template: state.template ?? '',
      namespace: {labels: pairs(this.labels.value), annotations: pairs(this.annotations.value)},
      kubernetesVersion: state.version ?? '',
    };
  }

  async decide() {
    this.abort?.abort();
    this.abort = new AbortController();
    const {signal} = this.abort;
    try {
      const packed = await pack(this.state());
      if (signal.aborted) return;
      writeAddress('playground', {s: packed});
      this.show(await api.decide(this.request(), signal));
    } catch (error) {
      if (error.name === 'AbortError') return;
      this.summary.textContent = error.message;
      this.results.replaceChildren();
    }
  }

  show(answer) {
    const {template, objects, failures, warnings} = answer;
    const injected = objects.filter((object) => object.decision === 'inject').length;
    this.summary.textContent = template.problems.length > 0
      ? 'The template cannot be used.'
      : `${plural(objects.length, 'object')}: ${injected} injected, ${objects.length - injected} left alone or refused. Template ${template.hash}.`;
    this.results.replaceChildren(...[
      messages('Template', 'bad', template.problems.map(problemLine)),
      messages('Template', 'warn', [...template.warnings.map(problemLine), ...template.findings]),
      messages('Cannot be read', 'bad', failures),
      messages('YAML', 'warn', warnings),
      ...objects.map((object) => this.objectView(object, answer)),
    ].filter(Boolean));
  }

  objectView(object, answer) {
    const parts = [
      el('header', {}, el('h2', {}, object.object), badge(object.decision)),
      el('dl', {class: 'facts'},
        el('dt', {}, 'Reason'), el('dd', {}, el('code', {}, object.reason)),
        el('dt', {}, 'Decided by'), el('dd', {}, object.rule),
        el('dt', {}, 'Detail'), el('dd', {}, object.detail)),
      messages('Warnings', 'warn', object.warnings.map((warning) => `${warning.code}: ${warning.message}`)),
    ];
    if (object.diff) parts.push(this.formats(object, answer));
    return el('article', {class: 'object'}, parts);
  }

  formats(object, answer) {
    const copied = (text, view) => () => el('div', {class: 'copyable'},
      el('button', {type: 'button', class: 'copy', onclick: () => copy(text)}, 'Copy'), view());
    return tabs(`Result for ${object.object}`, [
      ['Diff', copied(object.diff, () => diffView(object.diff))],
      ['Strategic merge', copied(object.patches.strategic, () => codeView(object.patches.strategic, 'Strategic merge patch'))],
      ['JSON patch', copied(object.patches.jsonPatch, () => codeView(object.patches.jsonPatch, 'JSON patch'))],
      ['YAML', copied(answer.yaml, () => codeView(answer.yaml, 'Manifest afterwards'))],
    ], this.chosenTab, (index) => { this.chosenTab = index; });
  }
}

export function playgroundPage(main, context, values) {
  const page = new Playground(main, context);
  const packed = values.get('s');
  const begin = async () => {
    const state = packed ? await unpack(packed) : null;
    if (packed && !state) toast('The link is damaged: here is an example instead');
    page.restore(state ?? EXAMPLES[0][1]);
    await page.decide();
  };
  begin();
  return () => page.abort?.abort();
}
