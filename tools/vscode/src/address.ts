// Addresses of the documents that the extension shows. Parts are kept as the editor keeps them, path and query undone, because
// editors write percent signs each in their own way.

export const VIEW_SCHEME = 'oriole-view';
/** Documents that the server itself makes. */
export const SERVER_SCHEME = 'oriole';

export interface Parts {
  scheme: string;
  path: string;
  query: string;
}

export type ViewAddress =
  | { what: 'sass'; uri: string; kernel: string; chip?: string }
  | { what: 'ori'; uri: string; kernel: string; phase: string; chip?: string };

/** The address of a view; equal views have equal addresses. */
export function viewAddress(view: ViewAddress): Parts {
  const chip = view.chip ? `.${view.chip}` : '';
  const phase = view.what === 'ori' ? `.${view.phase}` : '';
  const fields: [string, string | undefined][] = [
    ['uri', view.uri],
    ['kernel', view.kernel],
    ['phase', view.what === 'ori' ? view.phase : undefined],
    ['chip', view.chip],
  ];
  const query = fields.filter(([, value]) => value !== undefined).map(([key, value]) => `${key}=${encodeURIComponent(value!)}`);
  return { scheme: VIEW_SCHEME, path: `/${view.kernel}${phase}${chip}.oriole-${view.what}`, query: query.join('&') };
}

/** Reads an address. */
export function parseView(parts: Parts): ViewAddress | undefined {
  if (parts.scheme !== VIEW_SCHEME) return undefined;
  const fields = new Map(
    parts.query.split('&').map((field): [string, string] => {
      const at = field.indexOf('=');
      return [field.slice(0, at), decodeURIComponent(field.slice(at + 1))];
    }),
  );
  const [uri, kernel, phase, chip] = ['uri', 'kernel', 'phase', 'chip'].map((key) => fields.get(key));
  if (!uri || !kernel) return undefined;
  const common = chip ? { uri, kernel, chip } : { uri, kernel };
  if (parts.path.endsWith('.oriole-sass')) return { what: 'sass', ...common };
  return phase ? { what: 'ori', ...common, phase } : undefined;
}

/** The address of a cubin's text, a document of the server. The name in the path is only for the reader's tab. */
export function cubinAddress(uri: string): Parts {
  const name = /[^/]*$/.exec(uri.replace(/[?#].*$/, ''))?.[0] || 'code.cubin';
  return { scheme: SERVER_SCHEME, path: `/cubin/${decodeURIComponent(name)}.oriole-sass`, query: `uri=${encodeURIComponent(uri)}` };
}

/** The cubin that a document of the server shows. */
export function cubinOf(parts: Parts): string | undefined {
  if (parts.scheme !== SERVER_SCHEME || !parts.path.startsWith('/cubin/')) return undefined;
  const uri = /(?:^|&)uri=([^&]*)/.exec(parts.query)?.[1];
  return uri === undefined ? undefined : decodeURIComponent(uri);
}
