import type { Environment } from './context.ts';

/** What a word says of how things are. */
export type Tone = 'good' | 'warning' | 'bad' | 'plain';

export type Painter = (text: string, tone: Tone) => string;

const codes = { good: 32, warning: 33, bad: 31 } as const;

export function painterFor({ hasColours }: Pick<Environment, 'hasColours'>): Painter {
  if (!hasColours) return (text) => text;
  return (text, tone) =>
    tone === 'plain' || text === '' ? text : `\u001b[${codes[tone]}m${text}\u001b[0m`;
}

export function toneOf(state: string): Tone {
  if (['Ready', 'Healthy', 'yes'].includes(state)) return 'good';
  if (['Failed', 'no'].includes(state)) return 'bad';
  return ['Progressing', 'Degraded', 'Unknown'].includes(state) ? 'warning' : 'plain';
}
