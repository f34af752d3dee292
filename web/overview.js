// The cluster at a glance.

import * as api from './api.js';
import {STATES, badge, el, plural, svg} from './ui.js';

const EVERY = 5000;
const MOST_NAMESPACES = 30;
const states = Object.keys(STATES);
const day = 24 * 3600 * 1000;

const sum = (counts) => states.reduce((total, state) => total + (counts[state] ?? 0), 0);

/** One bar of parts; widths are shares of `most`. */
function bar(counts, most) {
  const total = sum(counts);
  const words = states.filter((state) => counts[state]).map((state) => `${counts[state]} ${STATES[state].toLowerCase()}`);
  const parts = [];
  let at = 0;
  for (const state of states) {
    const width = most > 0 ? (100 * (counts[state] ?? 0)) / most : 0;
    if (width > 0) parts.push(svg('rect', {x: at, y: 0, width, height: 10, class: `fill ${state}`}));
    at += width;
  }
  return svg('svg', {viewBox: '0 0 100 10', preserveAspectRatio: 'none', class: 'bar', role: 'img', 'aria-label': total ? words.join(', ') : 'no Pods'}, ...parts);
}

function legend(totals) {
  return el('ul', {class: 'legend'}, states.map((state) => el('li', {},
    el('a', {href: `#/workloads?state=${state}`},
      svg('svg', {viewBox: '0 0 10 10', class: 'dot', 'aria-hidden': 'true'}, svg('circle', {cx: 5, cy: 5, r: 5, class: `fill ${state}`})),
      el('span', {class: 'count'}, (totals[state] ?? 0).toLocaleString('en')), STATES[state]))));
}

function namespaceChart(namespaces) {
  const sorted = [...namespaces].sort((left, right) => sum(right) - sum(left)).slice(0, MOST_NAMESPACES);
  const most = Math.max(1, ...sorted.map(sum));
  const rows = sorted.map((entry) => el('tr', {},
    el('th', {scope: 'row'}, el('a', {href: `#/workloads?${new URLSearchParams({namespace: entry.name})}`}, entry.name)),
    el('td', {class: 'chart'}, bar(entry, most)),
    el('td', {class: 'number'}, sum(entry).toLocaleString('en'))));
  const rest = namespaces.length - sorted.length;
  return el('div', {},
    el('table', {class: 'bars'}, el('caption', {class: 'hidden'}, 'Pods per namespace'), el('tbody', {}, rows)),
    rest > 0 ? el('p', {class: 'hint'}, `and ${plural(rest, 'namespace')} with fewer Pods`) : null);
}

function templateTable(templates) {
  const rows = templates.map((template) => {
    const pods = template.pods ?? {};
    const all = (pods.injected ?? 0) + (pods.outdated ?? 0) + (pods.missing ?? 0);
    const current = pods.injected ?? 0;
    return el('tr', {},
      el('td', {'data-label': 'Template'}, el('strong', {}, template.name), el('div', {class: 'hint'}, template.source)),
      el('td', {'data-label': 'Hash'}, el('code', {}, template.hash)),
      el('td', {'data-label': 'Accepted'}, template.accepted ? badge('accepted') : el('span', {class: 'badge bad'}, 'not accepted'),
        template.note ? el('div', {class: 'hint'}, template.note) : null),
      el('td', {'data-label': 'Rolled out'}, all === 0 ? 'no Pods' : `${Math.floor((100 * current) / all)} % (${current} of ${all})`,
        all === 0 ? null : bar({injected: current, outdated: all - current}, all)));
  });
  return el('table', {class: 'wide'},
    el('thead', {}, el('tr', {}, ['Template', 'Hash', 'Accepted', 'Rolled out'].map((name) => el('th', {scope: 'col'}, name)))),
    el('tbody', {}, rows));
}

function figure(value, label, note) {
  return el('div', {class: 'figure'}, el('div', {class: 'value'}, value), el('div', {class: 'label'}, label), note ? el('div', {class: 'hint'}, note) : null);
}

function expiry(certificate) {
  if (!certificate.notAfter) return figure('–', certificate.name, certificate.note);
  const days = Math.floor((certificate.notAfter - Date.now()) / day);
  return figure(days < 0 ? 'expired' : plural(days, 'day'), certificate.name, certificate.note);
}

function webhookFigures(webhook) {
  if (!webhook.reachable) return [figure('–', 'admissions per second', webhook.note)];
  const p99 = webhook.p99Seconds;
  return [
    figure(webhook.admissionsPerSecond.toLocaleString('en', {maximumFractionDigits: 1}), 'admissions per second',
      `${plural(webhook.admissions, 'admission')} by ${plural(webhook.replicas, 'replica')}`),
    figure(p99 === null ? '–' : `${(p99 * 1000).toLocaleString('en', {maximumFractionDigits: 2})} ms`, '99 % answered within'),
  ];
}

function notes(title, lines) {
  if (lines.length === 0) return null;
  return el('section', {class: 'card'}, el('h2', {}, title), el('ul', {class: 'plain'}, lines.map((line) => el('li', {}, line))));
}

function draw(place, data) {
  const total = sum(data.totals);
  place.replaceChildren(...[
    el('section', {class: 'card', 'aria-label': 'All Pods'},
      el('h2', {}, plural(total, 'Pod')), bar(data.totals, total), legend(data.totals)),
    el('div', {class: 'columns even'},
      el('section', {class: 'card'}, el('h2', {}, 'Namespaces'), namespaceChart(data.namespaces)),
      el('div', {class: 'stack'},
        el('section', {class: 'card'}, el('h2', {}, 'Webhook'), el('div', {class: 'figures'}, webhookFigures(data.webhook))),
        el('section', {class: 'card'}, el('h2', {}, 'Certificates'),
          data.certificates.length ? el('div', {class: 'figures'}, data.certificates.map(expiry)) : el('p', {class: 'hint'}, 'No webhook is registered.')))),
    el('section', {class: 'card'}, el('h2', {}, 'Templates'), el('div', {class: 'scroll'}, templateTable(data.templates))),
    notes('Asking in a way that does nothing', data.warnings),
    notes('Not known', data.notes),
  ].filter(Boolean));
}

export function overviewPage(main) {
  const place = el('div', {class: 'stack'}, el('p', {class: 'empty'}, 'Reading the cluster…'));
  const where = el('p', {class: 'lead'});
  main.replaceChildren(el('div', {class: 'heading'}, el('div', {}, el('h1', {}, 'Overview'), where)), place);
  const abort = new AbortController();
  let last = '';
  const refresh = async () => {
    try {
      const data = await api.overview(abort.signal);
      where.textContent = data.cluster;
      const text = JSON.stringify({...data, time: 0});
      if (text !== last) draw(place, data);
      last = text;
    } catch (error) {
      if (error.name !== 'AbortError') where.textContent = error.message;
    }
  };
  refresh();
  const timer = setInterval(refresh, EVERY);
  return () => {
    abort.abort();
    clearInterval(timer);
  };
}
