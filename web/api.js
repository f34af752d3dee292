// The JSON endpoints of docs/api.md. Nothing else is asked, and no other host.

async function answer(response) {
  if (response.status === 401) throw new Error('A token is needed: open the address that was printed at the start.');
  const type = response.headers.get('content-type') ?? '';
  const body = type.includes('json') ? await response.json() : {error: (await response.text()).trim()};
  if (!response.ok) throw new Error(body.error ?? `The server answered ${response.status}.`);
  return body;
}

async function ask(path, options) {
  try {
    return await answer(await fetch(path, {...options, cache: 'no-store', redirect: 'error'}));
  } catch (error) {
    if (error instanceof TypeError) throw new Error('The server does not answer. Is it still running?');
    throw error;
  }
}

export const about = () => ask('api/v1/about');
export const templates = (signal) => ask('api/v1/templates', {signal});
export const overview = (signal) => ask('api/v1/overview', {signal});
export const workloads = (query, signal) => ask(`api/v1/workloads?${new URLSearchParams(query)}`, {signal});
export const workload = (namespace, kind, name) =>
  ask(`api/v1/workloads/${[namespace, kind, name].map(encodeURIComponent).join('/')}`);
export const decide = (request, signal) => ask('api/v1/decide', {
  method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(request), signal,
});
export const events = () => new EventSource('api/v1/events');
