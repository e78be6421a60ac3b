import { type Finding, showObject } from '../core/doctor/finding.ts';
import type { Unseen } from '../core/doctor/picture.ts';
import { unseenText } from './cluster-status.ts';
import type { Painter } from './paint.ts';

export type Diagnosis = {
  readonly findings: readonly Finding[];
  readonly unseen: readonly Unseen[];
};

type Manner = { readonly isWide: boolean; readonly paint: Painter };

/** How many of one kind are told where nobody asked for all, and how much stands beside each. */
const alikeMax = 10;
const detailsMax = 20;

/** Each finding with what, where, why it matters and what to do. */
export function diagnosisText({ findings, unseen }: Diagnosis, manner: Manner): string {
  const { isWide, paint } = manner;
  const codes = [...new Set(findings.map(({ code }) => code))];
  const blocks = codes.flatMap((code) => {
    const alike = findings.filter((one) => one.code === code);
    const shown = isWide ? alike : alike.slice(0, alikeMax);
    const more = alike.length - shown.length;
    const rest = more === 0 ? [] : [`And ${more} more of ${code}: -o wide shows them.`];
    return [...shown.map((one) => findingText(one, manner)), ...rest];
  });
  const isAll = unseen.length === 0;
  const end =
    findings.length > 0
      ? paint(findings.length === 1 ? '1 finding.' : `${findings.length} findings.`, 'bad')
      : paint(isAll ? 'Nothing is wrong.' : 'Nothing is wrong in what could be read.', 'good');
  return [...blocks, ...unseenText({ unseen }), end].join('\n\n');
}

function findingText(one: Finding, { isWide, paint }: Manner): string {
  const shown = isWide ? one.details : one.details.slice(0, detailsMax);
  const more = one.details.length - shown.length;
  return [
    `${paint(one.code, 'bad')}  ${showObject(one.object)}`,
    `  ${one.what}`,
    ...shown.map((detail) => `    ${detail}`),
    ...(more === 0 ? [] : [`    and ${more} more: -o wide shows them`]),
    `  Why it matters: ${one.why}`,
    `  What to do:     ${one.remedy}`,
  ].join('\n');
}
