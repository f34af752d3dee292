// Decisions and Pods as they come.

import * as api from './api.js';
import {badge, el, svg} from './ui.js';

const MOST = 200;
const SECONDS = 60;

const clock = new Intl.DateTimeFormat('en-GB', {timeStyle: 'medium'});

function eventRow(event) {
  const what = event.type === 'decision' ? event.decision : event.state;
  const detail = event.type === 'decision' ? `${event.reason}: ${event.summary}` : `Pod ${event.what}`;
  return el('tr', {},
    el('td', {class: 'time', 'data-label': 'Time'}, clock.format(event.time)),
    el('td', {'data-label': 'State'}, badge(what)),
    el('td', {'data-label': 'Namespace'}, event.namespace),
    el('td', {'data-label': 'Pod'}, event.name || '(unnamed)'),
    el('td', {'data-label': 'Owner'}, event.owner),
    el('td', {'data-label': 'Detail'}, detail, (event.warnings ?? []).map((warning) => el('div', {class: 'warning'}, `${warning.code}: ${warning.message}`))));
}

/** Events per second of the last minute, as a line. */
function rateChart() {
  const line = svg('polyline', {class: 'spark', fill: 'none'});
  const chart = svg('svg', {viewBox: `0 0 ${SECONDS} 20`, preserveAspectRatio: 'none', class: 'sparkline', role: 'img', 'aria-label': 'Events per second in the last minute'}, line);
  const draw = (times) => {
    const now = Date.now();
    const counts = new Array(SECONDS).fill(0);
    for (const time of times) {
      const age = Math.floor((now - time) / 1000);
      if (age >= 0 && age < SECONDS) counts[SECONDS - 1 - age] += 1;
    }
    const top = Math.max(1, ...counts);
    line.setAttribute('points', counts.map((count, x) => `${x},${19 - (18 * count) / top}`).join(' '));
  };
  return {chart, draw};
}

export function livePage(main) {
  const rows = el('tbody');
  const state = el('span', {class: 'badge calm', role: 'status'}, 'Connecting…');
  const onlyAsked = el('input', {type: 'checkbox', id: 'only-asked', checked: true});
  const pause = el('button', {type: 'button', 'aria-pressed': 'false'}, 'Pause');
  const empty = el('p', {class: 'empty'}, 'Nothing yet. Create a Pod, or send the webhook a review: it appears here.');
  const {chart, draw} = rateChart();
  const seen = [];
  let waiting = [];
  main.replaceChildren(
    el('div', {class: 'heading'},
      el('div', {}, el('h1', {}, 'Live'), el('p', {class: 'lead'}, 'Decisions as they happen, the newest first.')),
      el('div', {class: 'actions'}, state, pause)),
    el('section', {class: 'card', 'aria-label': 'Events'},
      el('div', {class: 'toolbar'},
        el('div', {class: 'check'}, onlyAsked, el('label', {for: 'only-asked'}, 'Only Pods that ask')), chart),
      el('div', {class: 'scroll'}, el('table', {class: 'wide'},
        el('thead', {}, el('tr', {}, ['Time', 'State', 'Namespace', 'Pod', 'Owner', 'Detail'].map((name) => el('th', {scope: 'col'}, name)))), rows)),
      empty));

  const dull = (event) => event.state === 'not-asked' || (event.reason === 'NotRequested' && event.warnings.length === 0);
  const add = (event) => {
    if (onlyAsked.checked && dull(event)) return;
    rows.prepend(eventRow(event));
    while (rows.children.length > MOST) rows.lastElementChild.remove();
    empty.hidden = true;
  };
  const take = (event) => {
    seen.push(event);
    if (seen.length > MOST * 5) seen.splice(0, MOST);
    if (pause.getAttribute('aria-pressed') === 'true') waiting.push(event);
    else add(event);
  };
  pause.addEventListener('click', () => {
    const paused = pause.getAttribute('aria-pressed') !== 'true';
    pause.setAttribute('aria-pressed', paused);
    pause.textContent = paused ? 'Continue' : 'Pause';
    waiting.forEach(add);
    waiting = [];
  });
  onlyAsked.addEventListener('change', () => {
    rows.replaceChildren();
    empty.hidden = false;
    seen.slice(-MOST).forEach(add);
  });

  const source = api.events();
  source.addEventListener('open', () => {
    // The server sends what it kept with every new connection.
    seen.length = 0;
    waiting = [];
    rows.replaceChildren();
    state.textContent = 'Connected';
    state.className = 'badge good';
  });
  source.addEventListener('error', () => {
    state.textContent = 'Not connected';
    state.className = 'badge bad';
  });
  source.addEventListener('message', (message) => take(JSON.parse(message.data)));
  const timer = setInterval(() => draw(seen.map((event) => event.time)), 1000);
  return () => {
    source.close();
    clearInterval(timer);
  };
}
