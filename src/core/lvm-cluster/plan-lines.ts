import { stepText } from '../step-text.ts';
import type { ForeseenCluster } from './foresee.ts';
import { type NodePlan, nodePlans } from './node-plans.ts';

/** API servers pass on 4096 characters of warnings, and of each one only so many. */
const linesMax = 15;
const lineMax = 250;

/** A plan in short lines, for who asks a server what it would do. */
export function planLines(foreseen: ForeseenCluster): readonly string[] {
  const { troubles, waits } = foreseen;
  const all = [...troubles, ...waits, ...nodePlans(foreseen).flatMap(linesOf)];
  const shown = all.slice(0, linesMax).map(cut);
  const more = all.length - shown.length;
  return more === 0 ? shown : [...shown, `and ${more} more: \`quarry plan\` shows all of it`];
}

function linesOf({ node, isTold, devices, steps, blocks }: NodePlan): readonly string[] {
  if (!isTold) return [`${node}: its agent has not told of its disks: nothing can be foreseen`];
  const lines = [
    ...steps.map((step) => `would ${stepText(step)}`),
    ...blocks.map(({ what, message }) => `${what} cannot be: ${message}`),
    // Of disks that nobody asks for there is nothing to tell.
    ...devices
      .filter(({ state, isAskedFor }) => state === 'left-alone' && isAskedFor)
      .map(({ path, reasons }) => `${path} is left alone: ${reasons.join('; ')}`),
  ];
  return (lines.length === 0 ? ['nothing to do'] : lines).map((line) => `${node}: ${line}`);
}

function cut(line: string): string {
  return line.length > lineMax ? `${line.slice(0, lineMax - 1)}…` : line;
}
