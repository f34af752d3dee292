// All Pods and workloads, a page at a time, and why each is as it is.

import * as api from './api.js';
import {writeAddress} from './state.js';
import {STATES, badge, debounce, diffView, el, field, plural, reconcile} from './ui.js';

const EVERY = 5000;
const COLUMNS = ['State', 'Namespace', 'Kind', 'Name', 'Owner'];

const keyOf = (row) => `${row.namespace}/${row.kind}/${row.name}`;

function fill(line, row, open) {
  line.replaceChildren(
    el('td', {'data-label': 'State'}, badge(row.state)),
    el('td', {'data-label': 'Namespace'}, row.namespace),
    el('td', {'data-label': 'Kind'}, row.kind),
    el('td', {'data-label': 'Name'}, el('button', {type: 'button', class: 'link', onclick: () => open(row)}, row.name)),
    el('td', {'data-label': 'Owner'}, row.owner));
}

function reportView(report) {
  const list = (title, lines) => (lines.length === 0 ? null
    : el('div', {class: 'note warn'}, el('strong', {}, title), el('ul', {}, lines.map((line) => el('li', {}, line)))));
  const facts = [
    ['Today', report.stored],
    ['If made now', `${report.decision}: ${report.reason}`],
    ['Decided by', report.rule],
    ['Detail', report.detail],
    ['Template', report.template],
    ...report.webhooks.map((webhook) => ['Webhook', `${webhook.webhook}: called: ${webhook.called}${webhook.why ? ` (${webhook.why})` : ''}`]),
  ];
  return [
    report.advice ? el('p', {class: 'note'}, report.advice) : null,
    el('dl', {class: 'facts'}, facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])),
    list('Warnings', report.warnings.map((warning) => `${warning.code}: ${warning.message}`)),
    list('Notes', report.notes),
    el('h3', {}, 'Stored, and what would be stored today'),
    report.diff ? diffView(report.diff) : el('p', {class: 'hint'}, 'No difference.'),
  ];
}

class Workloads {
  constructor(main, values) {
    this.page = Number(values.get('page')) || 0;
    this.search = el('input', {type: 'search', value: values.get('search') ?? '', placeholder: 'Name, namespace or owner'});
    this.state = el('select', {}, el('option', {value: ''}, 'All'),
      Object.entries(STATES).map(([state, name]) => el('option', {value: state}, name)));
    this.state.value = values.get('state') ?? '';
    this.namespace = el('select', {}, el('option', {value: ''}, 'All'));
    this.wanted = values.get('namespace') ?? '';
    this.rows = el('tbody');
    this.status = el('p', {class: 'hint', role: 'status'}, 'Reading…');
    this.previous = el('button', {type: 'button', onclick: () => this.turn(-1)}, 'Previous');
    this.next = el('button', {type: 'button', onclick: () => this.turn(1)}, 'Next');
    this.dialog = el('dialog', {class: 'panel', 'aria-label': 'Why'});
    this.abort = new AbortController();
    this.build(main);
  }

  build(main) {
    main.replaceChildren(
      el('div', {class: 'heading'}, el('div', {}, el('h1', {}, 'Workloads'),
        el('p', {class: 'lead'}, 'Choose a name to see why it is as it is.'))),
      el('section', {class: 'card', 'aria-label': 'Workloads'},
        el('div', {class: 'toolbar', role: 'search'}, field('Search', this.search), field('State', this.state), field('Namespace', this.namespace)),
        el('div', {class: 'scroll'}, el('table', {class: 'wide'},
          el('thead', {}, el('tr', {}, COLUMNS.map((name) => el('th', {scope: 'col'}, name)))), this.rows)),
        el('div', {class: 'pager'}, this.status, el('div', {class: 'actions'}, this.previous, this.next))),
      this.dialog);
    const again = debounce(150, () => {
      this.page = 0;
      this.refresh();
    });
    this.search.addEventListener('input', again);
    this.state.addEventListener('change', again);
    this.namespace.addEventListener('change', () => {
      this.wanted = this.namespace.value;
      again();
    });
    this.dialog.addEventListener('click', (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
  }

  turn(step) {
    this.page += step;
    this.refresh();
  }

  query() {
    return {search: this.search.value, state: this.state.value, namespace: this.wanted, page: this.page || ''};
  }

  async refresh() {
    this.abort.abort();
    this.abort = new AbortController();
    try {
      writeAddress('workloads', this.query());
      this.show(await api.workloads(this.query(), this.abort.signal));
    } catch (error) {
      if (error.name !== 'AbortError') this.status.textContent = error.message;
    }
  }

  show(data) {
    const last = Math.max(0, Math.ceil(data.total / data.pageSize) - 1);
    if (this.page > last) {
      this.page = last;
      this.refresh();
      return;
    }
    const names = ['', ...data.namespaces];
    if (names.length !== this.namespace.options.length || names.some((name, i) => this.namespace.options[i].value !== name)) {
      this.namespace.replaceChildren(...names.map((name) => el('option', {value: name}, name || 'All')));
    }
    this.namespace.value = this.wanted;
    reconcile(this.rows, data.rows, keyOf,
      () => el('tr'), (line, row) => fill(line, row, (chosen) => this.open(chosen)));
    const first = data.page * data.pageSize;
    this.status.textContent = data.total === 0 ? 'Nothing matches.'
      : `${(first + 1).toLocaleString('en')}–${(first + data.rows.length).toLocaleString('en')} of ${plural(data.total, 'row')}`;
    this.previous.disabled = this.page === 0;
    this.next.disabled = this.page >= last;
  }

  async open(row) {
    const body = el('div', {class: 'body'}, el('p', {class: 'empty'}, 'Asking…'));
    this.dialog.replaceChildren(
      el('header', {}, el('h2', {}, `${row.kind.toLowerCase()}/${row.name}`), badge(row.state),
        el('button', {type: 'button', class: 'close', 'aria-label': 'Close', onclick: () => this.dialog.close()}, '×')),
      el('p', {class: 'hint'}, `Namespace ${row.namespace}`), body);
    this.dialog.showModal();
    try {
      const report = await api.workload(row.namespace, row.kind, row.name);
      body.replaceChildren(...reportView(report).filter(Boolean));
    } catch (error) {
      body.replaceChildren(el('p', {class: 'note bad', role: 'alert'}, error.message));
    }
  }
}

export function workloadsPage(main, context, values) {
  const page = new Workloads(main, values);
  page.refresh();
  const timer = setInterval(() => page.refresh(), EVERY);
  return () => {
    page.abort.abort();
    clearInterval(timer);
  };
}
