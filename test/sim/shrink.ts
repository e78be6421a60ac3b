import { simulate } from './simulate.ts';
import type { Story } from './story.ts';

/** Leaves out whatever the failure does not need: what is left is what a person has to read. */
export async function shrink(story: Story): Promise<Story> {
  let shortest = story;
  const fails = async (candidate: Story) => (await simulate(candidate)).violations.length > 0;
  for (const rates of [{}, onlyOne(story, 'crash'), onlyOne(story, 'killed')]) {
    const calmer = { ...shortest, rates };
    if (await fails(calmer)) {
      shortest = calmer;
      break;
    }
  }
  return shortened(shortest, fails);
}

function onlyOne(story: Story, kind: keyof Story['rates']): Story['rates'] {
  return { [kind]: story.rates[kind] ?? 0 };
}

/** Without the events that the failure does not need. */
export async function shortened<S extends { readonly events: readonly object[] }>(
  story: S,
  fails: (candidate: S) => Promise<boolean>,
): Promise<S> {
  let shortest = story;
  for (let size = Math.ceil(shortest.events.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < shortest.events.length; ) {
      const events = shortest.events.filter((_, index) => index < from || index >= from + size);
      const candidate = { ...shortest, events };
      if (await fails(candidate)) shortest = candidate;
      else from += size;
    }
  }
  return shortest;
}
