import { dump } from 'js-yaml';
import { show } from '../base/show.ts';
import { UsageError } from './context.ts';

/** `text` and `wide` are for people, the others for programs. */
export type Format = 'text' | 'wide' | 'json' | 'yaml';

export function formatOf(output: string | undefined): Format {
  if (output === undefined) return 'text';
  if (output === 'json' || output === 'yaml' || output === 'wide') return output;
  throw new UsageError(`--output is ${show(output)}: write json, yaml or wide`);
}

const apiVersion = 'quarry.io/v1';

/** What programs read says what it is, and has no field that is undefined. */
export function asDocument(kind: string, value: object, format: 'json' | 'yaml'): string {
  const document = JSON.parse(JSON.stringify({ apiVersion, kind, ...value })) as object;
  if (format === 'json') return JSON.stringify(document, undefined, 2);
  return asYaml(document);
}

export function asYaml(value: object): string {
  return dump(value, { lineWidth: 100, noRefs: true }).trimEnd();
}
