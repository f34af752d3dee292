// Building the page. Everything that comes from an object becomes a text node, never markup.

/** An element: el('p', {class: 'note'}, 'text', otherElement). Attributes that are null are left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** The same for a part of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** How each state and decision is called and coloured; the order is that of the charts. */
export const STATES = {
  injected: 'Injected',
  outdated: 'Outdated',
  missing: 'Missing',
  refused: 'Refused',
  'not-asked': 'Not asked',
};

const TONES = {
  inject: 'good', injected: 'good',
  outdated: 'warn', missing: 'bad', refuse: 'bad', refused: 'bad',
};

export function badge(text) {
  return el('span', {class: `badge ${TONES[text] ?? 'calm'}`}, STATES[text] ?? text);
}

export function debounce(wait, call) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), wait);
  };
}

let toastTimer = 0;
export function toast(text) {
  const place = document.getElementById('toast');
  place.textContent = text;
  place.classList.add('shown');
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => place.classList.remove('shown'), 2500);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    toast('The browser does not allow copying here');
  }
}

/** A unified diff, a line each; the signs stay, so that colour is not all there is. */
export function diffView(diff) {
  const code = el('code');
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const kind = line.startsWith('@@') ? 'hunk' : line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : '';
    code.append(el('span', {class: `line ${kind}`}, line + '\n'));
  }
  return el('pre', {class: 'code', tabindex: '0', 'aria-label': 'Difference'}, code);
}

export function codeView(text, label) {
  return el('pre', {class: 'code', tabindex: '0', 'aria-label': label}, el('code', {}, text));
}

let nextId = 0;
/** Tabs as assistive technology knows them: arrows move, one panel is shown. `panels` is [[name, make], ...]. */
export function tabs(label, panels, chosen = 0, onChoose = () => {}) {
  const id = `tabs${++nextId}`;
  const panel = el('div', {role: 'tabpanel', id: `${id}-panel`});
  const buttons = panels.map(([name], i) => el('button', {
    type: 'button', role: 'tab', id: `${id}-${i}`, 'aria-controls': `${id}-panel`,
    onclick: () => choose(i),
  }, name));
  const choose = (index) => {
    buttons.forEach((button, i) => {
      button.setAttribute('aria-selected', i === index);
      button.tabIndex = i === index ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', `${id}-${index}`);
    panel.replaceChildren(panels[index][1]());
    onChoose(index);
  };
  const list = el('div', {
    class: 'tabs', role: 'tablist', 'aria-label': label,
    onkeydown: (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!step) return;
      const next = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
      choose(next);
      buttons[next].focus();
    },
  }, buttons);
  choose(Math.min(chosen, panels.length - 1));
  return el('div', {}, list, panel);
}

/** A labelled control. */
export function field(label, control, hint) {
  control.id ||= `field${++nextId}`;
  const note = hint ? el('p', {class: 'hint', id: `${control.id}-hint`}, hint) : null;
  if (note) control.setAttribute('aria-describedby', note.id);
  return el('div', {class: 'field'}, el('label', {for: control.id}, label), control, note);
}

/** Rows that change in place: only what differs is touched. `rows` have a key; `make` and `update` fill one. */
export function reconcile(parent, rows, key, make, update) {
  const known = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let place = parent.firstElementChild;
  for (const row of rows) {
    const name = key(row);
    let node = known.get(name);
    if (node) {
      known.delete(name);
    } else {
      node = make(row);
      node.dataset.key = name;
    }
    const text = JSON.stringify(row);
    if (node.dataset.row !== text) {
      node.dataset.row = text;
      update(node, row);
    }
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  for (const node of known.values()) node.remove();
}

export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
