// Which view is shown.

import * as api from './api.js';
import {readAddress} from './state.js';
import {el} from './ui.js';
import {livePage} from './live.js';
import {overviewPage} from './overview.js';
import {playgroundPage} from './playground.js';
import {workloadsPage} from './workloads.js';

// Each is (main, context, values) => a function that ends it.
const VIEWS = {
  overview: ['Overview', overviewPage],
  workloads: ['Workloads', workloadsPage],
  live: ['Live', livePage],
  playground: ['Playground', playgroundPage],
};

const main = document.getElementById('main');
const nav = document.getElementById('nav');
let leave = () => {};
let shown = '';

function failure(error) {
  main.replaceChildren(el('p', {class: 'note bad', role: 'alert'}, error.message));
}

function mark(view) {
  for (const link of nav.querySelectorAll('a')) {
    if (link.dataset.view === view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${VIEWS[view][0]} · envoy-initializer`;
}

function show(context) {
  const {view, values} = readAddress();
  const known = context.views.includes(view) ? view : context.views[0];
  leave();
  mark(known);
  main.replaceChildren();
  if (shown && shown !== known) main.focus({preventScroll: true});
  shown = known;
  leave = VIEWS[known][1](main, context, values) ?? (() => {});
}

async function start() {
  const context = await api.about();
  nav.replaceChildren(...context.views.map((view) =>
    el('a', {href: `#/${view}`, 'data-view': view}, VIEWS[view][0])));
  document.getElementById('version').textContent = context.version;
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
  });
  addEventListener('hashchange', () => show(context));
  show(context);
}

start().catch(failure);
