// The address holds what is shown: #/view?name=value. It is a fragment, which browsers do not send to any server.

export function readAddress() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return {view: path, values: new URLSearchParams(query)};
}

/** Replaces the address without a new entry in the history. */
export function writeAddress(view, values = {}) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
  history.replaceState(null, '', `#/${view}${query ? `?${query}` : ''}`);
}

const bytesOf = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());

/** Any JSON value as letters that an address may hold, compressed. */
export async function pack(value) {
  const text = new Blob([JSON.stringify(value)]);
  const bytes = await bytesOf(text.stream().pipeThrough(new CompressionStream('deflate-raw')));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** What pack() made; null for anything else. */
export async function unpack(text) {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return JSON.parse(new TextDecoder().decode(await bytesOf(stream)));
  } catch {
    return null;
  }
}
