/** pvmove says how far it is, again and again; the last word counts. */
export function movedPercent(said: string): number | undefined {
  const [, percent] = [...said.matchAll(/: Moved: (\d+(?:\.\d+)?)%/g)].at(-1) ?? [];
  return percent === undefined ? undefined : Number(percent);
}
